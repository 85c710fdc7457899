from __future__ import annotations

from mtloop.smt.tokens import FirstWordTruecaser, SmtTokeniser
from mtloop.text.reversible import tokenise_reversibly


def test_the_first_word_is_truecased() -> None:
    truecaser = FirstWordTruecaser.of(
        [tokenise_reversibly("You can save with Excel"), tokenise_reversibly("Then save")]
    )
    tokeniser = SmtTokeniser(truecaser, truecaser)
    assert tokeniser.tokenise_source("Save as Excel") == ["save", "as", "Excel"]
    assert tokeniser.tokenise_source("Excel") == ["Excel"]
    assert tokeniser.detokenise(["save", "as"], "Save") == "Save as"
    assert tokeniser.detokenise(["save", "as"], "save") == "save as"
