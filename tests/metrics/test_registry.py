"""Metrics by name."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from helpers.collateral_samples import BASELINE, LEARNER
from helpers.steps import make_steps

from mtloop.core import InputError, UnknownName
from mtloop.metrics.curves import block_ends
from mtloop.metrics.registry import COLLATERAL, MetricOptions, make_metric


def test_every_name_of_the_error_message_can_be_used() -> None:
    options = MetricOptions(language="de", baseline=[])
    with pytest.raises(UnknownName) as error:
        make_metric("blue", options)
    names = re.sub(r".*known: (.*?);.*", r"\1", str(error.value)).split(", ")
    assert {"bleu", "r2", "r3", "slope-ca", "slope-u-bleu"} <= set(names)
    for name in set(names) - {"oov", "regret", "terms"}:  # these need a file
        assert make_metric(name, options).name


def test_an_unknown_metric_is_told_how_to_give_learned_scores() -> None:
    with pytest.raises(UnknownName, match="--scores or --scorer"):
        make_metric("comet", MetricOptions())


@pytest.mark.parametrize("name", ["bleu", "sbleu", "wmt17", "reward"])
def test_the_tokeniser_of_the_language_is_named_in_the_signature(name: str) -> None:
    assert "tok:zh|" in make_metric(name, MetricOptions(language="zh-TW")).signature
    assert "tok:13a" in make_metric(name, MetricOptions(language="zh", tokenize="13a")).signature
    assert "tok:13a" in make_metric(name, MetricOptions(language="de-AT")).signature


@pytest.mark.parametrize("name", ["r0", "r1", "r01", "rer", "slope-ca-r1"])
@pytest.mark.parametrize("options", [{"language": "ja"}, {"language": "th"}, {"tokenize": "zh"}])
def test_recall_of_a_language_without_spaces_needs_subwords(name: str, options: dict[str, str]) -> None:
    with pytest.raises(InputError, match="--spm"):
        make_metric(name, MetricOptions(**options))


def test_korean_has_spaces_so_its_words_can_be_recalled() -> None:
    assert "tok:moses-ko" in make_metric("r1", MetricOptions(language="ko")).signature


@pytest.mark.parametrize("name", ["ksmr", "wpa"])
def test_effort_is_not_simulated_without_spaces(name: str) -> None:
    steps = make_steps(["ファイルを保存"], ["ファイルを保存する"])
    with pytest.raises(InputError, match=f"leave out {name}, or record the interactions"):
        make_metric(name, MetricOptions(language="ja")).score(steps)
    memo = {"interaction": {"keystrokes": 2, "mouse": 1, "words_right": 3, "words": 4}}
    recorded = [replace(step, proposal=replace(step.proposal, memo=memo)) for step in steps]
    assert make_metric(name, MetricOptions(language="ja")).score(recorded).defined


def test_words_of_a_source_without_spaces_are_counted_by_its_tokeniser() -> None:
    steps = make_steps(["a"] * 4, ["a"] * 4, ["ファイルを保存してください。"] * 4)
    options = MetricOptions(source_language="ja", block_words=14)
    assert block_ends(steps, 14, options.block_counting).tolist() == [2, 4]  # seven words each
    assert block_ends(steps, 14).tolist() == [4]
    assert "block:14w[source:ja-mecab-" in make_metric("slope-ca", options).signature
    assert "tok:ja-mecab-" in make_metric("rr", options).signature
    assert "block:14w|" in make_metric("slope-ca", MetricOptions(block_words=14)).signature


@pytest.mark.parametrize("name", COLLATERAL)
def test_collateral_needs_a_baseline(name: str) -> None:
    with pytest.raises(InputError, match=f"^metric {name} needs --baseline FILE, the output of a system that does not"):
        make_metric(name, MetricOptions())
    with pytest.raises(InputError, match=f"^a slope is fitted to errors; {name} compares with a baseline"):
        make_metric(f"slope-ca-{name}", MetricOptions())


def test_a_baseline_is_added_to_options() -> None:
    options = MetricOptions()
    bleu = make_metric("bleu", options)
    for baseline, expected in ((BASELINE, 50.0), (LEARNER, 0.0)):
        options = options.with_baseline(baseline)
        assert make_metric("flips", options).score(LEARNER).value == expected
        assert make_metric("bleu", options) is bleu


def test_the_words_of_collateral_are_those_of_the_languages() -> None:
    options = MetricOptions("ja", "zh", baseline=[])
    signature = make_metric("near-worse", options).signature
    assert signature.startswith("changed:1-2w[source:zh]|by:15|")
    assert "tok:ja-mecab" in signature
