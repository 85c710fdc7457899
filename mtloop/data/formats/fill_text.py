"""Plain text with one segment per line, filled in: the lines of the template are the sources of the units.

Every line stays a line. A line without a translation has the text of the source. So a line that equals its source
counts as untranslated.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import (
    BilingualFile,
    Edit,
    FileUnit,
    Filling,
    OpenRequest,
    check_targets,
    read_content,
    splice,
)
from mtloop.data.formats.monolingual import existing_content, pair_languages, unit_state
from mtloop.text.files import decode_line

_LINE = re.compile(rb"[^\n]*\n|[^\n]+\Z")
_FORBIDDEN = re.compile("[\n\r\0]")


def open_text(request: OpenRequest) -> BilingualFile:
    """Open a text file. Without a template it is the source itself, and nothing is translated."""
    if request.template is None or request.template.resolve() == request.path.resolve():
        source = TextLines.parse(request.content(), request.path)
        return FillableText(request.path, source, None, (request.source_lang or "", request.target_lang or ""))
    source, content = TextLines.parse(read_content(request.template), request.template), existing_content(request)
    target = None if content is None else TextLines.parse(content, request.path)
    if target is not None and len(target.texts) != len(source.texts):
        counts = f"{len(target.texts)} lines, but {request.template} has {len(source.texts)}"
        raise InputError(f"{counts}; expected the same number, or no file yet", path=request.path)
    return FillableText(request.path, source, target, pair_languages(request))


@dataclass(frozen=True, slots=True)
class TextLines:
    """The bytes of a file, its lines, and where they stand, without their line ends."""

    content: bytes
    texts: Sequence[str]
    places: Sequence[tuple[int, int]]

    @classmethod
    def parse(cls, content: bytes, path: Path) -> TextLines:
        """Find the lines of a file. Raise InputError, with the line, if it is not text in UTF-8."""
        start = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
        texts, places = list[str](), list[tuple[int, int]]()
        for number, found in enumerate(_LINE.finditer(content, start), start=1):
            texts.append(decode_line(found[0], path, number))
            places.append((found.start(), found.start() + len(texts[-1].encode())))
        return cls(content, texts, places)


@dataclass(frozen=True)
class FillableText:
    """A text file to be filled in. The format has no mark for review."""

    path: Path
    source: TextLines
    target: TextLines | None
    languages: tuple[str, str]
    marks_review: ClassVar[bool] = False
    notes: ClassVar[Sequence[str]] = ()

    @cached_property
    def units(self) -> Sequence[FileUnit]:
        targets = self.target.texts if self.target else [""] * len(self.source.texts)
        pairs = enumerate(zip(self.source.texts, targets, strict=True), start=1)
        return [
            FileUnit(str(line), source, target, unit_state(source, target, may_be_missing=False))
            for line, (source, target) in pairs
        ]

    def filled(self, targets: Mapping[int, Filling]) -> bytes:
        """Return the file with these lines replaced. Raise InputError for a text that is not one line."""
        check_targets(self, targets, lambda text, _: self._line(text))
        lines = self.target or self.source
        edits = [Edit(*lines.places[index], self._line(filling.text)) for index, filling in targets.items()]
        return splice(lines.content, edits)

    def _line(self, text: str) -> bytes:
        if _FORBIDDEN.search(text):
            raise InputError(f"a line of a text file cannot hold {text[:60]!r}: expected one line", path=self.path)
        return text.encode()
