"""Every learner of the 2017 paper on one mock task, in one table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from helpers.command_result import CommandResult
from helpers.tiny_marian import write_tiny
from helpers.tiny_smt import known_pairs, stream_pairs, write_stream, write_tiny_smt
from helpers.tiny_words import write_tiny_words

from mtloop.core import Trace
from mtloop.methods.oracles import INFORMED_METHODS
from mtloop.methods.registry import BANDIT_METHODS
from mtloop.methods.word_level import WORD_METHODS

Mtloop = Callable[..., CommandResult]
EVERYONE = ["copy-source", "baseline", "smt-baseline", *BANDIT_METHODS, *WORD_METHODS, *INFORMED_METHODS]


def test_all_learners_in_one_table(mtloop: Mtloop, tmp_path: Path) -> None:
    (tmp_path / "nmt").mkdir()
    write_tiny(tmp_path / "nmt")
    models = ("--model", tmp_path / "nmt", "--smt-model", write_tiny_smt(tmp_path / "smt", tuned=False))
    models += ("--word-model", write_tiny_words(tmp_path / "words", steps=20))
    task = write_stream(tmp_path / "task.tsv", stream_pairs()[:5])
    general = write_stream(tmp_path / "general.tsv", known_pairs())
    adaptation = ("--set", f"general_data={general}", "--set", "selection_interval=2", "--set", "selected_pairs=2")
    settings = (*adaptation, "--set", "nbest_size=5")
    out = tmp_path / "out"
    shown = ("--held-out", 1, "--blocks", 2, "--oracle", "smt-oracle", "--jobs", 1, "--out", out)
    result = mtloop("bandit", "--task", task, "--methods", ",".join(EVERYONE), *models, *settings, *shown)
    assert result.code == 0, result.err
    rows = {line.split()[0]: line for line in result.out.splitlines() if line.split()}
    assert set(EVERYONE) <= rows.keys()
    for method in EVERYONE:
        assert len(Trace.read(out / f"{method}.jsonl").steps) == 4 + 2, method
    header = Trace.read(out / "wnmt-el.jsonl").header.config
    assert header["settings"]["lexicon"] == str(tmp_path / "smt")  # type: ignore[index, call-overload]
    assert header["model"] == str(tmp_path / "words")
