"""The contract of policies. Call `check_policy` in the tests of a plugin."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence

from mtloop.core.errors import InputError
from mtloop.core.protocols import Choice, Policy, Stop
from mtloop.core.types import Segment

ROUNDS = 300
SEGMENTS = [Segment(str(number), f"Save file {number}.") for number in range(ROUNDS)]


def check_policy(make: Callable[[], Policy], *, learns: bool = True) -> None:
    """Check the whole contract of a policy; raise AssertionError with a description of the first violation.

    Args:
        make: Returns a new policy over at least two systems.
        learns: After enough updates, the policy must rank a system that always scores 1 above those that always
            score 0.
    """
    assert isinstance(make(), Policy), "a policy must have the methods choose, update, weights and verdict"
    assert len(make().weights()) > 1, "the checks need a policy over at least two systems"
    check_choose(make())
    check_equal_updates(make)
    check_late_scores(make)
    check_no_scores(make())
    check_invalid_scores(make)
    if learns:
        check_learning(make())


def check_choose(policy: Policy) -> None:
    """A choice names a known system and a valid probability, and `choose` does not change the policy."""
    for segment in SEGMENTS[:20]:
        choice = policy.choose(segment, random.Random(segment.id))
        assert choice == policy.choose(segment, random.Random(segment.id)), "choose must not change the policy"
        names = policy.weights().keys()
        assert choice.system in names, "the chosen system must be one of the systems"
        assert names >= set(choice.asked), "the asked systems must be among the systems"
        assert choice.weights.keys() == names, "the weights must cover all systems"
        assert all(map(math.isfinite, choice.weights.values())), "weights must be finite"
        assert choice.probability is None or 0 < choice.probability <= 1, "a probability must be above 0 and at most 1"
        policy.update(choice, {choice.system: 0.5})
        _check_verdict(policy)


def check_equal_updates(make: Callable[[], Policy]) -> None:
    """Two policies with the same updates are equal."""
    first, second = make(), make()
    for policy in (first, second):
        _teach(policy, SEGMENTS[:60], _noisy)
    assert dict(first.weights()) == dict(second.weights()), "equal updates must give equal weights"


def check_late_scores(make: Callable[[], Policy]) -> None:
    """The policy learns from scores that are late and out of order, using only the data in the choice."""
    policy = make()
    choices = [policy.choose(segment, random.Random(segment.id)) for segment in SEGMENTS[:30]]
    before = dict(policy.weights())
    for choice in reversed(choices):
        policy.update(choice, _noisy(choice, list(before)))
    assert all(map(math.isfinite, policy.weights().values())), "weights must be finite after late scores"


def check_no_scores(policy: Policy) -> None:
    """An update without scores does not change the weights."""
    _teach(policy, SEGMENTS[:20], _noisy)
    before = dict(policy.weights())
    policy.update(policy.choose(SEGMENTS[20], random.Random(1)), {})
    assert dict(policy.weights()) == before, "an update without scores must not change the weights"


def check_invalid_scores(make: Callable[[], Policy]) -> None:
    """NaN and unknown systems raise an InputError and do not change the policy."""
    policy = make()
    choice = policy.choose(SEGMENTS[0], random.Random(1))
    before = dict(policy.weights())
    for scores in ({choice.system: math.nan}, {"\0nobody": 0.5}):
        try:
            policy.update(choice, scores)
        except InputError:
            assert dict(policy.weights()) == before, "rejected scores must not change the weights"
        else:
            raise AssertionError(f"scores {scores} must raise an InputError")


def check_learning(policy: Policy) -> None:
    """After updates in which only the last system scores 1, the policy ranks it first."""
    names = list(policy.weights())
    _teach(policy, SEGMENTS, lambda choice, _: {n: float(n == names[-1]) for n in choice.asked or (choice.system,)})
    weights = policy.weights()
    assert max(names, key=lambda name: weights[name]) == names[-1], "the system that always scores 1 must rank first"


Answer = Callable[[Choice, Sequence[str]], Mapping[str, float]]


def _teach(policy: Policy, segments: Sequence[Segment], answer: Answer) -> None:
    names = list(policy.weights())
    for segment in segments:
        choice = policy.choose(segment, random.Random(segment.id))
        policy.update(choice, answer(choice, names))


def _noisy(choice: Choice, names: Sequence[str]) -> dict[str, float]:
    """Return random scores that depend only on the system and the segment."""
    asked = choice.asked or (choice.system,)
    return {name: random.Random(f"{name}/{choice.segment}").random() for name in asked}


def _check_verdict(policy: Policy) -> None:
    stop = policy.verdict()
    assert stop is None or isinstance(stop, Stop), "verdict must return a Stop or None"
    if stop is not None:
        assert policy.weights().keys() >= set(stop.best), "the best systems must be among the systems"
        assert 0 < stop.confidence < 1, "confidence must be between 0 and 1"
