"""The plan of a rating campaign: texts, systems, the kind of rating, and the policy that selects what is rated."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

from mtloop.core.errors import InputError
from mtloop.core.json_files import parse_json
from mtloop.core.keywords import keywords_of
from mtloop.core.ranges import check_at_least
from mtloop.core.types import Segment
from mtloop.selection.policies.batch_policy import BatchPolicy
from mtloop.selection.policies.elimination import check_stopping
from mtloop.selection.policies.registry import has_stopping_rule, make_policy
from mtloop.selection.raters import MIN_RATINGS
from mtloop.selection.rating_kinds import KINDS, RatingKind

FORMAT = 3  # of the plan file
FIRST_FORMAT = 2  # without the fields of `_ADDED`
MAX_ATTENTION_CHECKS = 0.2  # of the items of a rater
STOPPING = ("top", "confidence", "indifference")  # settings of a policy that are fields of the plan
_ADDED = (
    "documents",
    "kind",
    "policy",
    "settings",
    "overlap",
    "min_per_rater",
    "attention_checks",
    "side_by_side",
    "instructions",
)


@dataclass(frozen=True)
class CampaignPlan:
    """The texts and settings of a campaign: sources, optional references, and one line per segment of every system.

    `documents` names the document of each segment. `policy` and `settings` are those of `mtloop select`. `overlap`
    raters rate each translation. A rater gets at least `min_per_rater` items, also when the policy has stopped.
    `attention_checks` is the share of items that are damaged translations. With `side_by_side`, all translations of
    a segment that are to be rated are shown together.
    """

    sources: tuple[str, ...]
    outputs: Mapping[str, tuple[str, ...]]
    references: tuple[str, ...] = ()
    top: int = 3
    confidence: float = 0.95
    indifference: float = 0.01
    """On the scale 0 to 1: 0.01 is one point of 100."""
    min_ratings: int = MIN_RATINGS
    seed: int = 1
    documents: tuple[str, ...] = ()
    kind: RatingKind = "score"
    policy: str = "race"
    settings: Mapping[str, Any] = field(default_factory=dict)
    overlap: int = 1
    min_per_rater: int = 0
    attention_checks: float = 0.0
    side_by_side: bool = False
    instructions: str = ""

    def __post_init__(self) -> None:
        self._check_texts()
        self._check_numbers()
        several = asks_several(self.make_policy(), self.segment(0))  # raises InputError for a wrong name or setting
        if self.side_by_side and not several and self.kind != "pair":
            raise InputError(
                f"side by side: policy {self.policy} asks about one translation at a time; choose race or ewaf"
            )

    def _check_texts(self) -> None:
        if not self.sources:
            raise InputError("no segments to rate; expected at least one")
        if len(self.outputs) < 2:
            raise InputError(f"a campaign compares systems; expected at least 2, got {len(self.outputs)}")
        if len(self.outputs) <= self.top:
            raise InputError(f"top is {self.top}, but there are only {len(self.outputs)} systems; choose a smaller top")
        more = [("the reference", self.references), ("documents", self.documents)]
        for name, lines in [*self.outputs.items(), *((name, lines) for name, lines in more if lines)]:
            if len(lines) != len(self.sources):
                raise InputError(f"{name} has {len(lines)} lines, the source {len(self.sources)}; expected the same")

    def _check_numbers(self) -> None:
        check_stopping(self.top, self.confidence, self.indifference)
        check_at_least(1, overlap=self.overlap)
        check_at_least(0, min_per_rater=self.min_per_rater)
        if self.kind not in KINDS:
            raise InputError(f"kind is {self.kind!r}; expected one of {', '.join(KINDS)}")
        if not 0 <= self.attention_checks <= MAX_ATTENTION_CHECKS:
            raise InputError(f"attention_checks is {self.attention_checks:g}; expected 0 to {MAX_ATTENTION_CHECKS}")
        if given := [name for name in STOPPING if name in self.settings]:
            raise InputError(f"{given[0]} is a field of the campaign; leave it out of the settings of the policy")

    def make_policy(self) -> BatchPolicy:
        """A new policy with the settings of the plan."""
        systems, horizon = tuple(self.outputs), len(self.sources)
        known = dict(keywords_of(type(make_policy(self.policy, systems, horizon=horizon))))
        stopping = {name: getattr(self, name) for name in STOPPING if name in known}
        parts = [f"{name}={value}" for name, value in {**stopping, **self.settings}.items()]
        return make_policy(":".join([self.policy, *parts]), systems, horizon=horizon)

    @property
    def stops(self) -> bool:
        """Whether the policy has a stopping rule."""
        return has_stopping_rule(self.policy)

    def segment(self, index: int) -> Segment:
        """A segment as policies see it. Its id is its number, from 1."""
        context = {"document": self.documents[index]} if self.documents else {}
        return Segment(str(index + 1), self.sources[index], context)

    @property
    def fingerprint(self) -> str:
        """A hash that identifies the campaign in the traces of its raters."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """The plan as JSON. Fields of later formats are written if they differ from their defaults."""
        table = asdict(self)
        for one in fields(self):
            if one.name in _ADDED and table[one.name] == _default(one):
                del table[one.name]
        number = FORMAT if any(name in table for name in _ADDED) else FIRST_FORMAT
        return json.dumps({"format": number, **table}, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, text: str) -> CampaignPlan:
        """Read what `to_json` wrote; raise InputError if it is not a plan, or a plan of another format."""
        try:
            table = parse_json(text)
            outputs = {name: tuple(lines) for name, lines in table.pop("outputs").items()}
            lists: dict[str, Any] = {name: tuple(table.pop(name, ())) for name in ("references", "documents")}
            sources = tuple(table.pop("sources"))
            _check_format(table.pop("format", 1))
            return cls(sources, outputs, **lists, **table)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"this is not a campaign: {error}") from error


def asks_several(policy: BatchPolicy, segment: Segment) -> bool:
    """Whether a new policy asks for ratings of several systems on one segment."""
    return len(policy.choose(segment, random.Random(0)).asked) > 1


def _default(one: Any) -> object:
    return one.default_factory() if one.default is MISSING else one.default


def _check_format(number: object) -> None:
    if number not in (FIRST_FORMAT, FORMAT):
        export = "export its ratings with the version that made it, or create it again"
        newer = isinstance(number, int) and number > FORMAT
        age, advice = ("a newer", "upgrade mtloop") if newer else ("an older", export)
        raise InputError(f"this campaign was made by {age} mtloop (format {number}); {advice}")
