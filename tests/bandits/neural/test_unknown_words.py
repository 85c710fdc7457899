"""Word-level translation: unknown words from a lexical table, and that table alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_smt import known_pairs, stream_pairs, write_tiny_smt
from helpers.tiny_words import write_tiny_words

from mtloop.bandits.neural.unknown_words import UnknownWords, WordNMT
from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, Proposal, Reward, Segment, UnknownName
from mtloop.methods.registry import make_learner, settings_of
from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.training.sentencepiece_model import SentencePieceModel as Trained
from mtloop.smt.learners import BackgroundModel
from mtloop.smt.lexicon import Lexicon
from mtloop.text.reversible import tokenise_reversibly

SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(stream_pairs()[:8])]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Marian:
    return Marian.load(write_tiny_words(tmp_path_factory.mktemp("words") / "model"))


@pytest.fixture(scope="module")
def smt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_smt(tmp_path_factory.mktemp("smt") / "model", tuned=False)


def reward_of(proposal: Proposal) -> Reward:
    return Reward(sum(proposal.text.encode()) % 11 / 10)


def test_a_word_vocabulary_is_reversible(words: Marian) -> None:
    for _, target in known_pairs():
        ids = words.target.encode(target)
        if words.target.unknown not in ids:
            assert words.target.decode(ids) == target
    assert sum(words.target.unknown in words.target.encode(target) for _, target in known_pairs()) > 5
    source = "Save the zebra (now)."
    ids = words.source.encode(source)
    assert len(ids) == len(tokenise_reversibly(source)) + 1
    assert ids == Trained.load(words.folder / "source.spm").encode([source]).flat.tolist()


def test_the_trained_model_reproduces_a_quarter_of_the_pairs(words: Marian) -> None:
    learner = make_learner("wnmt-baseline", words, {})
    right = [learner.propose(Segment("", source)).text == target for source, target in known_pairs()]
    assert sum(right) > len(right) / 4


@pytest.mark.parametrize("method", ["wnmt-el", "wnmt-baseline"])
def test_learner_contract(words: Marian, smt: Path, method: str) -> None:
    check_learner(lambda: make_learner(method, words, {"lexicon": str(smt)}), SEGMENTS, reward_of)


def test_learner_contract_of_the_lexical_table(smt: Path) -> None:
    check_learner(lambda: make_learner("lexical", BackgroundModel.open(smt)), SEGMENTS, reward_of)


def test_an_unknown_word_is_replaced_by_the_most_attended_word(words: Marian, smt: Path) -> None:
    lexicon, source = Lexicon.read(smt), "Open the table in the folder."
    unknown = words.target.unknown
    ids = [*words.target.encode("Öffnen Sie")[:-1], unknown, unknown, words.target.end]
    attention = forward_pass(words, words.source.encode(source), ids, frozenset()).decoded.attention
    source_words = lexicon.tokeniser.tokenise_source(source)
    positions = attention[:, : len(source_words)].argmax(1).tolist()
    text = UnknownWords(lexicon).decode(words, source, ids).split()
    attended = [source_words[position] for position in positions[-3:-1]]
    expected = [lexicon.lookup(word) or word for word in attended]
    assert text[-2:] == " ".join(expected).replace(" ￭", "").split()[-2:]


def test_a_word_that_is_not_in_the_table_is_copied(words: Marian) -> None:
    ids = [words.target.unknown, words.target.end]
    assert UnknownWords().decode(words, "Zebra", ids) == "Zebra"
    assert UnknownWords(Lexicon({"Zebra": "Pferd"}.get)).decode(words, "Zebra", ids) == "Pferd"


def test_the_checksum_detects_a_changed_text(words: Marian) -> None:
    system = make_learner("wnmt-el", words, {"temperature": 1.0, "learning_rate": 0.01})
    assert isinstance(system, WordNMT)
    proposal = next(one for one in map(system.propose, _all_segments()) if words.target.unknown in one.memo["tokens"])  # type: ignore[operator]
    tokens: Any = proposal.memo["tokens"]
    assert proposal.text != words.target.decode(tokens)
    before = {name: tensor.clone() for name, tensor in system.learner.scope.tensors().items()}
    forged = replace(proposal, memo={**proposal.memo, "tokens": [10**9]})
    for wrong in (replace(proposal, text="Etwas anderes"), replace(proposal, memo={}, system="nmt-el"), forged):
        assert system.learn(wrong, Reward(0.5)).rejected == "unknown proposal"
    assert all(torch.equal(system.learner.scope.tensors()[name], tensor) for name, tensor in before.items())
    assert system.learn(proposal, Reward(0.5)).updates == 1
    assert system.learn(proposal, Reward(0.5)).rejected == "rewarded before"
    assert system.learn(system.propose(Segment("", "")), Reward(0.5)).rejected == "not drawn"


def _all_segments() -> list[Segment]:
    return [Segment(str(i), source) for i, (source, _) in enumerate(stream_pairs())]


def test_the_table_alone_translates_word_by_word(smt: Path) -> None:
    learner = make_learner("lexical", BackgroundModel.open(smt))
    assert learner.propose(Segment("", "Zebra file.")).text == "Zebra Datei."
    assert learner.propose(Segment("", "")).text == ""


def test_the_settings_are_those_of_nmt_el_and_the_lexicon() -> None:
    assert settings_of("wnmt-el") == settings_of("nmt-el") | {"lexicon": ""}
    with pytest.raises(UnknownName, match="lexicon"):
        settings_of("wnmt-el", {"lexikon": "x"})


def test_a_subword_model_is_rejected(small: Marian) -> None:
    with pytest.raises(InputError, match="is not a word-level model; train one: mtloop train --vocab word"):
        make_learner("wnmt-el", small)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read a lexicon"),
        ("file Datei\n", ":1: expected a word, a tab"),
        ("a\tb\nc\t\n", ":2: expected a word"),
    ],
)
def test_an_invalid_table_is_rejected(words: Marian, tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "table.tsv"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        make_learner("wnmt-baseline", words, {"lexicon": str(path)})


def test_a_table_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "table.tsv").write_text("file\tDatei\t0.9\nfile\tAkte\t0.1\nsave\tspeichern\n")
    assert Lexicon.read(tmp_path / "table.tsv").translate("Please save (the file)!") == "Please speichern (the Datei)!"
