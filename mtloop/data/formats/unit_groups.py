"""XML files whose units stand in groups: what the files to fill in of XLIFF and TMX have in common."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from mtloop.data.formats.filling import Edit, FileUnit, Filling, check_targets
from mtloop.data.formats.xml_splice import XmlDocument, XmlElement, check_fragment, escape_text

_CDATA = re.compile(r"<!--.*?-->|<!\[CDATA\[(?P<text>.*?)\]\]>", re.DOTALL)


class UnitGroup(Protocol):
    """Units that are filled in together, because their targets share an element."""

    @property
    def units(self) -> Sequence[FileUnit]: ...

    def edits(self, fillings: Mapping[int, Filling]) -> Iterable[Edit]:
        """Return the edits that fill in these units, by their index in the group."""
        ...


@dataclass(frozen=True)
class GroupedFile:
    """A file of groups of units. `additions` are edits that the file needs as soon as a unit is filled in."""

    document: XmlDocument
    groups: Sequence[UnitGroup]
    languages: tuple[str, str]
    additions: Sequence[Edit] = ()
    marks_review: bool = True
    notes: Sequence[str] = ()

    @property
    def path(self) -> Path:
        return self.document.path

    @cached_property
    def units(self) -> tuple[FileUnit, ...]:
        return tuple(with_unique_ids(unit for group in self.groups for unit in group.units))

    def filled(self, targets: Mapping[int, Filling]) -> bytes:
        """Return the file with these units filled in. Their texts must be fragments of XML."""
        check_targets(self, targets, lambda text, _: check_fragment(_prepared(text), self.path))
        prepared = {index: replace(filling, text=_prepared(filling.text)) for index, filling in targets.items()}
        return self.document.spliced([*self._edits(prepared), *(self.additions if targets else ())])

    def _edits(self, targets: Mapping[int, Filling]) -> Iterator[Edit]:
        first = 0
        for group in self.groups:
            own = range(first, first + len(group.units))
            if fillings := {index - first: targets[index] for index in own if index in targets}:
                yield from group.edits(fillings)
            first = own.stop


def _prepared(text: str) -> str:
    """Return a text as it is written into the file."""
    return without_cdata(text.replace("\r\n", "\n")).replace("\r", "&#13;")


def with_unique_ids(units: Iterable[FileUnit]) -> Iterator[FileUnit]:
    """Yield the units, the second one with an id as `id#2`. XLIFF ids are unique in one `<file>` element only."""
    seen = Counter[str]()
    for unit in units:
        seen[unit.id] += 1
        yield unit if seen[unit.id] == 1 else replace(unit, id=f"{unit.id}#{seen[unit.id]}")


def fragment(document: XmlDocument, element: XmlElement | None) -> str:
    """Return the content of an element as it is written, but CDATA sections as escaped text; "" without an element."""
    return "" if element is None else without_cdata(document.raw(element))


def without_cdata(text: str) -> str:
    """Return a fragment of XML with its CDATA sections as escaped text.

    >>> without_cdata("Press <x/> <![CDATA[<b>]]>")
    'Press <x/> &lt;b&gt;'
    """
    if "<![CDATA[" not in text:
        return text
    return _CDATA.sub(lambda match: match[0] if match["text"] is None else escape_text(match["text"]), text)
