from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Ge, Lt

from mtloop.core.errors import InputError
from mtloop.text.settings_files import check_settings, make_settings, read_settings, read_toml


@dataclass(frozen=True)
class Example:
    name: str
    kind: Literal["mock", "dev"] = "dev"
    count: int | None = None
    rate: float = 1.0
    share: Annotated[float, Ge(0), Lt(1)] = 0.5
    strict: bool = False
    file: Path | None = None
    steps: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None
    noise: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name == "wrong":
            raise InputError("the name is wrong")


FULL = """
name = "a"
kind = "mock"
count = 3
rate = 2
strict = true
file = "data/b.txt"
steps = ["x", "y"]
noise = { skew = 2, variance = 0.5 }
"""

MISTAKES = {
    "count = 'three'": "count is 'three'; expected a whole number",
    "count = 3.0": "count is 3.0; expected a whole number",
    "count = true": "count is True; expected a whole number",
    "count = 2024-05-01": "count is '2024-05-01'; expected a whole number",
    "rate = '2'": "rate is '2'; expected a number",
    "share = -0.5": "share is -0.5; expected 0 or more",
    "share = 1": "share is 1; expected less than 1",
    "strict = 'yes'": "strict is 'yes'; expected true or false",
    "strict = 1": "strict is 1; expected true or false",
    "name = 3": "name is 3; expected text",
    "file = 3": "file is 3; expected text",
    "steps = 'x'": "steps is 'x'; expected a list",
    "steps = ['x', 2]": "item 2 of steps is 2; expected text",
    "noise = 1": "noise is 1; expected a table",
    "noise = { skew = 'much' }": "skew of noise is 'much'; expected a number",
    "kind = 'exam'": "kind is 'exam'; expected 'mock' or 'dev'",
    "cuont = 3": "there is no setting 'cuont'; did you mean 'count'? known: count, file, kind, name, noise, pair",
    "colour = 3": "there is no setting 'colour'; known: count,",
    "colour = 3\nrate = '2'": "rate is '2'; expected a number; also: there is no setting 'colour'; known: count,",
    "name = 'wrong'": "the name is wrong",
}


def written(folder: Path, text: str) -> Path:
    (folder / "some.toml").write_text(text, encoding="utf-8")
    return folder / "some.toml"


def test_a_file_becomes_a_dataclass(tmp_path: Path) -> None:
    noise = {"skew": 2.0, "variance": 0.5}
    expected = Example("a", "mock", 3, rate=2.0, strict=True, file=Path("data/b.txt"), steps=("x", "y"), noise=noise)
    assert read_settings(written(tmp_path, FULL), Example) == expected


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_names_the_file_the_setting_and_what_is_expected(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text if "name =" in text else f'name = "a"\n{text}')
    with pytest.raises(InputError) as caught:
        read_settings(path, Example)
    assert str(caught.value).startswith(f"{path}: {MISTAKES[text]}")
    assert "\n" not in str(caught.value)


def test_a_list_of_another_length(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pair is \['a'\]; expected more values$"):
        make_settings(Example, {"name": "a", "pair": ["a"]})
    with pytest.raises(InputError, match=r"pair is \['a', 'b', 'c'\]; expected at most 2 values$"):
        make_settings(Example, {"name": "a", "pair": ["a", "b", "c"]})


def test_a_required_setting_may_be_missing_in_a_part_only(tmp_path: Path) -> None:
    assert check_settings(Example, {"count": 1}) == {"count": 1}
    with pytest.raises(InputError, match=r"some\.toml: the setting 'name' is missing$"):
        read_settings(written(tmp_path, "count = 1"), Example)


def test_settings_that_are_not_fields() -> None:
    types = {"beam_size": int, "noise": dict[str, Any]}
    assert check_settings(Example, {"beam_size": 2, "noise": {"a": [1]}}, types=types) == {
        "beam_size": 2,
        "noise": {"a": [1]},
    }
    with pytest.raises(InputError, match=r"^beam_size is 'x'; expected a whole number$"):
        check_settings(Example, {"beam_size": "x"}, types=types)
    with pytest.raises(InputError, match=r"^the recipe has no setting 'bean_size'; did you mean 'beam_size'\?"):
        check_settings(Example, {"bean_size": 2}, types=types, owner="the recipe")


def test_a_long_value_is_shortened() -> None:
    with pytest.raises(InputError) as caught:
        check_settings(Example, {"count": "x" * 5_000})
    assert len(str(caught.value)) < 150


def test_a_file_that_cannot_be_read_gives_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such file$"):
        read_toml(tmp_path / "none.toml")
    with pytest.raises(InputError, match=f"^{tmp_path}: cannot be read: Is a directory$"):
        read_toml(tmp_path)
    with pytest.raises(InputError, match=r"some\.toml: not a TOML file: "):
        read_toml(written(tmp_path, "name = "))


def test_a_number_of_numpy_is_a_number() -> None:
    assert make_settings(Example, {"name": "a", "count": np.int64(3), "rate": np.float64(0.5)}).count == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a = " + "[" * 5000, "more than 100 objects and lists inside each other"),
        ("a = " + "{a = " * 5000, "more than 100 objects and lists inside each other"),
        ("a" + ".a" * 200 + " = 1", "more than 100 objects and lists inside each other"),
        ("[a" + " . a" * 200 + "]", "more than 100 objects and lists inside each other"),
        ("a" + ".a" * 100_000, "more than 300 dots in a line"),
    ],
    ids=["lists", "tables", "a dotted key", "a table", "a long key"],
)
def test_deeply_nested_settings_are_refused(content: str, message: str, write) -> None:
    with pytest.raises(InputError, match=rf"a\.toml: not a TOML file: {message}"):
        read_toml(write("a.toml", content))


def test_a_file_that_is_too_large_for_settings_is_not_parsed(write) -> None:
    with pytest.raises(InputError, match="larger than 256 KB; expected a file of settings"):
        read_toml(write("a.toml", "#" * (1 << 19)))
