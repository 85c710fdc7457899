"""Metrics: computed from the steps of a trace and printed with a signature."""

from mtloop.metrics.adaptation import Recall
from mtloop.metrics.base import Additive, Ratio
from mtloop.metrics.quality import BLEU, SBLEU, TER, ChrF, RewardBLEU
from mtloop.metrics.slope import Slope

__all__ = ["BLEU", "SBLEU", "TER", "Additive", "ChrF", "Ratio", "Recall", "RewardBLEU", "Slope"]
