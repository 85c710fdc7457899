"""Request and response bodies of projects. The models validate requests and describe responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mtloop.service.project_log.models import Role, TranslationProject
from mtloop.service.tasks.bodies import visible_name

_STRICT = ConfigDict(extra="forbid", strict=True)
NO_NUL = {"pattern": r"^[^\x00]*$"}
Format = Literal["text", "html", "xml"]
SYNTAX = {"text": "plain", "html": "html", "xml": "xml"}
MAX_TERMS = 10_000  # of a glossary
CorrectionState = Literal["learned", "rejected", "refused", "waiting", "undone", "replaced"]


def storable(text: str) -> str:
    """Return a text. NUL and lone surrogates are refused: a database cannot store them."""
    if "\x00" in text:
        raise PydanticCustomError("nul", "NUL is not allowed")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("surrogate", "lone surrogates are not allowed") from None
    return text


Text = Annotated[str, AfterValidator(storable), Field(json_schema_extra=NO_NUL)]
ShortText = Annotated[str, AfterValidator(storable), Field(max_length=200, json_schema_extra=NO_NUL)]
Name = Annotated[
    str, Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$"), AfterValidator(visible_name)
]
Language = Annotated[str, Field(max_length=16, pattern=r"^([A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*)?$")]
Value = bool | int | float | ShortText


class NewProjectBody(BaseModel):
    """A new project. The languages may be left out; they are those of the model."""

    model_config = _STRICT
    name: Name
    source_language: Language = ""
    target_language: Language = ""
    model: ShortText = ""
    method: ShortText = ""
    settings: dict[ShortText, Value | None] = {}
    review: bool = False


class ProjectChangeBody(BaseModel):
    """What an organiser changes. A field that is left out keeps its value."""

    model_config = _STRICT
    method: ShortText | None = None
    settings: dict[ShortText, Value | None] | None = None
    review: bool | None = None
    glossary: dict[ShortText, ShortText] | None = Field(None, max_length=MAX_TERMS)


class TermsBody(BaseModel):
    """Terms to add to the glossary, with their translations."""

    model_config = _STRICT
    terms: Annotated[dict[ShortText, ShortText], Field(min_length=1, max_length=MAX_TERMS)]


class MemberBody(BaseModel):
    """The role of a participant in a project."""

    model_config = _STRICT
    role: Literal["translate", "confirm", "organise"]


class TranslateBody(BaseModel):
    """One text or several. With `prefix`, the translation begins with it.

    With `documents`, exact matches and similar corrections come from these documents only.
    """

    model_config = _STRICT
    text: Text | list[Text]
    format: Format = "text"
    prefix: Text = ""
    candidates: Annotated[int, Field(ge=1, le=10)] = 1
    documents: Annotated[list[ShortText], Field(max_length=100)] | None = None

    @property
    def texts(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) else self.text

    @model_validator(mode="after")
    def _check_texts(self) -> TranslateBody:
        if not self.texts or not all(text.strip() for text in self.texts):
            raise PydanticCustomError("empty", "text: an empty text cannot be translated")
        if self.prefix and len(self.texts) > 1:
            raise PydanticCustomError("prefix", "prefix: send one text with it")
        return self


class ConfirmBody(BaseModel):
    """A translation that a person confirmed. `proposal` is what the engine had proposed."""

    model_config = _STRICT
    source: Text
    translation: Text
    proposal: Text = ""
    document: ShortText = ""
    external_id: ShortText = ""
    format: Format = "text"
    wait: Literal["learned", "durable"] = "learned"
    proof: bool = True


class RateBody(BaseModel):
    """A rating of a proposal, from 0 to 1."""

    model_config = _STRICT
    proposal: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    value: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class ReviewBody(BaseModel):
    """What a reviewer decided about a confirmation that waits."""

    model_config = _STRICT
    accepted: bool


class ForkBody(BaseModel):
    """The name of the copy."""

    model_config = _STRICT
    name: Name


class ProjectBody(BaseModel):
    name: str
    source_language: str
    target_language: str
    model: str
    method: str
    settings: dict[str, Value | None]
    review: bool
    state: int
    role: Role | None = None


class ProjectList(BaseModel):
    projects: list[ProjectBody]
    next: str | None


class CorrectionUsed(BaseModel):
    """A correction that is similar to the source, as it was written.

    `words` are those of the translation that come from it, without placeholders and tags.
    """

    number: int | None
    source: str
    translation: str
    similarity: float
    words: list[str]


class TranslatedText(BaseModel):
    """A translation. `repeated`: the source was confirmed before, and this is its confirmed translation."""

    translation: str
    repeated: bool
    corrections: list[CorrectionUsed]
    protected: list[str]
    candidates: list[str] | None = None
    proposal: str | None = None


class TranslateAnswer(BaseModel):
    """`state` is the number of the newest event that the translations know."""

    translations: list[TranslatedText]
    state: int
    rebuilding: bool


class ChangedSource(BaseModel):
    source: str
    before: str
    after: str


class ProofBody(BaseModel):
    """What the source gives without exact repeats, before and after; and similar sources that changed."""

    before: str
    after: str
    changed: list[ChangedSource]


class LearnedBody(BaseModel):
    updates: int
    rejected: str | None
    info: dict[str, Any]


class ConfirmAnswer(BaseModel):
    """`number` names the correction. `refused` says why it is not learned: by a rule, a reviewer, or the learner.

    `waiting`: it waits for a review. An equal confirmation that was there before (`new` is false) is described as it is
    now. `rebuilding`: it is stored, and learned after an import or a rebuild; `learned` and `proof` are not known yet.

    `missing` are placeholders and tags of the source that the translation lacks. It is taken all the same.
    """

    number: int
    new: bool
    refused: str | None
    waiting: bool
    missing: list[str]
    learned: LearnedBody | None = None
    proof: ProofBody | None = None
    state: int
    rebuilding: bool = False
    seconds: float


class RateAnswer(BaseModel):
    """The number of a rating, and what was learned from it. `rebuilding`: that is not known yet."""

    number: int
    learned: LearnedBody | None
    rebuilding: bool


class EventAnswer(BaseModel):
    """The number of an undo, redo or review."""

    number: int


class CorrectionBody(BaseModel):
    """A correction. `refused` says why it is not learned: a rule or a reviewer forbids it, or the learner rejected it.

    A correction in the state `learned` counts; an engine may still have to learn it.
    """

    number: int
    source: str
    translation: str
    proposal: str
    document: str
    external_id: str
    format: Format
    state: CorrectionState
    refused: str | None
    participant: str | None
    time: str


class CorrectionList(BaseModel):
    corrections: list[CorrectionBody]
    next: int | None


class GlossaryBody(BaseModel):
    """The terms that translations use, with their translations."""

    terms: dict[str, str]


class MemberList(BaseModel):
    """`next` is the value of `after` for the next part; null: this is the last one."""

    members: dict[str, Role]
    next: str | None


def project_json(project: TranslationProject, role: Role | None) -> dict[str, Any]:
    return {
        "name": project.name,
        "source_language": project.source_language,
        "target_language": project.target_language,
        "model": project.model,
        "method": project.method,
        "settings": dict(project.settings),
        "review": project.review,
        "state": project.number,
        "role": role,
    }


def member_json(members: list[tuple[str, Role]], more: bool) -> dict[str, Any]:
    return {"members": dict(members), "next": members[-1][0] if more else None}
