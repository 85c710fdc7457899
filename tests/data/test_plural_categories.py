"""The plural categories of languages."""

from __future__ import annotations

import pytest
from babel import Locale, UnknownLocaleError

from mtloop.data.plural_categories import _BY_LANGUAGE, CATEGORIES, plural_categories

ROUND_MILLIONS = {"ca", "es", "fr", "ht", "it", "lld", "pt", "scn", "vec"}


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("de", "one other"),
        ("en-GB", "one other"),
        ("it", "one other"),
        ("pl", "one few many other"),
        ("ja", "other"),
        ("ar-EG", "zero one two few many other"),
        ("iw", "one two other"),
        ("xx", ""),
        ("", ""),
    ],
)
def test_known_languages(tag: str, expected: str) -> None:
    assert plural_categories(tag) == tuple(expected.split())


def test_the_table_is_that_of_cldr_as_babel_has_it() -> None:
    """Babel's data is made from CLDR. In some languages "many" is for round millions only, and left out here."""
    compared = 0
    for language, categories in _BY_LANGUAGE.items():
        try:
            tags = Locale.parse(language).plural_form.tags | {"other"}
        except UnknownLocaleError:
            continue
        tags -= {"many"} if language in ROUND_MILLIONS else set()
        assert [one for one in CATEGORIES if one in tags] == list(categories), language
        compared += 1
    assert compared > 180
