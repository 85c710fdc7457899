"""Finding the best of several systems: policies, `Select`, replays of recorded ratings, and rating campaigns."""

from mtloop.selection.policies.batch_policy import BatchChoice, BatchPolicy
from mtloop.selection.policies.elimination import SuccessiveElimination
from mtloop.selection.policies.ewaf import EWAF
from mtloop.selection.policies.exp3 import EXP3
from mtloop.selection.policies.linucb import LinUCB
from mtloop.selection.policies.race import Race
from mtloop.selection.policies.thompson import Thompson
from mtloop.selection.policies.ucb1 import UCB1
from mtloop.selection.select_learner import Select

__all__ = [
    "EWAF",
    "EXP3",
    "UCB1",
    "BatchChoice",
    "BatchPolicy",
    "LinUCB",
    "Race",
    "Select",
    "SuccessiveElimination",
    "Thompson",
]
