from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from helpers.samples import noisy_steps
from helpers.steps import make_steps
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import InputError, PostEdit, Reward, Step, Truth
from mtloop.core.types import Fields
from mtloop.metrics.effort import (
    HTER,
    KSMR,
    Interaction,
    StaticCompleter,
    WordPrediction,
    WordPredictionCounts,
    _pieces,
    crossover,
    predict_words,
    simulate,
)
from mtloop.metrics.quality import TER

TEXT = st.text("ab ", max_size=12)
SENTENCE = st.lists(st.sampled_from(["das", "der", "Haus", "Hof", "ist", "ein"]), max_size=7).map(" ".join)


def recorded(step: Step, interaction: Fields) -> Step:
    return replace(step, proposal=replace(step.proposal, memo={"interaction": dict(interaction)}))


@pytest.mark.parametrize(
    ("suggestions", "reference", "keystrokes", "mouse"),
    [
        ({"": "the house"}, "the house", 0, 1),  # only accepted
        ({"": "ahe", "t": "the"}, "the", 1, 1),  # the cursor is at the start of the text
        ({"": "tho", "the": "the"}, "the", 1, 2),
        ({"": "txx", "th": "thx", "the": "the"}, "the", 2, 2),  # the second error is right after the first
        ({"": "axbx", "ab": "abcx", "abcd": "abcd"}, "abcd", 2, 3),
        ({"": "the house"}, "the", 1, 2),  # cut off after "the"
        ({"": "th", "the": "the end"}, "the", 2, 2),  # typed, then cut off at the cursor
        ({"": "x"}, "", 1, 1),
        ({"": ""}, "", 0, 1),
        ({"": ""}, "ab", 2, 1),
    ],
)
def test_keystrokes_and_mouse_actions_by_hand(
    suggestions: dict[str, str], reference: str, keystrokes: int, mouse: int
) -> None:
    found = simulate(lambda prefix: suggestions.get(prefix, prefix), reference)
    assert found == Interaction(keystrokes, mouse, len(reference))


@pytest.mark.parametrize("complete", [lambda _: "", lambda _: "zzz", lambda prefix: prefix, lambda prefix: prefix[:-1]])
def test_a_system_that_is_no_help_costs_every_character(complete: Callable[[str], str]) -> None:
    assert simulate(complete, "abc") == Interaction(3, 1, 3)


@given(TEXT, st.dictionaries(TEXT, TEXT), st.booleans())
def test_every_simulation_ends_within_its_rounds(reference: str, answers: dict[str, str], keeps_prefix: bool) -> None:
    prefixes = []

    def complete(prefix: str) -> str:
        prefixes.append(prefix)
        return (prefix if keeps_prefix else "") + answers.get(prefix, "b")

    found = simulate(complete, reference)
    assert len(prefixes) <= len(reference) + 1
    assert all(reference.startswith(prefix) for prefix in prefixes)
    assert prefixes == sorted(set(prefixes), key=len)
    assert 1 <= found.mouse <= found.keystrokes + 1 <= len(reference) + 2


@pytest.mark.parametrize(
    ("prefix", "completed"),
    [
        ("", "die Wohnung ist gross"),
        ("d", "die Wohnung ist gross"),
        ("da", "da Wohnung ist gross"),
        ("das ", "das Wohnung ist gross"),
        ("das H", "das H ist gross"),
        ("das Haus i", "das Haus ist gross"),
        ("die i", "die ist gross"),
        ("die neue ", "die neue ist gross"),  # "neue" replaces a word
        ("die neue Woh", "die neue Wohnung ist gross"),
        ("gr", "gr Wohnung ist gross"),
        ("die Wohnung ist gross", "die Wohnung ist gross"),
        ("die Wohnung ist gross und", "die Wohnung ist gross und"),
    ],
)
def test_a_fixed_translation_continues_after_the_prefix(prefix: str, completed: str) -> None:
    assert StaticCompleter("die Wohnung ist gross")(prefix) == completed


@given(SENTENCE, SENTENCE, st.data())
def test_a_completion_begins_with_every_prefix_in_any_order(hypothesis: str, text: str, data: st.DataObject) -> None:
    complete = StaticCompleter(hypothesis)
    for end in data.draw(st.lists(st.integers(0, len(text)), max_size=5)):
        assert complete(text[:end]).startswith(text[:end])
        assert complete(text[:end]) == StaticCompleter(hypothesis)(text[:end])


@given(SENTENCE)
def test_a_perfect_translation_needs_only_acceptance(text: str) -> None:
    assert simulate(StaticCompleter(text), text) == Interaction(0, 1, len(text))
    assert predict_words(StaticCompleter(text), text) == WordPredictionCounts(len(text.split()), len(text.split()))


@given(SENTENCE, SENTENCE)
def test_completion_never_needs_more_keystrokes_than_typing(hypothesis: str, text: str) -> None:
    assert simulate(StaticCompleter(hypothesis), text).keystrokes <= len(text) + 1


def test_words_are_predicted_from_exactly_the_text_before_them() -> None:
    prefixes = []

    def complete(prefix: str) -> str:
        prefixes.append(prefix)
        return prefix + {"": "the cat", "the ": "dog", "the  dog ": "barks!"}.get(prefix, "")

    assert predict_words(complete, "the  dog barks") == WordPredictionCounts(1, 3)
    assert prefixes == ["", "the  ", "the  dog "]


def test_ksmr_of_a_fixed_translation() -> None:
    """Typed: a, s, H, a, u, s; moved: to "as" and to "Haus"; accepted: once. The rest is suggested."""
    score = KSMR().score(make_steps(["die Wohnung ist"], ["das Haus ist"]))
    assert (score.numerator, score.denominator, score.value) == (9, 12, 75)
    assert score.signature == "prefixes:static|unit:character|mouse:moves+1"


def test_recorded_interactions_replace_the_simulation() -> None:
    steps = noisy_steps(3)
    counts = Interaction(3, 2, 10).to_json() | WordPredictionCounts(1, 4).to_json()
    steps[1] = recorded(steps[1], counts)
    steps[2] = recorded(steps[2], {"keystrokes": 1, "mouse": 1})
    length = len(steps[2].references[0])
    np.testing.assert_array_equal(KSMR().rows(steps)[1:], [[5, 10, 1, 0], [2, length, 1, 0]])
    np.testing.assert_array_equal(WordPrediction().rows(steps)[1], [1, 4, 1, 0])
    assert KSMR().score(steps).signature.startswith("prefixes:mixed|")
    assert KSMR().score(steps[1:]).signature.startswith("prefixes:recorded|")
    assert WordPrediction().score(steps[1:]).signature.startswith("prefixes:mixed|")
    assert WordPrediction().score(steps[:1]).signature.startswith("prefixes:static|")


@given(st.integers(0, 1700), st.integers(0, 1700))
def test_a_long_text_is_split_without_losing_anything(hypothesis_words: int, target_words: int) -> None:
    hypothesis, target = " a" * hypothesis_words, "b " * target_words
    pieces = list(_pieces(hypothesis, target))
    assert ("".join(h for h, _ in pieces), "".join(r for _, r in pieces)) == (hypothesis, target)
    assert len(pieces) == max(1, -(-target_words // 200))


@pytest.mark.slow
def test_a_very_long_line_takes_seconds() -> None:
    rng = random.Random(1)
    texts = [" ".join(rng.choices("abcdefgh", k=10_000)) for _ in range(2)]
    started = time.process_time()
    KSMR().score(make_steps(texts[:1], texts[1:]))
    assert time.process_time() - started < 10


def test_a_recorded_interaction_needs_no_reference() -> None:
    (step,) = make_steps(["x"], ["y"])
    alone = Step(0, recorded(step, Interaction(3, 1, 8).to_json()).proposal)
    assert KSMR().score([alone]).value == 50


@pytest.mark.parametrize("wrong", [-1, 1.5, "3", None, True])
def test_a_recorded_interaction_contains_counts(wrong: object) -> None:
    (step,) = make_steps(["x"], ["y"])
    with pytest.raises(InputError, match=r"interaction of segment '1' contains .* expected a count"):
        KSMR().score([recorded(step, {"keystrokes": wrong, "mouse": 1})])  # type: ignore[dict-item]


def test_an_empty_reference_is_undefined() -> None:
    assert str(KSMR().score(make_steps([""], [""]))) == "0/0"
    assert str(WordPrediction().score(make_steps(["a"], [""]))) == "0/0"
    assert str(KSMR().score([])) == "0/0"


def test_hter_is_ter_against_the_post_edit() -> None:
    steps = [replace(step, truth=Truth(("something else altogether",))) for step in noisy_steps(60)]
    against_post_edits = [replace(step, truth=None) for step in steps]
    assert HTER().score(steps).value == TER().score(against_post_edits).value
    assert HTER().signature == f"refs:post-edit|{TER().signature}"


def test_a_step_without_post_edit_changes_nothing() -> None:
    edited, other = make_steps(["a b", "x"], ["a c", "y"])
    unedited = replace(other, feedback=Reward(0.1))
    assert HTER().score([edited, unedited]).value == 50
    assert math.isnan(HTER().score([unedited]).value)
    assert math.isnan(HTER().score([]).value)
    assert HTER().score([replace(edited, feedback=PostEdit(""))]).value == 100


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ([1, 2, 3], [2, 2, 2], 2),
        ([3, 3, 3], [2, 2, 2], 0),
        ([3, 1, 3, 3], [2, 2, 2, 2], 2),
        ([3, 3, 1], [2, 2, 2], None),
        ([2, 2], [2, 2], None),  # equal is not better
        ([math.nan, math.nan, 3], [1, 1, 1], 2),
        ([3, math.nan, 3], [2, 2, 2], 0),
        ([1, 3, math.nan], [2, 2, 2], 1),
        ([math.nan], [1], None),
        ([], [], None),
    ],
)
def test_the_crossover_lasts_to_the_end(ours: list[float], theirs: list[float], found: int | None) -> None:
    assert crossover(np.array(ours, float), np.array(theirs, float)) == found
    assert crossover(-np.array(ours, float), -np.array(theirs, float), higher_is_better=False) == found


def test_curves_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="2 and 3 points"):
        crossover(np.zeros(2), np.zeros(3))
