"""Request and response bodies of documents. The models validate requests and describe responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mtloop.service.audit.models import utc
from mtloop.service.documents.models import StoredDocument, StoredUnit
from mtloop.service.documents.text_parts import parts_of
from mtloop.service.projects.project_bodies import ConfirmAnswer, CorrectionUsed, Text

_STRICT = ConfigDict(extra="forbid", strict=True)
MAX_SUGGESTED = 20
Index = Annotated[int, Field(ge=0, le=2**31 - 1)]
UnitKind = Literal["all", "open", "translated", "confirmed", "locked", "changed", "failing"]


class SuggestionsBody(BaseModel):
    """Units by their index. With `base`, the frozen base model translates them."""

    model_config = _STRICT
    units: Annotated[list[Index], Field(min_length=1, max_length=MAX_SUGGESTED)]
    base: bool = False


class PrefixBody(BaseModel):
    """The beginning of a translation."""

    model_config = _STRICT
    prefix: Text


class DraftBody(BaseModel):
    """What somebody types in a unit of this version. Null: nothing, the draft is dropped."""

    model_config = _STRICT
    text: Text | None
    version: Index


class UnitConfirmBody(BaseModel):
    """The text of a unit of this version. `suggestion` is what the engine had proposed.

    With `force`, it may lack placeholders or tags of the source.
    """

    model_config = _STRICT
    text: Text
    version: Index
    suggestion: Text = ""
    force: bool = False


class VersionBody(BaseModel):
    """The version of a unit that a person has seen."""

    model_config = _STRICT
    version: Index


class DocumentBody(BaseModel):
    """A document, and how many units it has in each state. `change` counts the changes of its units."""

    document: str
    name: str
    format: str
    units: int
    open: int
    translated: int
    confirmed: int
    locked: int
    change: int
    created: str
    participant: str | None


class DocumentList(BaseModel):
    documents: list[DocumentBody]
    next: int | None


class PartBody(BaseModel):
    """A part of a text. The `id` of a placeholder or tag is its number in the source; null: the source lacks it."""

    text: str
    kind: Literal["text", "placeholder", "tag"]
    id: int | None


class CheckBody(BaseModel):
    """A check that a text fails. One that is serious breaks a program or a file."""

    name: str
    message: str
    serious: bool


class UnitDraftBody(BaseModel):
    text: str
    participant: str | None


class UnitBody(BaseModel):
    """A unit. `target` is its confirmed text, or what the file says. `parts` are those of the source.

    `fuzzy`: the file says that its target must be reviewed. `correction` is the number of its confirmation, and
    `participant` who confirmed it. `checks` are those that the draft fails, or else the target.
    """

    index: int
    id: str
    source: str
    target: str
    state: Literal["open", "translated", "confirmed", "locked"]
    fuzzy: bool
    version: int
    change: int
    draft: UnitDraftBody | None
    correction: int | None
    participant: str | None
    checks: list[CheckBody]
    note: str
    context: dict[str, Any]
    parts: list[PartBody]
    syntax: str


class UnitList(BaseModel):
    """Units in the order of the file. Ask for `changes` after `change` to see what others do."""

    units: list[UnitBody]
    next: int | None
    change: int


class ChangedUnits(BaseModel):
    """Units in the order of their changes. If there may be more, `change` is that of the last one here."""

    units: list[UnitBody]
    change: int


class TermBody(BaseModel):
    """A term of the glossary that is in the source."""

    source: str
    target: str


class SuggestionBody(BaseModel):
    """A suggestion. `repeated`: the source was confirmed before, and this is its confirmed translation."""

    index: int
    translation: str
    repeated: bool
    corrections: list[CorrectionUsed]
    terms: list[TermBody]
    checks: list[CheckBody]
    parts: list[PartBody]


class SuggestionsAnswer(BaseModel):
    """`state` is the number of the newest event that the suggestions know. Those of the base model know none."""

    suggestions: list[SuggestionBody]
    state: int
    rebuilding: bool


class CompletionAnswer(BaseModel):
    """A translation that begins with the prefix."""

    translation: str


class DraftAnswer(BaseModel):
    """The version that the unit has now, and the number of the change."""

    version: int
    change: int


class UnitConfirmAnswer(ConfirmAnswer):
    """It is stored, and learned after the answer."""

    unit: UnitBody


class UnitAnswer(BaseModel):
    unit: UnitBody


def document_json(one: StoredDocument) -> dict[str, Any]:
    return {
        "document": one.token,
        "name": one.name,
        "format": one.format,
        "units": one.units,
        "open": one.open,
        "translated": one.translated,
        "confirmed": one.confirmed,
        "locked": one.locked,
        "change": one.change,
        "created": utc(one.created),
        "participant": one.participant,
    }


def unit_json(one: StoredUnit) -> dict[str, Any]:
    context = dict(one.context)
    note = context.pop("note", "")
    return {
        "index": one.place,
        "id": one.name,
        "source": one.source,
        "target": one.target,
        "state": one.state,
        "fuzzy": one.fuzzy,
        "version": one.version,
        "change": one.change,
        "draft": None if one.draft is None else {"text": one.draft.text, "participant": one.draft.participant},
        "correction": one.correction,
        "participant": one.participant,
        "checks": list(one.checks),
        "note": str(note),
        "context": context,
        "parts": parts_of(one.source, one.syntax),
        "syntax": one.syntax,
    }
