"""What every policy keeps to; import `check_policy` into the tests of your own."""

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
    """Run the whole contract; `make` gives a new policy over at least two systems.

    `learns`: after enough lessons it must rank a system that always scores 1 above those that always score 0.
    """
    assert isinstance(make(), Policy), "a policy has choose, update, weights and verdict"
    assert len(make().weights()) > 1, "the checks need a policy over two systems or more"
    check_choose(make())
    check_equal_lessons(make)
    check_late(make)
    check_silence(make())
    check_refusals(make)
    if learns:
        check_learning(make())


def check_choose(policy: Policy) -> None:
    """A choice is of a known system, says how likely it was, and leaves no mark."""
    for segment in SEGMENTS[:20]:
        choice = policy.choose(segment, random.Random(segment.id))
        assert choice == policy.choose(segment, random.Random(segment.id)), "choose must not change the policy"
        names = policy.weights().keys()
        assert choice.system in names, "a choice is one of the systems"
        assert names >= set(choice.asked), "those it asks about are systems too"
        assert choice.weights.keys() == names, "the weights are of all systems"
        assert all(map(math.isfinite, choice.weights.values())), "weights are numbers"
        assert choice.probability is None or 0 < choice.probability <= 1, "a probability is above 0 and at most 1"
        policy.update(choice, {choice.system: 0.5})
        _check_verdict(policy)


def check_equal_lessons(make: Callable[[], Policy]) -> None:
    """The same lessons make the same policy."""
    one, other = make(), make()
    for policy in (one, other):
        _teach(policy, SEGMENTS[:60], _noisy)
    assert dict(one.weights()) == dict(other.weights()), "equal lessons, equal weights"


def check_late(make: Callable[[], Policy]) -> None:
    """Answers that come late and in another order still teach, from what travels on the choice."""
    policy = make()
    choices = [policy.choose(segment, random.Random(segment.id)) for segment in SEGMENTS[:30]]
    before = dict(policy.weights())
    for choice in reversed(choices):
        policy.update(choice, _noisy(choice, list(before)))
    assert all(map(math.isfinite, policy.weights().values())), "late answers leave numbers"


def check_silence(policy: Policy) -> None:
    """Where nobody answered there is nothing to learn."""
    _teach(policy, SEGMENTS[:20], _noisy)
    before = dict(policy.weights())
    policy.update(policy.choose(SEGMENTS[20], random.Random(1)), {})
    assert dict(policy.weights()) == before, "no scores, no change of weights"


def check_refusals(make: Callable[[], Policy]) -> None:
    """NaN and names it does not know are refused, and leave no mark."""
    policy = make()
    choice = policy.choose(SEGMENTS[0], random.Random(1))
    before = dict(policy.weights())
    for scores in ({choice.system: math.nan}, {"\0nobody": 0.5}):
        try:
            policy.update(choice, scores)
        except InputError:
            assert dict(policy.weights()) == before, "what is refused leaves no mark"
        else:
            raise AssertionError(f"scores {scores} must be refused with an InputError")


def check_learning(policy: Policy) -> None:
    """Before, teach, after: the last system is the only good one."""
    names = list(policy.weights())
    _teach(policy, SEGMENTS, lambda choice, _: {n: float(n == names[-1]) for n in choice.asked or (choice.system,)})
    after = policy.weights()
    assert max(names, key=lambda name: after[name]) == names[-1], "the system that always scores 1 must rank first"


Answer = Callable[[Choice, Sequence[str]], Mapping[str, float]]


def _teach(policy: Policy, segments: Sequence[Segment], answer: Answer) -> None:
    names = list(policy.weights())
    for segment in segments:
        choice = policy.choose(segment, random.Random(segment.id))
        policy.update(choice, answer(choice, names))


def _noisy(choice: Choice, names: Sequence[str]) -> dict[str, float]:
    """Scores that depend on system and segment alone."""
    asked = choice.asked or (choice.system,)
    return {name: random.Random(f"{name}/{choice.segment}").random() for name in asked}


def _check_verdict(policy: Policy) -> None:
    stop = policy.verdict()
    assert stop is None or isinstance(stop, Stop), "a verdict is a Stop or None"
    if stop is not None:
        assert policy.weights().keys() >= set(stop.best), "the best are systems"
        assert 0 < stop.confidence < 1, "confidence lies between 0 and 1"
