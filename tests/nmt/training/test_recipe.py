from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.core.errors import InputError, UnknownName
from mtloop.nmt.training import Recipe
from mtloop.nmt.training.recipe import check_unchanged


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "either --steps or --minutes"),
        ({"steps": 1, "minutes": 1.0}, "either --steps or --minutes"),
        ({"steps": 0}, "steps is 0; expected more than 0"),
        ({"steps": 1, "dropout": 1.0}, "dropout is 1.0"),
        ({"steps": 1, "heads": 7}, "width 256 is not a multiple of the number of heads, 7"),
        ({"steps": 1, "vocab": "bep"}, "there is no vocabulary 'bep'; did you mean 'bpe'"),
        ({"steps": 1, "width": "3"}, "width is '3'; expected a whole number"),
        ({"steps": 1, "compile": 1}, "compile is 1; expected true or false"),
        ({"steps": 1, "wdith": 3}, "the recipe has no setting 'wdith'; did you mean 'width'"),
    ],
)
def test_errors_in_a_recipe(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Recipe.of(values)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="inverse-sqrt"):
        Recipe(steps=1, lr_schedule="linear")


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"average": 0.999}, "average is a field of an older mtloop; train into another folder"),
        ({"width": 128}, "width was 128 in this training run and is 256 now"),
    ],
)
def test_a_run_resumes_only_with_its_own_recipe(saved: dict[str, object], message: str) -> None:
    now = Recipe(steps=1).identity()
    with pytest.raises(InputError, match=message):
        check_unchanged(now | saved, now, Path("model"))
    check_unchanged(now, now, Path("model"))
