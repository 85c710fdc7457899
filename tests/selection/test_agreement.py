"""Agreement of raters, against published values."""

from __future__ import annotations

import pytest

from mtloop.selection.agreement import RaterPair, krippendorff_alpha, rater_pairs

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C and E: four observers, twelve units
PUBLISHED = [
    [1, 1, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [5, 5, 5],
    [1, 1],
    [3],
]


def test_alpha_is_the_published_value() -> None:
    assert krippendorff_alpha(PUBLISHED, nominal=True) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(PUBLISHED) == pytest.approx(0.849, abs=5e-4)


def test_alpha_needs_two_values_of_a_unit_and_two_different_values() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1.0], [2.0]]) is None
    assert krippendorff_alpha([[0.03] * 2] * 40) is None
    assert krippendorff_alpha([[1, 0], [0, 1]]) == pytest.approx(-0.5)


def test_pairs_of_raters() -> None:
    units = {
        ("1",): {"a": 0.1, "b": 0.2, "c": 0.5},
        ("2",): {"a": 0.3, "b": 0.4},
        ("3",): {"a": 0.5, "b": 0.6},
        ("4",): {"c": 0.5},
    }
    ab, ac, bc = rater_pairs(units)
    assert (ab.raters, ab.count, ab.equal) == (("a", "b"), 3, 0.0)
    assert ab.correlation == pytest.approx(1.0)
    assert (ac, bc) == (RaterPair(("a", "c"), 1, None, 0.0), RaterPair(("b", "c"), 1, None, 0.0))
    assert rater_pairs(units, 2) == [ab, ac], "those with the most units in common, then by name"
