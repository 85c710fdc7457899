from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.text.reversible import detokenise, tokenise_reversibly


@given(st.text(st.characters(blacklist_characters="￭￬", blacklist_categories=["Cc", "Cs", "Cf"])))
def test_tokenisation_is_reversible(text: str) -> None:
    assert detokenise(tokenise_reversibly(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Save.", ["Save", "￭."]),
        ("%PRODUCTNAME", ["%￭", "PRODUCTNAME"]),
        ("dell'interfaccia", ["dell", "￭'￭", "interfaccia"]),
        ("a|||b", ["a", "￭|", "￭|", "￭|￭", "b"]),
        ("NULL", ["￬NULL"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenise_reversibly(text) == tokens
    assert not any(char.isspace() for token in tokens for char in token)
