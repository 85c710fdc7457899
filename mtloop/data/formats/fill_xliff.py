"""XLIFF files to fill in: 1.2, also as Trados (SDLXLIFF) and memoQ (MQXLIFF) write it, and 2.x.

The text of a unit is the content of its element as it is written, with inline elements and `&amp;`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from mtloop.core.errors import InputError
from mtloop.data.formats.fill_xliff1 import trans_units, unplaced_note
from mtloop.data.formats.fill_xliff2 import segments, target_language_edits
from mtloop.data.formats.filling import OpenRequest
from mtloop.data.formats.unit_groups import GroupedFile, UnitGroup
from mtloop.data.formats.xliff_languages import LanguagePair, is_wanted
from mtloop.data.formats.xml_splice import XmlDocument
from mtloop.data.languages import OtherLanguage, common_tag
from mtloop.text.language_codes import language_of
from mtloop.text.messages import join_names


class XliffGroup(UnitGroup, Protocol):
    """A group with the tags of its source and target language ("": unknown)."""

    @property
    def languages(self) -> LanguagePair: ...


def open_xliff(request: OpenRequest) -> GroupedFile:
    """Open an XLIFF file. A segment is a unit: `<mrk mtype="seg">` in 1.2, `<segment>` in 2.x."""
    document = XmlDocument.parse(request.content(), request.path, root="xliff")
    find = _finder(document)
    groups = find(document, request)
    pairs = list(dict.fromkeys(group.languages for group in groups))
    _check_pairs(pairs, request)
    wanted = [pair for pair in pairs if is_wanted(pair, request)]
    languages = (
        common_tag(source for source, _ in wanted) or request.source_lang or "",
        common_tag(target for _, target in wanted) or request.target_lang or "",
    )
    additions = target_language_edits(document, request) if find is segments else []
    return GroupedFile(document, groups, languages, additions, notes=tuple(unplaced_note(groups)))


def _finder(document: XmlDocument) -> Callable[[XmlDocument, OpenRequest], Sequence[XliffGroup]]:
    version = document.root.attributes.get("version", "1.2")
    if not version.startswith(("1.", "2.")):
        raise InputError(f"XLIFF version {version!r:.20}; expected 1.2 or 2.x", path=document.path)
    return trans_units if version.startswith("1.") else segments


def _check_pairs(pairs: Iterable[LanguagePair], request: OpenRequest) -> None:
    """Raise InputError if it is unclear which languages to fill in, or if no unit has the requested ones."""
    wanted = [pair for pair in pairs if is_wanted(pair, request)]
    for side, option in enumerate(("source", "target")):
        tags = dict.fromkeys(pair[side] for pair in wanted if pair[side])
        if len({language_of(tag) for tag in tags}) > 1:
            message = f"several {option} languages ({join_names(tags)}); choose one with --{option}-lang"
            raise InputError(message, path=request.path)
    if not wanted and (tags := dict.fromkeys(tag for pair in pairs for tag in pair if tag)):
        message = f"no unit in these languages; the file has: {join_names(tags)}"
        advice = "choose with --source-lang, --target-lang"
        raise OtherLanguage(f"{message}; {advice}", language=join_names(tags), path=request.path)
