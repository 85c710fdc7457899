from __future__ import annotations

from pathlib import Path

from helpers.tiny_smt import known_pairs

from mtloop.smt.engine import Thot
from mtloop.smt.phrases import PHRASE_TABLE_FILE, PhraseTable


def test_a_phrase_table_does_not_depend_on_the_number_of_updates(engine: Thot, tmp_path: Path) -> None:
    pairs = [
        (engine.tokeniser.tokenise_source(source), engine.tokeniser.tokenise_target(target))
        for source, target in known_pairs()[:20]
    ]
    whole, parts = PhraseTable(engine.align, 6), PhraseTable(engine.align, 6)
    whole.write(pairs, tmp_path)
    reference = (tmp_path / PHRASE_TABLE_FILE).read_text(encoding="utf-8")
    for count in (7, 7, 20):
        parts.write(pairs[:count], tmp_path)
    assert (tmp_path / PHRASE_TABLE_FILE).read_text(encoding="utf-8") == reference
    assert "￭. ||| ￭. ||| 20 20\n" in reference
    assert max(len(line.split(" ||| ")[0].split()) for line in reference.splitlines()) == 6
