"""Checks of what a user's own class declares and returns. Each function returns the problem in words, or ""."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from mtloop.core import serialisation
from mtloop.core.errors import SerialisationError
from mtloop.core.types import Learned, Proposal, Segment

_FEEDBACK = tuple(serialisation.FEEDBACK.values())
_JSON_RULE = "from JSON: expected text as keys, and lists instead of tuples"
_BLANK: dict[type, Any] = {Proposal: Proposal(Segment("", ""), ""), Learned: Learned()}


def declaration_problem(learner: object) -> str:
    """Check `learns_from`, `save` and `load` of a learner or of its class."""
    declared = getattr(learner, "learns_from", ())
    known_later = isinstance(learner, type) and hasattr(declared, "__get__")  # a property: only an instance knows it
    if not known_later and not (isinstance(declared, tuple) and all(kind in _FEEDBACK for kind in declared)):
        return (
            "learns_from must be a tuple of PostEdit, Scores, Preference or Reward, "
            f"for example (PostEdit,); it is {_shown(declared)}"
        )
    has = {verb: callable(getattr(learner, verb, None)) for verb in ("save", "load")}
    if has["save"] != has["load"]:
        present, absent = ("save", "load") if has["save"] else ("load", "save")
        return f"it has {present} but no {absent}; add {absent}, or remove {present}"
    return ""


def proposal_problem(proposal: object, segment: Segment) -> str:
    """Check a result of `propose`."""
    if problem := _problem_in(proposal, Proposal):
        return problem
    assert isinstance(proposal, Proposal)
    if proposal.segment != segment:
        other = proposal.segment
        return f"the proposal belongs to another segment: id {other.id!r}, source {_shown(other.source)}"
    if proposal.probability is not None and not 0 <= proposal.probability <= 1:
        return f"field probability is {proposal.probability}; expected a number from 0 to 1, or None"
    return ""


def learned_problem(learned: object) -> str:
    """Check a result of `learn`."""
    return _problem_in(learned, Learned)


def _problem_in(result: object, kind: type[Proposal] | type[Learned]) -> str:
    """Check the type of a result and of each field: a trace must be able to store it."""
    if not isinstance(result, kind):
        return f"expected {kind.__name__} from mtloop.core, got {type(result).__name__}"
    for field in fields(kind):
        value: Any = getattr(result, field.name)
        try:
            line = serialisation.dumps(replace(_BLANK[kind], **{field.name: value}))
            stored = serialisation.decode(kind, serialisation.loads(line))
        except SerialisationError as error:
            return f"field {field.name} is {_shown(value)}: {error}"
        except RecursionError:
            return f"field {field.name} contains itself; expected plain JSON values"
        if field.name == "memo" and getattr(stored, field.name) != value:  # a resumed run gives `learn` the stored one
            return f"field memo is {_shown(value)}, which differs when it is read {_JSON_RULE}"
    return ""


def _shown(value: object) -> str:
    return f"{value.__name__ if isinstance(value, type) else repr(value):.80}"
