"""`mtloop.score`."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path

import pytest
import sacrebleu
from helpers.collateral_samples import BASE_OUTPUTS, OUTPUTS, SOURCES
from helpers.collateral_samples import REFERENCES as TARGETS
from helpers.many_scripts import REFERENCES, TRANSLATIONS
from helpers.samples import noisy_steps

import mtloop
from mtloop.core import InputError, UnknownName
from mtloop.core.errors import MissingExtra
from mtloop.text.tokenisers import load_tokeniser

REFS = ["The dog bites the lady", "The man bites the dog"]
HYPS = ["A terrier bites the person", "The dog bites the man"]


def test_scores_equal_those_of_sacrebleu() -> None:
    scores = mtloop.score(REFS, HYPS, metrics=["bleu", "ter"], lang="en")
    assert scores["bleu"].value == sacrebleu.corpus_bleu(HYPS, [REFS]).score
    assert scores["TER"].value == sacrebleu.corpus_ter(HYPS, [REFS]).score
    assert "tok:13a" in scores["bleu"].signature
    assert list(scores) == ["bleu", "ter"]
    assert ("bleu" in scores, "chrf" in scores, len(scores)) == (True, False, 2)
    assert dict(scores)["ter"] == scores["ter"]


def test_the_default_metrics_follow_the_language() -> None:
    assert list(mtloop.score(REFS, HYPS)) == ["bleu", "chrf", "ter", "sbleu"]
    assert list(mtloop.score(REFS, HYPS, lang="en")) == ["bleu", "chrf", "ter", "sbleu", "r0", "r1", "r01"]
    assert list(mtloop.score(REFS, HYPS, lang="ja")) == ["bleu", "chrf", "ter", "sbleu"]


def test_metrics_as_on_the_command_line() -> None:
    assert list(mtloop.score(REFS, HYPS, metrics="TER, r1", lang="en")) == ["ter", "r1"]


def test_several_references_are_one_list_each_as_in_sacrebleu() -> None:
    scores = mtloop.score([REFS, HYPS], HYPS, metrics=["bleu"])
    assert scores["bleu"].value == sacrebleu.corpus_bleu(HYPS, [REFS, HYPS]).score
    assert "nrefs:2" in scores["bleu"].signature


def test_files_and_lists_give_the_same_scores(tmp_path: Path) -> None:
    ref, hyp = tmp_path / "ref.txt", tmp_path / "mine.txt"
    ref.write_text("\n".join(REFS) + "\n")
    hyp.write_text("\n".join(HYPS) + "\n")
    expected = mtloop.score(REFS, HYPS, metrics=["bleu"])["bleu"]
    assert mtloop.score(str(ref), hyp, metrics=["bleu"])["bleu"] == expected
    assert mtloop.score([ref, ref], {"mine": str(hyp)}, metrics=["bleu"]).systems == ["mine"]
    assert mtloop.score(ref, hyp, metrics=["bleu"]).systems == ["mine"]


def test_systems_and_significance() -> None:
    refs = [step.references[0] for step in noisy_steps(80)]
    noisy = [step.proposal.text for step in noisy_steps(80)]
    scores = mtloop.score(
        refs, {"base": noisy, "perfect": refs}, metrics=["ter", "bleu"], baseline="base", resamples=100
    )
    assert scores["perfect", "ter"].value == 0
    assert "0.00**" in str(scores)
    assert "against base" in str(scores)
    frame = scores.to_pandas()
    assert list(frame["system"]) == ["base", "perfect"]
    assert frame["ter"][1] == 0
    with pytest.raises(InputError, match=r"several systems were scored \(base, perfect\); name one, as in \['base'"):
        scores["ter"]


def test_a_result_prints_as_a_short_table_and_shows_as_html() -> None:
    scores = mtloop.score(REFS * 1000, HYPS * 1000, metrics=["ter", "chrf"])
    assert repr(scores) == str(scores)
    assert len(repr(scores)) < 500
    assert "chrF: nrefs:1|" in repr(scores)
    assert "<table>" in scores._repr_html_()
    assert repr(scores.evaluation) == "<Evaluation of system: 2000 segments, metrics ter, chrf>"


def test_a_report_can_be_written(tmp_path: Path) -> None:
    scores = mtloop.score(REFS, HYPS, metrics=["ter"], scores={"comet": [0.25, 0.5]})
    out = scores.report(tmp_path / "r.html", title="Mein Titel")
    page = out.read_text(encoding="utf-8")
    assert "Mein Titel" in page
    assert "COMET" in page
    assert "0.3750" in page


@pytest.mark.parametrize("language", ["ja", "zh", "th"])
def test_text_without_spaces(language: str, caplog: pytest.LogCaptureFixture) -> None:
    refs, hyps = REFERENCES[language], TRANSLATIONS[language]
    with caplog.at_level(logging.WARNING, "mtloop"):
        good = mtloop.score(refs, hyps, metrics=["bleu", "ter", "wmt17"], lang=language)
    assert not caplog.records
    with caplog.at_level(logging.WARNING, "mtloop"):
        bad = mtloop.score(refs, hyps, metrics=["bleu", "ter", "wmt17"])
    assert [record.getMessage() for record in caplog.records] == [
        "the references have text without spaces between words, so these scores mean little: bleu, ter, wmt17; "
        "give the language, such as --target-lang ja"
    ]
    assert list(bad.evaluation.warnings) == [caplog.records[0].getMessage()]
    assert not good.evaluation.warnings
    assert (good["bleu"].value > 50, bad["bleu"].value) == (True, 0)
    assert (good["ter"].value < 30, bad["ter"].value) == (True, 100)


def test_no_warning_where_no_words_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    mtloop.score(REFERENCES["ja"], TRANSLATIONS["ja"], metrics=["chrf"], scores={"comet": [0.5] * 4})
    assert not caplog.records


MENU = ["ファイル", "編集", "表示", "保存", "開く", "閉じる", "印刷"]
NAMES = ["Microsoft Teams の会議に参加します。", "Google Chrome で https://example.com にアクセスします。"]
GIVE_LANGUAGE = "give the language, such as --target-lang ja"


@pytest.mark.parametrize("texts", [MENU, NAMES])
def test_everyday_texts_without_spaces_are_recognised(texts: list[str], caplog: pytest.LogCaptureFixture) -> None:
    mtloop.score(texts, texts, metrics=["bleu", "chrf"])
    assert len(caplog.records) == 1
    caplog.clear()
    mtloop.score(texts, texts, metrics=["bleu", "chrf"], lang="ja")
    mtloop.score(REFERENCES["ko"], TRANSLATIONS["ko"], metrics=["bleu", "ter"])
    assert not caplog.records


@pytest.mark.parametrize(
    ("options", "named", "advice"),
    [
        ({"lang": "ja", "tokenize": "13a"}, "bleu", "leave out --tokenize 13a"),
        ({"lang": "de"}, "bleu, ter", "check --target-lang de"),
        ({"tokenize": "intl"}, "bleu, ter", f"{GIVE_LANGUAGE}, and leave out --tokenize intl"),
        ({"tokenize": "ko-mecab"}, "ter", GIVE_LANGUAGE),
    ],
)
def test_the_advice_helps_the_metrics_that_are_named(
    options: dict, named: str, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    mtloop.score(REFERENCES["ja"], TRANSLATIONS["ja"], metrics=["bleu", "chrf", "ter"], **options)
    [record] = caplog.records
    assert record.getMessage().endswith(f"these scores mean little: {named}; {advice}")


def test_a_report_shows_the_warning(tmp_path: Path) -> None:
    scores = mtloop.score(REFERENCES["ja"], TRANSLATIONS["ja"], metrics=["bleu"])
    page = scores.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Note: the references have text without spaces between words" in page


@pytest.mark.parametrize("metrics", [["ter", "chrf"], ["r0"], ["hter", "rer"]])
def test_korean_needs_mecab_only_for_bleu(metrics: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    load_tokeniser.cache_clear()
    monkeypatch.setitem(sys.modules, "mecab_ko", None)
    assert list(mtloop.score(REFERENCES["ko"], TRANSLATIONS["ko"], metrics=metrics, lang="ko")) == metrics
    with pytest.raises(MissingExtra, match="mecab_ko is not installed"):
        mtloop.score(REFERENCES["ko"], TRANSLATIONS["ko"], metrics=["bleu"], lang="ko")


@pytest.mark.parametrize("language", ["is", "sr", "mk"])
def test_a_language_without_a_stop_list(language: str, caplog: pytest.LogCaptureFixture) -> None:
    scores = mtloop.score(REFS, HYPS, lang=language)
    assert list(scores) == ["bleu", "chrf", "ter", "sbleu"]
    assert [record.getMessage() for record in caplog.records] == [
        f"r0, r1, r01 are left out: there is no stop list for language '{language}'; give one with --stopwords FILE"
    ]
    with pytest.raises(InputError, match=f"no stop list for language '{language}'"):
        mtloop.score(REFS, HYPS, lang=language, metrics="r0")


def test_a_given_stop_list_is_enough(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "stop.txt").write_text("the\n")
    assert "r01" in mtloop.score(REFS, HYPS, lang="is", stopwords=tmp_path / "stop.txt")
    assert not caplog.records


@pytest.mark.parametrize(("language", "same"), [("deu", "de"), ("eng_Latn", "en"), ("nb", "no")])
def test_other_codes_of_a_language(language: str, same: str) -> None:
    one, other = (mtloop.score(REFS, HYPS, metrics="r0,r1", lang=tag) for tag in (language, same))
    assert (one["r0"], one["r1"]) == (other["r0"], other["r1"])


def test_recall_says_that_it_uses_the_first_of_several_references() -> None:
    one = mtloop.score(REFS, HYPS, metrics="r0,rer", lang="en")
    two = mtloop.score([REFS, HYPS], HYPS, metrics="r0,rer", lang="en")
    for name in ("r0", "rer"):
        assert two[name].signature == f"refs:first|{one[name].signature}"
        assert float(two[name]) == float(one[name]) or not one[name].defined


def test_a_slope_names_the_tokeniser_of_the_counted_side() -> None:
    options = {"metrics": ["slope-u"], "lang": "ja", "source_lang": "zh", "block_words": 8}
    refs, hyps = REFERENCES["ja"], TRANSLATIONS["ja"]
    assert "block:8w[reference:ja-mecab-" in mtloop.score(refs, hyps, **options)["slope-u"].signature
    with_source = mtloop.score(refs, hyps, sources=REFERENCES["zh"], **options)["slope-u"]
    assert "block:8w[source:zh]|" in with_source.signature


def test_a_score_is_a_number() -> None:
    scores = mtloop.score(REFS, HYPS, metrics="ter")
    assert float(scores["ter"]) == scores["ter"].value
    assert f"{scores['ter']:.1f} {scores['ter']}" == f"{scores['ter'].value:.1f} {scores['ter'].value:.2f}"


def test_errors_name_the_system_if_there_are_several(tmp_path: Path) -> None:
    systems = {"a": HYPS, "b": REFS}
    with pytest.raises(InputError, match=r"1 comet score for 2 segments; .* \(system 'b'\)$"):
        mtloop.score(REFS, systems, metrics="ter", scores={"comet": {"a": [1, 2], "b": [1]}})
    (tmp_path / "a.txt").write_text("1\n2\n")
    (tmp_path / "b.txt").write_text("1\n")
    files = {name: tmp_path / f"{name}.txt" for name in systems}
    with pytest.raises(InputError, match=r"b.txt: 1 comet score for 2 segments; .* \(system 'b'\)$"):
        mtloop.score(REFS, systems, metrics="ter", scores={"comet": files})
    with pytest.raises(InputError, match=r"system 'b': ksmr is simulated word by word"):
        _ = mtloop.score(REFS, {"b": REFS}, metrics="ksmr", lang="ja").table


def test_blocks_of_a_source_without_spaces_need_its_language() -> None:
    refs, sources = ["the file is saved"] * 4, REFERENCES["ja"]
    with pytest.raises(
        InputError, match=r"metric slope-ca counts words, but the source text has no .* --source-lang ja"
    ):
        mtloop.score(refs, refs, sources=sources, metrics=["slope-ca"])
    with pytest.raises(InputError, match="metric rr counts words"):
        mtloop.score(refs, refs, sources=sources, metrics=["rr"])
    scores = mtloop.score(refs, refs, sources=sources, source_lang="ja", metrics=["slope-ca", "rr"], block_words=12)
    assert "block:12w[source:ja-mecab-" in scores["slope-ca"].signature
    assert scores["slope-ca"].detail["blocks"] == 3  # 13, 9 + 14 and 15 words


def test_blocks_of_references_without_spaces_need_their_language() -> None:
    with pytest.raises(InputError, match="the references have no spaces between words"):
        mtloop.score(REFERENCES["zh"], TRANSLATIONS["zh"], metrics=["slope-u"])
    scores = mtloop.score(REFERENCES["zh"], TRANSLATIONS["zh"], metrics=["slope-u"], lang="zh", block_words=8)
    assert "[reference:zh]" in scores["slope-u"].signature


def test_learned_scores_of_several_systems(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("0.5\n0.75\n")
    scores = mtloop.score(
        REFS, {"a": HYPS, "b": REFS}, metrics=["ter"], scores={"BLEURT": {"a": [0.1, 0.2], "b": [0.3, 0.4]}}
    )
    assert scores["b", "bleurt"].value == pytest.approx(0.35)
    files = {"comet": {"a": str(tmp_path / "b.txt"), "b": tmp_path / "b.txt"}}
    assert mtloop.score(REFS, {"a": HYPS, "b": REFS}, metrics=["ter"], scores=files)["a", "comet"].value == 0.625


def test_a_scorer_is_started_once_for_all_systems(tmp_path: Path) -> None:
    program = tmp_path / "scorer.py"
    program.write_text(
        "import json, pathlib, sys\n"
        f"log = pathlib.Path({str(tmp_path / 'starts')!r})\n"
        "log.write_text((log.read_text() if log.exists() else '') + 'x')\n"
        "for line in sys.stdin:\n    print(len(json.loads(line)['mt']))\n"
    )
    command = f"{sys.executable} {program}"
    scores = mtloop.score(REFS, {"a": HYPS, "b": REFS}, metrics=["ter"], baseline="a", scorers={"letters": command})
    assert (tmp_path / "starts").read_text() == "x"
    assert scores["a", "letters"].value == sum(map(len, HYPS)) / 2
    assert scores["b", "letters"].value == sum(map(len, REFS)) / 2
    assert scores["a", "letters"].signature == f"scorer:{command}|better:higher|aggregate:mean"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["blue"]}, "did you mean 'bleu'"),
        ({"metrics": []}, "no metric is named"),
        ({"baseline": "other"}, "there is no system 'other'"),
        ({"tokenize": "ja-mecap"}, "there is no tokeniser"),
        ({"lang": "ja", "metrics": ["r1"]}, "--spm"),
        ({"scores": {"bleu": [1, 2]}}, "'bleu' is a metric of mtloop"),
        ({"scores": {"r7": [1, 2]}}, "'r7' is a metric of mtloop"),
        ({"scores": {"comet": [1]}}, "1 comet score for 2 segments"),
        ({"scores": {"comet": ["x", 1]}}, "'x' is not a score"),
        ({"scores": {"comet": {"other": [1, 2]}}}, "no comet scores of system system; found other"),
        ({"scores": {"comet": [1, 2]}, "scorers": {"comet": "cat"}}, "come from two places"),
        ({"scores": {"comet": [1, 2]}, "metrics": ["slope-ca-comet"]}, "a slope is fitted to errors"),
        ({"lower_is_better": ["comet"]}, "there is no learned metric 'comet'"),
        ({"sources": ["one"]}, "source: 1 segments, but the first reference has 2"),
    ],
)
def test_a_mistake_is_one_line(arguments: dict, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        mtloop.score(REFS, HYPS, **arguments)


@pytest.mark.parametrize(
    ("refs", "hyps", "message"),
    [
        (REFS, HYPS[:1], "system: 1 segments, but the first reference has 2"),
        ([[ref, ref, ref] for ref in REFS], HYPS, "system: 2 segments, but the first reference has 3"),
        ([], HYPS, "`refs` is empty"),
        (REFS, {}, "`hyps` is empty"),
        (REFS, [1, 2], "1 is not a text"),
        ([1, 2], [3, 4], "1 is not a list of texts"),
        (["a", 2], HYPS, "2 is not a text"),
        (5, HYPS, "5 is not a list of texts"),
        (REFS, None, "None is not a list of texts"),
        ("none.txt", HYPS, "none.txt: no such file"),
    ],
)
def test_wrong_texts_are_named(refs: list, hyps: list, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        mtloop.score(refs, hyps)


def test_an_unknown_score_or_system_is_named() -> None:
    scores = mtloop.score(REFS, HYPS, metrics=["ter"])
    with pytest.raises(UnknownName, match="known: ter"):
        scores["bleu"]
    with pytest.raises(UnknownName, match="known: system"):
        scores["mine", "ter"]


def test_simulated_effort_is_named_too(caplog: pytest.LogCaptureFixture) -> None:
    mtloop.score(REFERENCES["ja"], TRANSLATIONS["ja"], metrics=["chrf", "ksmr", "wpa"])
    [record] = caplog.records
    assert record.getMessage().endswith(f"mean little: ksmr, wpa; {GIVE_LANGUAGE}")


def test_collateral_is_counted_against_the_baseline() -> None:
    systems = {"base": BASE_OUTPUTS, "mine": OUTPUTS}
    names = ["near-better", "near-worse", "flips"]
    scores = mtloop.score(TARGETS, systems, metrics=["ter", *names], sources=SOURCES, baseline="base")
    assert [scores["mine", name].numerator for name in names] == [1, 1, 2]
    assert [(scores["base", name].numerator, scores["base", name].denominator) for name in names] == [(0, 4)] * 3
    assert scores["mine", "flips"].value == 50
    other = mtloop.score(TARGETS, systems, metrics=names, sources=SOURCES, baseline="mine")
    assert (other["mine", "near-better"].numerator, other["base", "near-better"].numerator) == (0, 1)


def test_collateral_needs_a_baseline_and_the_source_text() -> None:
    systems = {"base": BASE_OUTPUTS, "mine": OUTPUTS}
    with pytest.raises(InputError, match=r"^metric flips needs --baseline"):
        mtloop.score("no-such-file.txt", systems, metrics="ter,flips", sources=SOURCES)
    with pytest.raises(InputError, match=r"^metric near-worse needs the source text; give it with --src FILE"):
        mtloop.score(TARGETS, systems, metrics="near-worse", baseline="base")
    unspaced = ["打开文件"] * len(TARGETS)
    with pytest.raises(InputError, match=r"^metric flips counts words, but the source text has no spaces"):
        mtloop.score(TARGETS, systems, metrics="flips", sources=unspaced, baseline="base")


def test_a_system_without_neighbours_scores_0_of_0() -> None:
    scores = mtloop.score(REFS[:1], {"a": HYPS[:1], "b": HYPS[:1]}, metrics="flips", sources=["Save"], baseline="a")
    assert str(scores["b", "flips"]) == "0/0"
