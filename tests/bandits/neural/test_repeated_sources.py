"""A source that comes again: what pleased is said again, what did not is not, and both survive a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_marian import demo_pairs
from helpers.two_armed import RIGHT, SOURCE, WRONG, make_two_armed
from hypothesis import given
from hypothesis import strategies as st

from mtloop.bandits.neural.annealing import Annealing
from mtloop.bandits.neural.bandit_nmt import BanditNMT
from mtloop.bandits.neural.baselines import Heard, RunningMean
from mtloop.bandits.neural.repeated_sources import Notebook, OwnMean
from mtloop.core import InputError, Proposal, Reward, Segment, UnknownName
from mtloop.methods.registry import make_learner
from mtloop.nmt.engine.marian import Encoded, Marian

FROZEN = {"rate": 1e-9}  # so that what changes is what is remembered
LINES = st.tuples(st.integers(0, 5), st.lists(st.integers(0, 9), max_size=4), st.floats(0, 1))


def made(model: Marian, **settings: Any) -> BanditNMT:
    system = make_learner("nmt-el-recall", model, FROZEN | settings)
    assert isinstance(system, BanditNMT)
    return system


def asked(system: BanditNMT, times: int, worth: Callable[[Proposal], float], source: str = SOURCE) -> list[str]:
    """What it says of one source so many times in a row, rewarded each time."""
    said = []
    for number in range(times):
        proposal = system.propose(Segment(str(number), source))
        assert system.learn(proposal, Reward(worth(proposal))).rejected is None
        said.append(proposal.text)
    return said


def source_of(number: int) -> Encoded:
    return Encoded((number,), torch.empty(0), lambda dx, tape: None)


def test_a_bad_mark_brings_something_else_and_a_good_one_the_same_again(small: Marian) -> None:
    source = demo_pairs()[0][0]
    blamed = asked(made(small), 5, lambda proposal: 0.1, source)
    assert len(set(blamed)) == 5, "nothing that failed is said twice while there is something else"
    assert set(asked(made(small), 5, lambda proposal: 0.9, source)) == {blamed[0]}


def test_when_everything_failed_the_best_of_it_is_said(small: Marian) -> None:
    marks: dict[str, float] = {}
    values = iter([0.2, 0.3, 0.1, 0.05])
    said = asked(made(small, beams=3), 7, lambda one: marks.setdefault(one.text, next(values, 0.0)), demo_pairs()[0][0])
    assert 3 <= len(set(said)) <= 4
    assert said[-1] == said[-2] == said[1]


def test_one_failure_of_what_pleased_often_is_forgiven(small: Marian) -> None:
    """Equal sources have different references now and then; the mean decides, not the last mark."""
    worth = iter([1.0, 1.0, 0.0, 1.0])
    assert len(set(asked(made(small), 4, lambda proposal: next(worth), demo_pairs()[0][0]))) == 1


def test_the_better_of_two_translations_is_found_in_a_few_steps(tmp_path: Path) -> None:
    """Where draws need 150 rewards (test_two_armed.py) a notebook needs as many as there are candidates."""
    model = make_two_armed(tmp_path, frozenset({1}), 2)
    said = asked(made(model, temperature=1.0), 12, lambda one: {RIGHT: 0.9, WRONG: 0.3}.get(one.text, 0.0))
    assert said[-3:] == [RIGHT] * 3


def test_a_second_try_is_held_against_the_first() -> None:
    notebook, source = Notebook(), source_of(7)
    baseline = OwnMean(notebook, RunningMean())
    assert float(baseline.weigh(Heard(0.5, 0.3, source))) == pytest.approx(0.2), "a new source: the mean of all"
    notebook.note(source, [1, 2], 0.1)
    notebook.note(source, [1, 3], 0.3)
    assert float(baseline.weigh(Heard(0.5, 0.3, source))) == pytest.approx(0.3)
    assert float(baseline.weigh(Heard(0.5, 0.3, source_of(8)))) == pytest.approx(0.2)


def test_equal_rewards_teach_nothing_not_even_by_rounding() -> None:
    notebook, source = Notebook(), source_of(7)
    for _ in range(8):
        notebook.note(source, [1, 2], 0.7)
        assert not OwnMean(notebook, RunningMean()).weigh(Heard(0.7, 0.3, source)).any()


def test_marks_are_heard_after_learning_has_ended(small: Marian) -> None:
    """Annealing stops the weights, not the memory."""

    class Ended(Annealing):
        def pace(self, heard: int) -> float:
            return 0.0

    system = made(small)
    system.annealing = Ended(temperature=0.3)
    assert len(set(asked(system, 4, lambda proposal: 0.1, demo_pairs()[0][0]))) == 4
    assert not system.updates_


@pytest.mark.parametrize("expect", ["mean", "ridge", "critic"])
def test_sources_that_come_again_survive_a_restart(small: Marian, tmp_path: Path, expect: str) -> None:
    """Stopped in between, the learner says and becomes the same to the last bit as one that never was."""
    stayed, resumed = (made(small, rate=0.01, expect=expect) for _ in range(2))
    segments = [Segment(str(i), demo_pairs()[i % 3][0]) for i in range(9)]

    def go_on(system: BanditNMT, some: list[Segment]) -> list[str]:
        proposals = [system.propose(one) for one in some[:2]]  # two at once: their rewards come late
        for one in some[2:]:
            proposals.append(system.propose(one))
            system.learn(proposals[-3], Reward(len(proposals[-3].text) % 7 / 10))
        return [proposal.text for proposal in proposals]

    go_on(stayed, segments[:5])
    stayed.save(tmp_path)
    resumed.load(tmp_path)
    assert go_on(stayed, segments[5:]) == go_on(resumed, segments[5:])
    one, other = stayed.delta().tensors, resumed.delta().tensors
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_was_learned_with_another_expectation_is_refused(small: Marian, tmp_path: Path) -> None:
    made(small, expect="mean").save(tmp_path)
    with pytest.raises(InputError, match="other settings"):
        made(small, expect="ridge").load(tmp_path)


def test_only_draws_carry_a_propensity(small: Marian) -> None:
    system, segment = made(small), Segment("1", demo_pairs()[0][0])
    first = system.propose(segment)
    system.learn(first, Reward(0.9))
    again = system.propose(segment)
    assert "log_probability" in first.memo
    assert "log_probability" not in again.memo
    assert (again.text, again.probability) == (first.text, 1.0)


@given(st.lists(LINES))
def test_a_notebook_comes_back_as_it_was(lines: list[tuple[int, list[int], float]]) -> None:
    written, read = Notebook(), Notebook()
    for number, said, reward in lines:
        written.note(source_of(number), said, reward)
    read.restore(written.tensors())
    assert read.pages_ == written.pages_
    assert [list(page) for page in read.pages_.values()] == [list(page) for page in written.pages_.values()]


def test_an_unknown_expectation_answers_with_the_known_ones(small: Marian) -> None:
    with pytest.raises(UnknownName, match="ridge"):
        made(small, expect="rigde")


@pytest.mark.parametrize("settings", [{"content": 1.5}, {"content": -0.1}, {"beams": 0}])
def test_settings_that_make_no_sense_are_refused(small: Marian, settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(settings))):
        made(small, **settings)
