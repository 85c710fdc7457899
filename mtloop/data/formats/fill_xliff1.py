"""The units of XLIFF 1.2, also as Trados (SDLXLIFF) and memoQ (MQXLIFF) write them.

A unit with `<seg-source>` has a text for each `<mrk mtype="seg" mid="...">`; the target gets the same `<mrk>` elements.
Those that a target lacks are put beside their neighbours (`missing_segments`). Where their place is unknown, they are
locked, and a note says so.

A target is marked for review where the file keeps its states:

| file | state | not approved | approved |
|---|---|---|---|
| SDLXLIFF | `conf` and `origin` of `<sdl:seg>` | Draft, mt | Translated, interactive |
| MQXLIFF | `mq:status` of the unit | Pretranslated | ManuallyConfirmed |
| others | `state` of `<target>` | needs-review-translation | translated |

`approved="yes"` is written only in a file that uses this attribute. It becomes "no" if a target is not approved.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mtloop.core.errors import InputError
from mtloop.core.plural import pluralise
from mtloop.data.formats.filling import XML, Edit, FileUnit, Filling, OpenRequest, UnitState, splice
from mtloop.data.formats.missing_segments import MissingSegments, is_segment, missing_segments
from mtloop.data.formats.unit_groups import fragment
from mtloop.data.formats.xliff_languages import LanguagePair, document_of, is_wanted, language_pair
from mtloop.data.formats.xml_splice import XmlDocument, XmlElement, escape_attribute

_SDL, _MEMOQ = "http://sdl.com/FileTypes/SdlXliff/1.0", "MQXliff"
_SDL_DONE = frozenset({"Translated", "ApprovedTranslation", "ApprovedSignOff"})
_SDL_MATCH = ("percent", "origin-system", "text-match", "struct-match")
"""Attributes of `<sdl:seg>` that describe the match from which the old target came."""
_MEMOQ_STATES = {
    "NotStarted": UnitState.UNTRANSLATED,
    "ManuallyConfirmed": UnitState.TRANSLATED,
    "Reviewer1Confirmed": UnitState.TRANSLATED,
    "Proofread": UnitState.TRANSLATED,
}
"""The states of memoQ. Any other one is FUZZY: pre-translated, edited, rejected."""


@dataclass(frozen=True, slots=True)
class Xliff1Style:
    """What a file uses: the prefixes of Trados and memoQ ("": none), `approved`, and the xml:lang of its targets."""

    sdl: str
    memoq: str
    uses_approved: bool
    target_lang: str
    requested_lang: str

    @classmethod
    def of(cls, document: XmlDocument, request: OpenRequest) -> Xliff1Style:
        units = [element for element in document.root.iter() if element.name == "trans-unit"]
        targets = filter(None, (unit.find("target") for unit in units))
        tags = (target.attributes.get("xml:lang") for target in targets)
        return cls(
            _prefix(document.root, _SDL),
            _prefix(document.root, _MEMOQ),
            any("approved" in unit.attributes for unit in units),
            next(filter(None, tags), ""),
            request.target_lang or "",
        )


@dataclass(frozen=True, slots=True)
class Xliff1Segment:
    """A text of a unit: its elements in source and target, and `<sdl:seg>`. `mid` is "" if it is the whole unit."""

    mid: str
    source: XmlElement | None
    target: XmlElement | None
    definition: XmlElement | None = None

    def place(self) -> int:
        """Where its source begins; the segments of a unit are in this order."""
        return 0 if self.source is None else self.source.start


@dataclass(frozen=True, slots=True)
class TransUnit:
    """A `<trans-unit>`. `anchor` is the element after which a new target belongs.

    `missing` are segments that the target lacks. `unplaced` is the number of those that are locked for that reason.
    """

    document: XmlDocument
    style: Xliff1Style
    element: XmlElement
    anchor: XmlElement | None
    target: XmlElement | None
    languages: LanguagePair
    segments: Sequence[Xliff1Segment]
    units: Sequence[FileUnit]
    missing: Sequence[MissingSegments] = ()
    unplaced: int = 0

    def edits(self, fillings: Mapping[int, Filling]) -> Iterator[Edit]:
        """Yield the edits that fill in the targets and mark them."""
        is_done = self._is_done(fillings)
        state = "translated" if is_done else "needs-review-translation"
        if self.target is None:
            yield self._new_target(fillings, "" if self._has_marks(fillings) else state)
        else:
            yield from self._target_edits(self.target, fillings)
            if "state" in self.target.attributes or not self._has_marks(fillings):
                yield self.document.set_attribute(self.target, "state", state)
            yield from self.document.remove_attribute(self.target, "state-qualifier")
        yield from self._unit_marks(is_done)
        for index, filling in fillings.items():
            yield from self._segment_marks(self.segments[index], filling.approved)

    def _is_done(self, fillings: Mapping[int, Filling]) -> bool:
        """Whether all texts of the unit are translated and need no review."""
        return not self.unplaced and all(
            fillings[index].approved if index in fillings else unit.state in (UnitState.TRANSLATED, UnitState.LOCKED)
            for index, unit in enumerate(self.units)
        )

    def _has_marks(self, fillings: Mapping[int, Filling]) -> bool:
        """Whether Trados or memoQ keeps the states of these texts."""
        return self._memoq_status is not None or all(self.segments[index].definition for index in fillings)

    @property
    def _memoq_status(self) -> str | None:
        return self.element.attributes.get(f"{self.style.memoq}:status") if self.style.memoq else None

    def _unit_marks(self, is_done: bool) -> Iterator[Edit]:
        approved = self.element.attributes.get("approved")
        if is_done and self.style.uses_approved and approved != "yes":
            yield self.document.set_attribute(self.element, "approved", "yes")
        if not is_done and approved == "yes":
            yield self.document.set_attribute(self.element, "approved", "no")
        if self._memoq_status is not None:
            status = "ManuallyConfirmed" if is_done else "Pretranslated"
            yield self.document.set_attribute(self.element, f"{self.style.memoq}:status", status)

    def _segment_marks(self, segment: Xliff1Segment, approved: bool) -> Iterator[Edit]:
        if segment.definition is None:
            return
        yield self.document.set_attribute(segment.definition, "conf", "Translated" if approved else "Draft")
        yield self.document.set_attribute(segment.definition, "origin", "interactive" if approved else "mt")
        for name in _SDL_MATCH:
            yield from self.document.remove_attribute(segment.definition, name)

    def _target_edits(self, target: XmlElement, fillings: Mapping[int, Filling]) -> Iterator[Edit]:
        if self._is_segmented and not fragment(self.document, target).strip():
            yield self.document.set_inner(target, self._target_text(fillings))
            return
        for index, filling in fillings.items():
            if not self._is_segmented or self.segments[index].target is not None:
                yield self.document.set_inner(self.segments[index].target or target, filling.text)
        filled = {self.segments[index].mid for index in fillings}
        for one in self.missing:
            if not filled.isdisjoint(one.mids):
                text = self._segmented_text(one.start, one.end, fillings)
                yield Edit(one.position, one.position, one.before + text + one.after)

    def _new_target(self, fillings: Mapping[int, Filling], state: str) -> Edit:
        source = self.element.find("source")
        assert source is not None  # a unit without source is locked
        assert self.anchor is not None
        space = source.attributes.get("xml:space", "")
        attributes = {"xml:space": space, "xml:lang": self._target_lang(source), "state": state}
        name = source.tag.removesuffix("source") + "target"
        written = "".join(f' {key}="{escape_attribute(value)}"' for key, value in attributes.items() if value)
        text = f"<{name}{written}>{self._target_text(fillings)}</{name}>"
        return self.document.insert_after(self.anchor, self.document.indentation(self.anchor) + text)

    def _target_lang(self, source: XmlElement) -> str:
        """Return the xml:lang of a new target; "" if it needs none, like the other texts of the file."""
        declared = self.element.inherited("target-language")
        if "xml:lang" in source.attributes:
            return declared or self.style.target_lang or self.style.requested_lang
        return "" if declared else self.style.target_lang

    @property
    def _is_segmented(self) -> bool:
        return bool(self.segments[0].mid)

    def _target_text(self, fillings: Mapping[int, Filling]) -> str:
        """Return the content of the target: that of `<seg-source>`, with the targets in place of the sources."""
        if not self._is_segmented:
            return fillings[0].text
        assert self.anchor is not None
        text = self._segmented_text(self.anchor.inner_start, self.anchor.inner_end, fillings)
        return text.decode().replace("\r\n", "\n")

    def _segmented_text(self, start: int, end: int, fillings: Mapping[int, Filling]) -> bytes:
        """Return a part of `<seg-source>` with the targets in place of the sources."""
        first, last = (bisect_left(self.segments, place, key=Xliff1Segment.place) for place in (start, end))
        edits = [
            self.document.set_inner(source, fillings[index].text if index in fillings else _kept(self.units[index]))
            for index in range(first, last)
            if (source := self.segments[index].source) is not None
        ]
        moved = [Edit(edit.start - start, edit.end - start, edit.new) for edit in edits]
        return splice(self.document.utf8[start:end], moved)


def trans_units(document: XmlDocument, request: OpenRequest) -> list[TransUnit]:
    """Return the units of all `<file>` elements in the order of the file."""
    style = Xliff1Style.of(document, request)
    elements = (element for element in document.root.iter() if element.name == "trans-unit")
    return [_trans_unit(document, style, element, request) for element in elements]


def _trans_unit(document: XmlDocument, style: Xliff1Style, element: XmlElement, request: OpenRequest) -> TransUnit:
    source, target, segmented = element.find("source"), element.find("target"), element.find("seg-source")
    languages = language_pair(element, source, target)
    is_locked = (
        element.inherited("translate") == "no" or not is_wanted(languages, request) or _is_locked(element, style)
    )
    segments = _segments(document, style, element)
    missing = _missing(document, segments, segmented, target)
    placed = {mid for one in missing or () for mid in one.mids}
    lost = {one.mid for one in segments if missing is not None and one.target is None} - placed
    units = [_file_unit(document, style, element, segment, is_locked) for segment in segments]
    pairs = zip(units, segments, strict=True)
    unplaced = {
        index for index, (unit, one) in enumerate(pairs) if one.mid in lost and unit.state is not UnitState.LOCKED
    }
    units = [replace(unit, state=UnitState.LOCKED) if index in unplaced else unit for index, unit in enumerate(units)]
    anchor, missing = segmented or source, missing or []
    return TransUnit(document, style, element, anchor, target, languages, segments, units, missing, len(unplaced))


def _missing(
    document: XmlDocument, segments: Sequence[Xliff1Segment], source: XmlElement | None, target: XmlElement | None
) -> list[MissingSegments] | None:
    """Return the segments that a target lacks, as far as their place is known; None for a target without any text."""
    if not segments[0].mid or source is None or target is None or not fragment(document, target).strip():
        return None
    marks = {one.mid: one.source for one in segments if one.source is not None}
    found = {one.mid: one.target for one in segments if one.target is not None}
    return missing_segments(document, source, target, marks, found) if len(found) < len(marks) else []


def unplaced_note(units: Iterable[object]) -> Iterator[str]:
    """Yield a line about the segments whose place in the target is unknown, if there are any."""
    found = [unit for unit in units if isinstance(unit, TransUnit) and unit.unplaced]
    if found:
        count = pluralise(sum(unit.unplaced for unit in found), "segment")
        first = f"the first one in the unit in line {found[0].element.line}"
        reason = "the target lacks its <mrk>, and has other tags or segments in its place"
        yield f"{count} cannot be filled in, {first}: {reason}; add the <mrk> to the target"


def _segments(document: XmlDocument, style: Xliff1Style, unit: XmlElement) -> list[Xliff1Segment]:
    source, target = unit.find("seg-source"), unit.find("target")
    sources = _marked(source)
    targets = {element.attributes["mid"]: element for element in _marked(target)}
    if not sources or (not targets and fragment(document, target).strip()):  # a target that is not segmented
        return [Xliff1Segment("", unit.find("source"), target)]
    mids = [element.attributes["mid"] for element in sources]
    mid, count = Counter(mids).most_common(1)[0]
    if count > 1:
        message = f"{count} segments of one unit have the mid {mid!r}; correct the file"
        raise InputError(message, path=document.path, line=unit.line)
    definitions = _definitions(style, unit)
    return [
        Xliff1Segment(mid, element, targets.get(mid), definitions.get(mid))
        for mid, element in zip(mids, sources, strict=True)
    ]


def _marked(element: XmlElement | None) -> list[XmlElement]:
    """Return the segments of an element: its `<mrk mtype="seg">`, without those inside each other."""
    found: list[XmlElement] = []
    for mark in () if element is None else element.iter():
        if is_segment(mark) and mark.attributes.get("mid") and (not found or mark.start >= found[-1].end):
            found.append(mark)
    return found


def _definitions(style: Xliff1Style, unit: XmlElement) -> dict[str, XmlElement]:
    """Return the `<sdl:seg>` elements of a unit by the mid of their segment."""
    tag = f"{style.sdl}:seg"
    groups = (child for child in unit.children if style.sdl and child.tag == f"{tag}-defs")
    return {child.attributes.get("id", ""): child for group in groups for child in group.children if child.tag == tag}


def _file_unit(
    document: XmlDocument, style: Xliff1Style, unit: XmlElement, segment: Xliff1Segment, is_locked: bool
) -> FileUnit:
    source, target = fragment(document, segment.source), fragment(document, segment.target)
    name = unit.attributes.get("id", "") + (f"/{segment.mid}" if segment.mid else "")
    is_locked = is_locked or not source.strip() or _is_true(segment.definition, "locked")
    if is_locked:
        state = UnitState.LOCKED
    else:
        state = _state(style, unit, segment) if target.strip() else UnitState.UNTRANSLATED
    return FileUnit(name, source, target, state, document_of(unit), syntax=XML, line=unit.line)


def _kept(unit: FileUnit) -> str:
    """Return the target of a unit that is not filled in: what it was. White space between segments is copied."""
    return unit.target or ("" if unit.source.strip() else unit.source)


def _state(style: Xliff1Style, unit: XmlElement, segment: Xliff1Segment) -> UnitState:
    """Return the state of a text with a target: that of Trados or memoQ, else that of XLIFF."""
    if segment.definition is not None:
        return UnitState.TRANSLATED if segment.definition.attributes.get("conf") in _SDL_DONE else UnitState.FUZZY
    if style.memoq and (status := unit.attributes.get(f"{style.memoq}:status")):
        return _MEMOQ_STATES.get(status, UnitState.FUZZY)
    target = unit.find("target")
    state = "" if target is None else target.attributes.get("state", "")
    if state in ("new", "needs-translation"):
        return UnitState.UNTRANSLATED
    is_unapproved = not state and unit.attributes.get("approved") == "no"
    return UnitState.FUZZY if state.startswith("needs-") or is_unapproved else UnitState.TRANSLATED


def _is_locked(unit: XmlElement, style: Xliff1Style) -> bool:
    return bool(style.memoq) and _is_true(unit, f"{style.memoq}:locked")


def _is_true(element: XmlElement | None, attribute: str) -> bool:
    value = "" if element is None else element.attributes.get(attribute, "")
    return value.lower() not in ("", "no", "false", "0")


def _prefix(root: XmlElement, namespace: str) -> str:
    """Return the prefix that the root element declares for a namespace, "" if none."""
    found = (name.partition(":")[2] for name, value in root.attributes.items() if value == namespace)
    return next(filter(None, found), "")
