"""Which of several systems to trust: policies, `Select`, replays of recorded ratings, and rating campaigns."""

from mtloop.selection.batch import Batch, Draw
from mtloop.selection.elimination import SuccessiveElimination
from mtloop.selection.ewaf import EWAF
from mtloop.selection.exp3 import EXP3
from mtloop.selection.linucb import LinUCB
from mtloop.selection.race import Race
from mtloop.selection.select import Select
from mtloop.selection.thompson import Thompson
from mtloop.selection.ucb1 import UCB1

__all__ = [
    "EWAF",
    "EXP3",
    "UCB1",
    "Batch",
    "Draw",
    "LinUCB",
    "Race",
    "Select",
    "SuccessiveElimination",
    "Thompson",
]
