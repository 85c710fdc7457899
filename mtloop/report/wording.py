"""Text for numbers and names in the report."""

from __future__ import annotations

from mtloop.metrics.slope import Slope
from mtloop.metrics.titles import title


def p_value_text(p: float) -> str:
    """Return a p-value as papers write it.

    >>> p_value_text(0.0004), p_value_text(0.0312)
    ('p < 0.001', 'p = 0.031')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def selection_note(systems: int) -> str:
    """Return a note for the p-value of the best of several systems: selecting the best favours lucky ones.

    >>> selection_note(1), selection_note(6)
    ('', ', not corrected for selecting the best of 6 systems')
    """
    return f", not corrected for selecting the best of {systems} systems" if systems > 1 else ""


def median_text(value: float, form: str = "") -> str:
    """Return a median of whole numbers: with one decimal if it lies between two of them.

    >>> median_text(306.5), median_text(9730.0, ","), median_text(-9424.0, "+,")
    ('306.5', '9,730', '-9,424')
    """
    return f"{value:{form}.1f}".removesuffix(".0")


def signed(value: float, digits: int = 2) -> str:
    """Return a difference with its sign; the minus is a true minus sign, as wide as the plus.

    >>> signed(-1.5), signed(2, 1)
    ('−1.50', '+2.0')
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def error_name(slope: Slope) -> str:
    """Return the name of the errors that a slope uses: the metric itself, or 100 minus it."""
    name = title(slope.metric.name)
    return f"100 − {name}" if slope.metric.higher_is_better else name


def fitted_errors(slope: Slope) -> str:
    """Return the description of the errors that a slope was fitted to.

    >>> from mtloop.metrics import BLEU, TER
    >>> fitted_errors(Slope(TER(), "u")), fitted_errors(Slope(BLEU(), "ca"))
    ('TER of each block (U)', '100 − BLEU of all blocks so far (CA)')
    """
    return f"{error_name(slope)} of {'each block (U)' if slope.model == 'u' else 'all blocks so far (CA)'}"
