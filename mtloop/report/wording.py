"""Numbers and names as the report words them."""

from __future__ import annotations

from mtloop.metrics.slope import Slope
from mtloop.metrics.titles import title


def p_value(p: float) -> str:
    """As papers write it.

    >>> p_value(0.0004), p_value(0.0312)
    ('p < 0.001', 'p = 0.031')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def chosen(systems: int) -> str:
    """Said after a p-value of the best of several systems, which luck helps to be the best.

    >>> chosen(1), chosen(6)
    ('', ', not corrected for being the best of 6')
    """
    return f", not corrected for being the best of {systems}" if systems > 1 else ""


def signed(value: float, digits: int = 2) -> str:
    """A difference, with a minus as long as its plus.

    >>> signed(-1.5), signed(2, 1)
    ('−1.50', '+2.0')
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def errors(slope: Slope) -> str:
    """What a slope counts as errors: the metric itself, or what it lacks of 100."""
    name = title(slope.metric.name)
    return f"100 − {name}" if slope.metric.higher_is_better else name


def fitted(slope: Slope) -> str:
    """What a slope was fitted to.

    >>> from mtloop.metrics import BLEU, TER
    >>> fitted(Slope(TER(), "u")), fitted(Slope(BLEU(), "ca"))
    ('TER of each block (U)', '100 − BLEU of all blocks so far (CA)')
    """
    return f"{errors(slope)} of {'each block (U)' if slope.model == 'u' else 'all blocks so far (CA)'}"
