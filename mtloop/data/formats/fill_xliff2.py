"""The segments of XLIFF 2.x.

The standard has four states: initial, translated, reviewed, final. None of them means "to be reviewed". A target that
is not approved gets `state="initial"`: the standard allows a target in this state, and no other state claims so little
about it. translate-toolkit writes and reads it in this sense; `mtloop.data.read` calls such a unit "not confirmed". An
approved target gets `state="translated"`. The standard demands that `subState` is updated or deleted together with
`state`; it is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import XML, Edit, FileUnit, Filling, OpenRequest, UnitState
from mtloop.data.formats.unit_groups import fragment
from mtloop.data.formats.xliff_languages import LanguagePair, document_of, is_wanted, language_pair
from mtloop.data.formats.xml_splice import XmlDocument, XmlElement


@dataclass(frozen=True, slots=True)
class Xliff2Segment:
    """A `<segment>` of a `<unit>`."""

    document: XmlDocument
    element: XmlElement
    languages: LanguagePair
    units: tuple[FileUnit]

    def edits(self, fillings: Mapping[int, Filling]) -> Iterator[Edit]:
        """Yield the edits that fill in the target and set the state."""
        filling = fillings[0]
        yield self._target_edit(filling.text)
        yield self.document.set_attribute(self.element, "state", "translated" if filling.approved else "initial")
        yield from self.document.remove_attribute(self.element, "subState")

    def _target_edit(self, text: str) -> Edit:
        source, target = self.element.find("source"), self.element.find("target")
        if target is not None:
            return self.document.set_inner(target, text)
        assert source is not None  # a unit without source is locked
        name = source.tag.removesuffix("source") + "target"
        return self.document.insert_after(source, f"{self.document.indentation(source)}<{name}>{text}</{name}>")


def segments(document: XmlDocument, request: OpenRequest) -> list[Xliff2Segment]:
    """Return the segments of all units in the order of the file. An `<ignorable>` is not translated."""
    found = []
    for unit in document.root.iter():
        if unit.name == "unit":
            own = [child for child in unit.children if child.name == "segment"]
            found += [_segment(document, request, child, number) for number, child in enumerate(own, start=1)]
    return found


def target_language_edits(document: XmlDocument, request: OpenRequest) -> list[Edit]:
    """Return the edit that names the target language: the standard demands it in a file with targets."""
    if document.root.attributes.get("trgLang"):
        return []
    if not request.target_lang:
        raise InputError("the file has no trgLang; name the target language with --target-lang", path=request.path)
    return [document.set_attribute(document.root, "trgLang", request.target_lang)]


def _segment(document: XmlDocument, request: OpenRequest, element: XmlElement, number: int) -> Xliff2Segment:
    unit = element.parent
    assert unit is not None
    source, target = element.find("source"), element.find("target")
    languages = language_pair(element, source, target)
    texts = fragment(document, source), fragment(document, target)
    is_locked = unit.inherited("translate") == "no" or not texts[0].strip() or not is_wanted(languages, request)
    state = UnitState.LOCKED if is_locked else _state(element, texts[1])
    name = f"{unit.attributes.get('id', '')}/{element.attributes.get('id', number)}"
    file_unit = FileUnit(name, *texts, state, document_of(element), syntax=XML, line=element.line)
    return Xliff2Segment(document, element, languages, (file_unit,))


def _state(segment: XmlElement, target: str) -> UnitState:
    if not target.strip():
        return UnitState.UNTRANSLATED
    return UnitState.FUZZY if segment.attributes.get("state") == "initial" else UnitState.TRANSLATED
