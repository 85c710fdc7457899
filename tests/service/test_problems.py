from __future__ import annotations

import pickle

from mtloop.service.problems import UNKNOWN_TASK, ProblemError, too_many


def test_a_problem_error_is_the_same_after_pickling() -> None:
    again = pickle.loads(pickle.dumps(ProblemError(UNKNOWN_TASK)))
    assert (str(again), again.problem) == ("unknown-task", UNKNOWN_TASK)


def test_one_second_is_not_plural() -> None:
    assert [too_many(number).detail.rpartition("in ")[2] for number in (1, 2)] == ["1 second.", "2 seconds."]
