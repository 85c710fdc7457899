"""Read the pairs of formats that are filled in too: Qt TS, and XLIFF as Trados and memoQ write it.

In these XLIFF files a segment of a unit is a pair, and the program keeps the states of segments in elements of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from mtloop.data.formats.corpus import Pair, ReadRequest, TranslationUnit, to_pairs
from mtloop.data.formats.fill_qt_ts import open_ts
from mtloop.data.formats.fill_xliff import open_xliff
from mtloop.data.formats.filling import XML, BilingualFile, FileUnit, Opener, OpenRequest, UnitState
from mtloop.data.formats.xml_text import fragment_text

_SKIPPED = {UnitState.LOCKED: "not to be translated", UnitState.FUZZY: "not confirmed"}


def read_ts(request: ReadRequest) -> Iterator[Pair]:
    """Return the finished translations of a TS file. A message with plural forms is a pair for each form."""
    return _read(request, open_ts)


def read_segmented_xliff(request: ReadRequest) -> Iterator[Pair]:
    """Return the confirmed segments of an XLIFF file of Trados or memoQ."""
    return _read(request, open_xliff)


def _read(request: ReadRequest, opener: Opener) -> Iterator[Pair]:
    file = opener(OpenRequest(request.path, {}, request.source_lang, request.target_lang))
    return to_pairs([_translation_unit(unit, file) for unit in file.units], request)


def _translation_unit(unit: FileUnit, file: BilingualFile) -> TranslationUnit:
    source, target = (fragment_text(text) if unit.syntax == XML else text for text in (unit.source, unit.target))
    reason = _SKIPPED.get(unit.state, "") if source.strip() and target.strip() else ""
    return TranslationUnit(source, target, unit.context, reason, unit.id, file.languages)
