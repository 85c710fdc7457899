from __future__ import annotations

import pickle

from mtloop.service.problems import UNKNOWN_TASK, ProblemError


def test_a_problem_error_is_the_same_after_pickling() -> None:
    again = pickle.loads(pickle.dumps(ProblemError(UNKNOWN_TASK)))
    assert (str(again), again.problem) == ("unknown-task", UNKNOWN_TASK)
