"""Which unit of a file is which in another version of the file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from mtloop.core.types import Segment
from mtloop.data.formats.filling import FileUnit

UnitName: TypeAlias = tuple[str | int, ...]
_IDENTITY = ("msgctxt", "context", "id", "comment", "plural", "quantity")  # fields of a unit's context
_NUMBER = re.compile(r"\d+(\[\d+\])?")  # an id that only counts the units: it changes if one is inserted


def unit_names(units: Iterable[FileUnit]) -> list[UnitName]:
    """Return a name for each unit, which it keeps if another program inserts other units.

    It has the id, the source and the identifying fields of the context. Where the id is only a number, the name has the
    number among the units that are equal otherwise.
    """
    counts: Counter[UnitName] = Counter()
    names = []
    for unit in units:
        key = _key(unit)
        names.append((*key, counts[key]))
        counts[key] += 1
    return names


def match_units(old: Sequence[FileUnit], new: Sequence[FileUnit]) -> dict[int, int]:
    """Return for each unit of a file its index in another version of the file.

    A unit is left out if it is missing or has another source, and if it cannot be told from equal ones: their ids are
    only numbers, and there are more or fewer of them now.
    """
    by_id = {(unit.id, _key(unit)): index for index, unit in enumerate(new)}
    if all((unit.id, _key(unit)) in by_id for unit in old):  # other units were added at the end, if at all
        return {index: by_id[unit.id, _key(unit)] for index, unit in enumerate(old)}
    counts = [Counter(map(_key, units)) for units in (old, new)]
    by_name = {
        name: index for index, name in enumerate(unit_names(new)) if counts[0][name[:-1]] == counts[1][name[:-1]]
    }
    return {index: by_name[name] for index, name in enumerate(unit_names(old)) if name in by_name}


def is_unit(segment: Segment, unit: FileUnit) -> bool:
    """Whether a segment was made of this unit."""
    return (segment.id, _key(segment)) == (unit.id, _key(unit))


def _key(unit: FileUnit | Segment) -> UnitName:
    identity = "" if _NUMBER.fullmatch(unit.id) else unit.id
    return identity, unit.source, *(str(unit.context.get(name, "")) for name in _IDENTITY)
