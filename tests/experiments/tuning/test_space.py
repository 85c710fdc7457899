"""The search space: parsing, types and the values for Optuna."""

from __future__ import annotations

import math

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from mtloop.core import InputError
from mtloop.experiments.tuning.space import Categorical, Range, make_space
from mtloop.methods.registry import find_method

FULL = find_method("full")


def test_values_of_a_space_have_the_types_of_the_settings() -> None:
    options = ["learning_rate=1e-3:2e-2:log", "target_perplexity=1.5,2", "max_updates=1:5"]
    space = make_space([*options, "gradient_clipping=clip,scale"], FULL)
    assert space.dimensions == {
        "learning_rate": Range(1e-3, 2e-2, log=True),
        "target_perplexity": Categorical((1.5, 2.0)),
        "max_updates": Range(1, 5, whole=True),
        "gradient_clipping": Categorical(("clip", "scale")),
    }
    assert list(space.dimensions) == sorted(space.dimensions)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learning_rat=1:2", "did you mean 'learning_rate'?"),
        ("learning_rate", "--space expects"),
        ("learning_rate=", "--space expects"),
        ("learning_rate=2:1", "expected LOW < HIGH"),
        ("learning_rate=0:1:log", "both above 0"),
        ("learning_rate=1:2:lin", "expected LOW:HIGH or LOW:HIGH:log"),
        ("learning_rate=a:b", "expected two numbers"),
        ("max_updates=1.5:2", "two whole numbers"),
        ("gradient_clipping=1:2", "is not a number"),
        ("learning_rate=a,b", "expected a number"),
        ("target_perplexity=1,2", "given twice"),
    ],
)
def test_a_wrong_space_raises_a_clear_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_space([text], FULL, {"target_perplexity": 2.0})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((1e-3, 2e-2, "lin"), "expected LOW:HIGH or LOW:HIGH:log"),
        ((1e-3,), "expected LOW:HIGH"),
        ((1.5, 2.0, 3.0), "expected LOW:HIGH"),
        ((1e-3, "much"), "expected two numbers"),
        ((1e-3, None), "expected two numbers"),
        ([], "expected a list of values"),
        ("0.1", "expected a list of values"),
        ([[0.1]], "expected a list of values"),
        ([0.1, "much"], "expected a number"),
    ],
)
def test_a_wrong_space_in_python_raises_a_clear_error(values: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_space({"learning_rate": values}, FULL)  # type: ignore[dict-item]


def test_an_empty_space_is_refused() -> None:
    for empty in ([], {}):
        with pytest.raises(InputError, match="nothing to search over"):
            make_space(empty, FULL)


def test_python_and_the_command_line_give_the_same_space() -> None:
    texts = ["learning_rate=1e-3:2e-2:log", "max_updates=1:5", "gradient_clipping=clip,scale"]
    given = {"gradient_clipping": ["clip", "scale"], "max_updates": (1, 5), "learning_rate": (0.001, 0.02, "log")}
    assert make_space(texts, FULL) == make_space(given, FULL)  # type: ignore[arg-type]
    assert make_space(texts, FULL).to_json() == {
        "gradient_clipping": ["clip", "scale"],
        "learning_rate": "0.001:0.02:log",
        "max_updates": "1:5",
    }


def test_the_distributions_of_optuna() -> None:
    texts = [
        "learning_rate=1e-3:2e-2:log",
        "target_perplexity=1.5:3",
        "max_updates=1:5",
        "gradient_clipping=clip,scale",
    ]
    assert make_space(texts, FULL).distributions == {
        "gradient_clipping": CategoricalDistribution(("clip", "scale")),
        "learning_rate": FloatDistribution(1e-3, 2e-2, log=True),
        "max_updates": IntDistribution(1, 5),
        "target_perplexity": FloatDistribution(1.5, 3),
    }


def test_the_size_of_a_space() -> None:
    assert make_space(["max_updates=1:5", "gradient_clipping=clip,scale"], FULL).size == 10
    assert len(list(make_space(["max_updates=1:5", "gradient_clipping=clip,scale"], FULL).combinations())) == 10
    assert make_space(["max_updates=1:5", "learning_rate=1:2"], FULL).size == math.inf


@pytest.mark.parametrize("low_high", [(1e-3, 2e-2), (-5.0, 5.0), (0.999, 0.9999), (0.12345, 0.12346), (1e6, 2e6)])
def test_rounding_keeps_a_range_fine_and_inside_its_ends(low_high: tuple[float, float]) -> None:
    low, high = low_high
    drawn = [low + (high - low) * i / 99 for i in range(100)]
    rounded = [float(Range(low, high).setting(value)) for value in drawn]  # type: ignore[arg-type]
    assert len(set(rounded)) > 90
    assert all(low <= value <= high for value in rounded)
