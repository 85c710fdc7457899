"""Request and response bodies of campaigns. The models validate requests and describe responses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mtloop.core.protocols import Stop
from mtloop.selection.agreement import rater_pairs
from mtloop.selection.campaign_plan import MAX_ATTENTION_CHECKS, CampaignPlan
from mtloop.selection.campaign_state import CampaignState
from mtloop.selection.rating_instructions import instructions
from mtloop.selection.rating_kinds import CATEGORIES, MAX_SPANS, SEVERITIES, RatingKind
from mtloop.service.audit.models import utc
from mtloop.service.campaigns.campaign_log import CampaignLog, RaterWork, ShownItem
from mtloop.service.campaigns.models import CampaignEvent, StoredCampaign
from mtloop.service.projects.project_bodies import Name, ShortText, Text, Value
from mtloop.service.tasks.bodies import visible_name

_STRICT = ConfigDict(extra="forbid", strict=True)
ANSWERS = ("scores", "thumbs", "better", "spans")
MAX_PAIRS = 100  # of raters whose agreement is shown
CONTEXT_LINES = 3  # source lines of the document that are shown before and after a segment
MAX_SEGMENTS, MAX_SYSTEMS = 20_000, 200
MAX_LINES = (MAX_SYSTEMS + 4) * MAX_SEGMENTS  # of sources, documents, references and outputs, and some other values
Lines = Annotated[list[Text], Field(max_length=MAX_SEGMENTS)]
SystemName = Annotated[ShortText, Field(min_length=1), AfterValidator(visible_name)]
RaterName = Annotated[str, Field(max_length=64, pattern=r"^[\w@-][\w.@-]*$")]
Item = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class NewCampaignBody(BaseModel):
    """A new campaign: one line per segment in `sources`, `outputs` of every system, `documents` and `references`.

    `indifference` is on the scale 0 to 1. Without `top`, the campaign looks for the best 3, or all but one.
    """

    model_config = _STRICT
    name: Name
    kind: RatingKind = "score"
    sources: Lines
    outputs: dict[SystemName, Lines] = Field(max_length=MAX_SYSTEMS)
    documents: Lines = []
    references: Lines = []
    policy: ShortText = "race"
    settings: dict[ShortText, Value] = {}
    top: Annotated[int, Field(ge=1)] | None = None
    confidence: float = 0.95
    indifference: float = 0.01
    overlap: Annotated[int, Field(ge=1, le=100)] = 1
    min_per_rater: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    attention_checks: Annotated[float, Field(ge=0, le=MAX_ATTENTION_CHECKS)] = 0.0
    side_by_side: bool = False
    instructions: Annotated[Text, Field(max_length=10_000)] = ""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 1

    def plan(self) -> CampaignPlan:
        """The plan. Raise InputError if texts or settings do not fit each other."""
        given: dict[str, Any] = self.model_dump(exclude={"name", "top", "sources", "outputs"})
        given |= {name: tuple(given[name]) for name in ("documents", "references")}
        outputs = {name: tuple(lines) for name, lines in self.outputs.items()}
        top = self.top or max(1, min(3, len(outputs) - 1))
        return CampaignPlan(tuple(self.sources), outputs, top=top, **given)


class CampaignChangeBody(BaseModel):
    """Stop a campaign, or let it go on."""

    model_config = _STRICT
    stopped: bool


class NewRaterBody(BaseModel):
    """A rater. With `renew`, a rater who is known gets a new link, and the old one works no longer."""

    model_config = _STRICT
    name: RaterName
    renew: bool = False


class SpanBody(BaseModel):
    """An error, from the character `start` up to `end`, which is not part of it. Characters are code points."""

    model_config = _STRICT
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    category: ShortText
    severity: ShortText


class RatingBody(BaseModel):
    """A rating: the field of the campaign's kind, with one value for each translation. `better` is one option or null.

    `seconds` is the time that it took.
    """

    model_config = _STRICT
    item: Item
    scores: Annotated[list[Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]], Field(max_length=20)] = []
    thumbs: Annotated[list[bool], Field(max_length=20)] = []
    better: int | None = None
    spans: Annotated[list[Annotated[list[SpanBody], Field(max_length=MAX_SPANS)]], Field(max_length=20)] = []
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] | None = None

    @model_validator(mode="after")
    def _check_one(self) -> RatingBody:
        if len(self.model_fields_set & set(ANSWERS)) != 1:
            raise PydanticCustomError("one_answer", "send one of scores, thumbs, better, spans")
        return self

    def answer(self) -> dict[str, Any]:
        """What is stored."""
        return self.model_dump(include=(self.model_fields_set & set(ANSWERS)) | {"seconds"})


class ItemBody(BaseModel):
    """The item that is skipped."""

    model_config = _STRICT
    item: Item


class SourceBody(BaseModel):
    """A source line of the campaign."""

    model_config = _STRICT
    source: Text


class CampaignBody(BaseModel):
    name: str
    kind: RatingKind
    segments: int
    systems: list[str]
    references: bool
    policy: str
    settings: dict[str, Any]
    top: int
    confidence: float
    indifference: float
    overlap: int
    min_per_rater: int
    attention_checks: float
    side_by_side: bool
    instructions: str
    seed: int
    stopped: bool
    created: str


class CampaignSummary(BaseModel):
    name: str
    stopped: bool
    created: str


class CampaignList(BaseModel):
    campaigns: list[CampaignSummary]
    next: str | None


class RaterLink(BaseModel):
    """The link is shown once."""

    name: str
    link: str


class RaterBody(BaseModel):
    """What a rater did. `mean` and `spread` (standard deviation) are on 0 to 100, `seconds` is a median."""

    name: str
    ratings: int
    skipped: int
    seconds: float | None
    mean: float | None
    spread: float | None
    checks_passed: int
    checks_failed: int
    last: str | None


class RaterList(BaseModel):
    """`next` is the value of `after` for the next part; null: this is the last one."""

    raters: list[RaterBody]
    next: int | None


class VerdictBody(BaseModel):
    best: list[str]
    confidence: float
    within: float


class PairAgreement(BaseModel):
    raters: list[str]
    count: int
    correlation: float | None
    equal: float


class AgreementBody(BaseModel):
    """Krippendorff's alpha, and the agreement of two raters on what both rated: the 100 pairs with the most of it."""

    alpha: float | None
    units: int
    pairs: list[PairAgreement]


class ChangingSystem(BaseModel):
    """A system whose ratings can change the answer; `lead` is its distance in points to the border of the top."""

    system: str
    in_top: bool
    lead: float
    left: int


class StatusBody(BaseModel):
    """Means are on 0 to 100; `weights` are the values by which the policy ranks."""

    means: dict[str, float]
    weights: dict[str, float]
    ratings: dict[str, int]
    total: int
    undecided: list[str]
    verdict: VerdictBody | None
    left: int
    could_change: list[ChangingSystem]
    agreement: AgreementBody
    stopped: bool


class ShownBody(BaseModel):
    text: str
    systems: list[str]


class RatingRecord(BaseModel):
    """A rating with what was shown. `values` are from 0 to 1; `check` is null, `passed` or `failed`."""

    number: int
    rater: str
    time: str
    seconds: float | None
    segment: int
    document: str
    source: str
    reference: str
    translations: list[ShownBody]
    kind: RatingKind
    answer: dict[str, Any]
    values: list[float]
    check: Literal["passed", "failed"] | None
    retracted: str | None


class RatingList(BaseModel):
    ratings: list[RatingRecord]
    next: int | None


class BestBody(BaseModel):
    """The translation of the best system after the ratings so far. Organisers see the system."""

    segment: int
    text: str
    system: str | None = None


class ProgressBody(BaseModel):
    """`left` is null if a stopping rule decides how much is rated. `target` is the least number of ratings."""

    done: int
    left: int | None
    target: int


class ProgressAnswer(BaseModel):
    progress: ProgressBody


class RatingPlanBody(BaseModel):
    """What a rater sees of a campaign. `categories` and `severities` are for error spans."""

    kind: RatingKind
    instructions: str
    progress: ProgressBody
    side_by_side: bool
    references: bool
    categories: list[str]
    severities: list[str]
    stopped: bool


class OptionBody(BaseModel):
    option: int
    text: str


class NextItemBody(BaseModel):
    """The item to rate; it stays the same until it is answered. `item` is null if there is none; `reason` says why."""

    item: str | None
    reason: Literal["finished", "stopped"] | None = None
    source: str | None = None
    reference: str | None = None
    before: list[str] = []
    after: list[str] = []
    translations: list[OptionBody] = []
    progress: ProgressBody


def campaign_json(campaign: StoredCampaign, plan: CampaignPlan) -> dict[str, Any]:
    same = ("kind", "policy", "top", "confidence", "indifference", "overlap", "min_per_rater", "attention_checks")
    return {
        **summary_json(campaign),
        **{name: getattr(plan, name) for name in (*same, "side_by_side", "seed")},
        "segments": len(plan.sources),
        "systems": list(plan.outputs),
        "references": bool(plan.references),
        "settings": dict(plan.settings),
        "instructions": instructions(plan),
    }


def summary_json(campaign: StoredCampaign) -> dict[str, Any]:
    return {"name": campaign.name, "stopped": campaign.stopped, "created": utc(campaign.created)}


def rater_json(work: RaterWork) -> dict[str, Any]:
    return {
        "name": work.name,
        "ratings": work.ratings,
        "skipped": work.skipped,
        "seconds": work.seconds,
        "mean": _points(work.mean),
        "spread": _points(work.spread),
        "checks_passed": work.passed,
        "checks_failed": work.failed,
        "last": None if work.last is None else utc(work.last),
    }


def status_json(campaign: StoredCampaign, state: CampaignState) -> dict[str, Any]:
    """The status for organisers. It computes everything: call it in a thread."""
    status = state.status()
    return {
        "means": {system: _points(mean) for system, mean in status.means.items()},
        "weights": state.policy.weights(),
        "ratings": dict(status.ratings),
        "total": status.total,
        "undecided": list(status.undecided),
        "verdict": _verdict_json(status.verdict),
        "left": status.left,
        "could_change": [asdict(one) | {"lead": _points(one.lead)} for one in state.could_change()],
        "agreement": _agreement_json(state),
        "stopped": campaign.stopped,
    }


def _verdict_json(stop: Stop | None) -> dict[str, Any] | None:
    return None if stop is None else {"best": list(stop.best), "confidence": stop.confidence, "within": stop.within}


def _agreement_json(state: CampaignState) -> dict[str, Any]:
    units = state.units()
    pairs = [asdict(pair) | {"raters": list(pair.raters)} for pair in rater_pairs(units, MAX_PAIRS)]
    return {"alpha": state.alpha(), "units": sum(len(values) > 1 for values in units.values()), "pairs": pairs}


def _points(value: float | None) -> float | None:
    return None if value is None else 100 * value


def ratings_json(log: CampaignLog, after: int = 0) -> Iterator[dict[str, Any]]:
    """Every rating after a number, with what was shown, in order."""
    for event in log.answers.values():
        if event.kind == "rating" and event.number > after:
            yield _rating_json(log, event)


def _rating_json(log: CampaignLog, event: CampaignEvent) -> dict[str, Any]:
    item, values = log.items[event.of or 0].item, log.values(event)
    at, retracted = int(item.segment) - 1, log.retracted.get(event.number)
    check = None if item.damaged is None else "passed" if item.passed(values) else "failed"
    return {
        "number": event.number,
        "rater": log.rater_name(event.rater_id),
        "time": utc(event.time),
        "seconds": event.body.get("seconds"),
        "segment": at + 1,
        "document": log.plan.documents[at] if log.plan.documents else "",
        "source": item.source,
        "reference": item.reference,
        "translations": [{"text": one.text, "systems": list(one.systems)} for one in item.translations],
        "kind": log.plan.kind,
        "answer": {name: event.body[name] for name in ANSWERS if name in event.body},
        "values": list(values),
        "check": check,
        "retracted": None if retracted is None else utc(retracted),
    }


def rating_plan_json(plan: CampaignPlan, progress: dict[str, Any], stopped: bool) -> dict[str, Any]:
    """What a rater sees: no system, no mean, no verdict."""
    spans = plan.kind == "mqm"
    return {
        "kind": plan.kind,
        "instructions": instructions(plan),
        "progress": progress,
        "side_by_side": plan.side_by_side,
        "references": bool(plan.references),
        "categories": list(CATEGORIES) if spans else [],
        "severities": list(SEVERITIES) if spans else [],
        "stopped": stopped,
    }


def item_json(plan: CampaignPlan, shown: ShownItem, progress: dict[str, Any]) -> dict[str, Any]:
    """An item as its rater sees it."""
    item = shown.item
    before, after = _neighbours(plan, int(item.segment) - 1)
    reference = {"reference": item.reference} if plan.references else {}
    return {
        "item": shown.token,
        "source": item.source,
        **reference,
        "before": before,
        "after": after,
        "translations": [{"option": at, "text": text} for at, text in enumerate(item.texts)],
        "progress": progress,
    }


def _neighbours(plan: CampaignPlan, at: int) -> tuple[list[str], list[str]]:
    """The source lines around a segment, in its document. Without documents, the whole source is one."""
    documents = plan.documents or ("",) * len(plan.sources)
    around = range(max(0, at - CONTEXT_LINES), min(len(plan.sources), at + CONTEXT_LINES + 1))
    same = [index for index in around if documents[index] == documents[at]]
    return [plan.sources[index] for index in same if index < at], [plan.sources[index] for index in same if index > at]
