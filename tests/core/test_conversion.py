from __future__ import annotations

import pytest

from mtloop.core.conversion import convert
from mtloop.core.errors import InputError
from mtloop.core.types import JSON


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("Yes", True), ("1", True), ("False", False), ("NO", False), ("0", False)],
)
@pytest.mark.parametrize("default", [True, False])
def test_a_boolean_is_read_from_text(default: bool, text: str, value: bool) -> None:
    assert convert(default, text, "shared") is value


def test_a_value_of_the_right_type_stays() -> None:
    assert convert(True, False, "shared") is False
    assert convert(None, "any", "model") == "any"
    assert convert("clip", "none", "gradient_clipping") == "none"


@pytest.mark.parametrize(
    ("default", "value", "expected"),
    [
        (True, "maybe", "yes or no"),
        (True, 1, "yes or no"),
        (True, None, "yes or no"),
        (1, "x", "a whole number"),
        (1, 2.5, "a whole number"),
        (1, True, "a whole number"),
        (0.5, "fast", "a number"),
        (0.5, "nan", "a number"),
        ("clip", 3, "text"),
    ],
)
def test_a_wrong_value_is_named_with_the_expected_type(default: JSON, value: JSON, expected: str) -> None:
    with pytest.raises(InputError) as error:
        convert(default, value, "beam_size")
    assert str(error.value) == f"setting beam_size is {value!r}; expected {expected}"
