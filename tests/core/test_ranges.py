from __future__ import annotations

from math import inf, nan

import pytest

from mtloop.core.errors import InputError
from mtloop.core.ranges import check_above, check_at_least, check_share


def test_a_value_in_range_passes() -> None:
    check_at_least(1, neighbours=1, beam_size=8)
    check_above(0, learning_rate=1e-9)
    check_share(kl_weight=0, weight_average=1)


@pytest.mark.parametrize("value", [0, -3, nan])
def test_a_value_below_the_minimum_is_named(value: float) -> None:
    with pytest.raises(InputError, match=f"^neighbours is {value}; expected 1 or more$"):
        check_at_least(1, beam_size=1, neighbours=value)


@pytest.mark.parametrize("value", [0, -0.5, nan, inf])
def test_a_value_that_must_be_above_the_minimum_is_named(value: float) -> None:
    with pytest.raises(InputError, match=f"^learning_rate is {value}; expected a finite number above 0$"):
        check_above(0, learning_rate=value)


@pytest.mark.parametrize("value", [-0.1, 1.5, nan])
def test_a_share_outside_0_to_1_is_named(value: float) -> None:
    with pytest.raises(InputError, match=f"^kl_weight is {value}; expected a number from 0 to 1$"):
        check_share(kl_weight=value)
