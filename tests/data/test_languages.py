"""Language tags: spelling, closeness, and the comparison with the languages of a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core.errors import InputError
from mtloop.data import Corpus
from mtloop.data.languages import (
    EQUAL,
    OTHER,
    LanguageChoice,
    check_languages,
    closeness,
    closest_pair,
    common_tag,
    is_tag,
    normalise_tag,
)
from mtloop.text.language_codes import language_of

tags = st.from_regex(r"\A[a-z]{2,3}([-_][A-Za-z]{2,4}){0,2}\Z")


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        ("en", "EN", 4),
        ("eng", "en", 4),
        ("nb", "no", 4),
        ("zh-CN", "zh_cn", 4),
        ("en", "en-US", 3),
        ("zh-CN", "zh-Hans-CN", 4),
        ("zh-CN", "zh-Hans", 2),
        ("zh-Hant", "zh-HK", 3),
        ("zh-TW", "zh-Hans", 1),
        ("deu", "de-AT", 3),
        ("en-US", "en", 2),
        ("en-US", "en-GB", 1),
        ("pt-BR", "pt-PT", 1),
        ("de", "den", 0),
        ("de", "", 0),
        ("", "", 0),
    ],
)
def test_closeness(wanted: str, found: str, expected: int) -> None:
    assert closeness(wanted, found) == expected


@given(tags)
def test_spelling_does_not_change_the_language(tag: str) -> None:
    assert normalise_tag(normalise_tag(tag)) == normalise_tag(tag)
    assert closeness(tag, normalise_tag(tag)) == closeness(tag.upper(), tag) == EQUAL
    assert is_tag(tag)
    assert closeness(language_of(tag), tag) > OTHER


@given(tags, tags)
def test_closeness_is_positive_for_varieties_of_one_language(one: str, other: str) -> None:
    same = language_of(one) == language_of(other)
    assert (closeness(one, other) > OTHER) == (closeness(other, one) > OTHER) == same
    assert LanguageChoice(one, any_variety=True).matches(other) == same


@given(st.lists(st.tuples(tags, st.integers())), tags, tags)
def test_closest_pair_has_two_different_texts(texts: list[tuple[str, int]], source: str, target: str) -> None:
    choices = LanguageChoice(source), LanguageChoice(target)
    pair = closest_pair(*choices, texts)
    if pair is not None:
        assert pair[0][0] != pair[1][0]
        assert all(choice.matches(tag) for choice, (tag, _) in zip(choices, pair, strict=True))


@given(st.lists(tags, min_size=1))
def test_common_tag(found: list[str]) -> None:
    one_language = len(set(map(language_of, found))) == 1
    assert language_of(common_tag(found)) == (language_of(found[0]) if one_language else "")


@pytest.mark.parametrize("text", ["German", "", "e", "en US", "*all*"])
def test_not_a_tag(text: str) -> None:
    assert not is_tag(text)


def corpus(source: str, target: str) -> Corpus:
    return Corpus((), path=Path("manual.tmx"), source_lang=source, target_lang=target)


@pytest.mark.parametrize(
    ("texts", "model"),
    [
        (("en-US", "de-AT"), ("en", "de")),
        (("en", "deu"), ("eng", "de")),
        (("", ""), ("en", "de")),
        (("", "de"), ("en", "")),
        (("en", "it"), ("en", "ROMANCE")),
        (("en", "swe"), ("mul", "gmq")),
        (("en", "kat"), ("en", "ka")),
    ],
)
def test_languages_that_a_model_may_translate(texts: tuple[str, str], model: tuple[str, str]) -> None:
    check_languages(corpus(*texts), *model)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("en", "it"), "en -> it"),
        (("de", "en"), "de -> en"),
        (("", "fr-CA"), "unknown -> fr-CA"),
        (("en", "udm"), "en -> udm"),
    ],
)
def test_other_languages_than_the_model_s(texts: tuple[str, str], found: str) -> None:
    message = f"^manual.tmx: the texts are {found}, but the model translates en -> de; give another --model, or other"
    with pytest.raises(InputError, match=message):
        check_languages(corpus(*texts), "en", "de")
