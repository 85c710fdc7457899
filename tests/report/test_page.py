"""The text of the page: its contents, their order, and the escaping of hostile texts."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import string
import sys
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from helpers.report_samples import HOSTILE, steps, stream, terms
from helpers.samples import SplitWords
from jinja2 import UndefinedError
from lxml import html

from mtloop.core import PostEdit, Step, Truth
from mtloop.core.errors import InputError, MissingExtra
from mtloop.core.types import Score
from mtloop.metrics import BLEU, SBLEU, TER, Recall, Slope
from mtloop.metrics.evaluation import Evaluation, SystemResult
from mtloop.metrics.reliability import RepeatedErrors
from mtloop.report import check, write_report
from mtloop.report.chart_assets import chart_script, chart_style, report_asset
from mtloop.report.page import SEGMENT_SCRIPTS
from mtloop.report.segments import WordAppearances, segment_data
from mtloop.report.sentences import SystemName
from mtloop.report.templating import render
from mtloop.report.verdict import verdict
from mtloop.text.units import ContentWords

ENGLISH = "Open the valve ."


class Outline(HTMLParser):
    """The sections, the number of scripts and the loaded addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.scripts = 0
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        if tag == "section":
            self.sections.append(str(dict(attrs)["id"]))
        self.loads += [value for key, value in attrs if key in ("src", "srcset", "data") and value]
        self.loads += [value for key, value in attrs if key == "href" and value and not value.startswith("#")]


def outline(path: Path) -> Outline:
    parser = Outline()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def embedded(path: Path, name: str) -> dict[str, object]:
    found = re.search(rf'<script type="([a-z/]+)" id="{name}">(.*?)</script>', path.read_text(encoding="utf-8"))
    assert found
    kind, text = found.groups()
    return dict(json.loads(text if kind == "application/json" else zlib.decompress(base64.b64decode(text))))


def parsed(evaluation: Evaluation, folder: Path) -> html.HtmlElement:
    (out,) = write_report(evaluation, folder / "report.html", pictures=())
    return html.document_fromstring(out.read_text(encoding="utf-8"))


def table(page: html.HtmlElement, caption: str) -> html.HtmlElement:
    (found,) = page.xpath(f"//table[caption = '{caption}']")
    return found


def lead(evaluation: Evaluation) -> str:
    return "".join(verdict(evaluation, list(evaluation.results())).lead)


def other_findings(evaluation: Evaluation) -> list[str]:
    return ["".join(finding) for finding in verdict(evaluation, list(evaluation.results())).others]


def test_sections_come_in_order_and_nothing_is_loaded(report: Path) -> None:
    page = outline(report)
    assert page.sections == ["scores", "learning", "differences", "segments", "reproduce"]
    assert page.scripts == 3
    assert page.loads == []


def test_the_policy_forbids_loading_and_allows_only_the_script_and_style_of_the_page(report: Path) -> None:
    page = html.document_fromstring(report.read_text(encoding="utf-8"))
    (policy,) = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    texts = page.xpath("//script[@type='module']/text() | //style/text()")
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    style, script = (f"'sha256-{digest}'" for digest in digests)
    assert policy == f"default-src 'none'; script-src {script}; style-src {style}; img-src data:"
    assert not page.xpath("//@style")


def test_no_script_or_style_ends_its_element() -> None:
    texts = [chart_script(), chart_style(), *map(report_asset, (*SEGMENT_SCRIPTS, "report.css"))]
    assert not any("</" in text for text in texts)


def test_hostile_names_and_texts_stay_text(hostile_report: Path) -> None:
    page = outline(hostile_report)
    assert page.scripts == 3
    assert page.loads == []
    assert "<img" not in hostile_report.read_text(encoding="utf-8").replace("<image", "")
    data = embedded(hostile_report, "segment-data")
    assert data["sources"][0] == HOSTILE  # type: ignore[index]
    (command,) = html.document_fromstring(hostile_report.read_text(encoding="utf-8")).xpath("//pre/code")
    assert command.text_content() == HOSTILE


def test_the_page_contains_command_signatures_and_versions(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert "mtloop report --out report.html" in text
    assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in text
    assert re.search(r"Python 3\.\d+", text)


def test_every_chart_has_an_element_and_data(report: Path) -> None:
    names = re.findall(r'data-chart="([^"]+)"', report.read_text(encoding="utf-8"))
    assert sorted(names) == sorted(embedded(report, "chart-data"))
    assert len(names) == 12


def test_the_score_table_marks_the_best_and_the_significant(report: Path) -> None:
    scores = table(html.document_fromstring(report.read_text(encoding="utf-8")), "Scores of the whole stream")
    stars = scores.xpath(".//td[@class='number best']/span[@class='stars']")
    assert len(stars) == 4  # R0 is the same for both systems
    assert all(one.text for one in stars[:3])  # R1 has only three words
    assert scores.xpath("string(.//th[@scope='row'][bdi='static']/small)") == "baseline"
    assert scores.xpath("string(.//th[contains(., 'TER')]/abbr[@title='lower is better'])") == "↓"
    assert "S (CA)" not in scores.text_content()


def test_differences_have_a_true_minus_and_an_interval(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert re.search(r'<small title="difference from the baseline, 95 % interval −\d', text)


def test_an_undefined_score_is_shown_as_0_of_0(words: ContentWords, tmp_path: Path) -> None:
    once = steps([("a", "Ventil", "Ventil")])
    page = parsed(Evaluation({"a": once, "b": once}, [Recall(words, {1})], "a", resamples=10), tmp_path)
    scores = table(page, "Scores of the whole stream")
    assert [cell.text for cell in scores.xpath(".//span[@class='score']")] == ["0/0", "0/0"]
    assert scores.xpath("string(.//td/small)") == "0/0"
    assert not scores.xpath(".//td[contains(@class, 'best')]")
    assert "nan" not in scores.text_content()


def test_the_slope_table_shows_verdicts(report: Path, tmp_path: Path) -> None:
    slopes = table(html.document_fromstring(report.read_text(encoding="utf-8")), "Percentage slopes")
    verdicts = [row[-1].text for row in slopes.xpath("tbody/tr")]
    assert verdicts == ["– no learning shown", "– no learning shown", "▼ learning", "▼ learning"]


def test_a_slope_that_the_stream_is_too_short_for_is_not_shown(tmp_path: Path) -> None:
    evaluation = Evaluation({"a": stream(True)}, [TER(), Slope(TER(), "u", 100)])
    page = parsed(evaluation, tmp_path)
    assert not page.xpath("//table[caption = 'Percentage slopes']")
    assert page.xpath("//@data-chart") == ["curve-ter"]
    note = "The stream is too short for slopes (3 blocks; 8 are needed)."
    assert note in page.xpath("//section[@id='learning']/p/text()")
    assert lead(evaluation).startswith("Over the whole stream, a has TER ")
    assert lead(Evaluation({"a": stream(True)}, [Slope(TER(), "u", 100)])) == note


def test_the_page_shows_the_names_of_systems_in_bold(report: Path) -> None:
    page = html.document_fromstring(report.read_text(encoding="utf-8"))
    (text,) = page.xpath("//p[@class='verdict']")
    assert [name.text for name in text.xpath("strong")] == ["adapting"]
    assert text.text_content().startswith("adapting learns: ")
    assert page.xpath("//ul[@class='findings']/li//strong/text()") == ["adapting", "static"]


def test_the_lead_is_two_sentences_what_was_found_and_how_sure(evaluation: Evaluation) -> None:
    sure = r"The 95 % interval is \d+\.\d to \d+\.\d\."
    found = r"adapting learns: \d+\.\d % of the errors remain each time the text doubles\."
    assert re.fullmatch(f"{found} {sure}", lead(evaluation))
    (quality,) = other_findings(evaluation)
    pattern = (
        r"Over the whole stream, adapting is \d+\.\d BLEU better than static\. The difference is .*p = 0\.0\d+\)\."
    )
    assert re.fullmatch(pattern, quality)


def test_the_verdict_says_if_no_learning_is_shown() -> None:
    systems = {"a": stream(False), "b": stream(False)}
    evaluation = Evaluation(systems, [TER(), Slope(TER(), "u", 30, resamples=50)], "a", resamples=50)
    assert lead(evaluation).startswith("b shows no learning: ")
    assert lead(evaluation).endswith(", which includes 100.")
    (quality,) = other_findings(evaluation)
    assert quality.startswith(
        "Over the whole stream, b does not differ significantly in TER from a. The difference is +0.0"
    )


def test_without_errors_no_learning_curve_can_be_fitted() -> None:
    perfect = steps([("a b c d e", "a b c d e", "a b c d e")] * 20)
    assert lead(Evaluation({"a": perfect}, [Slope(TER(), "u", 10)])) == (
        "No learning curve could be fitted (no errors: nothing to learn)."
    )


def test_the_effect_of_corrections_comes_before_a_slope_that_is_not_significant() -> None:
    """A significant slope needs a long text; R1 shows learning on a short one."""
    systems = {"static": terms(False), "adapting": terms(True)}
    metrics = [TER(), Recall(SplitWords(), {1}), RepeatedErrors(SplitWords()), Slope(TER(), "u", 20, resamples=50)]
    evaluation = Evaluation(systems, metrics, "static", resamples=50)
    text = lead(evaluation)
    assert text.startswith("adapting learns from one correction: words that appeared once before are correct in ")
    assert re.search(r"% of cases, compared with \d+\.\d % for static\. The difference in R1 is \+\d", text)
    repeated, quality, slope = other_findings(evaluation)
    assert repeated.startswith("adapting repeats fewer errors: words that were corrected once are wrong again in ")
    assert quality.startswith("Over the whole stream, adapting is ")
    assert slope.startswith("adapting shows no learning: ")
    neither = Evaluation({"a": terms(False), "b": terms(False)}, metrics, "a", resamples=50)
    assert lead(neither).startswith("b shows no learning")


def test_a_system_that_has_seen_the_references_is_left_out_of_the_verdict() -> None:
    systems = {"static": terms(False), "adapting": terms(True), "known-unfair": terms(True)}
    metrics = [TER(), Recall(SplitWords(), {1})]
    evaluation = Evaluation(systems, metrics, "static", resamples=50)
    assert lead(evaluation).startswith("adapting learns from one correction")
    assert other_findings(evaluation)[0].startswith("Over the whole stream, adapting")
    alone = Evaluation({"static": terms(False), "known-unfair": terms(True)}, metrics, "static", resamples=50)
    assert "known-unfair" not in "".join([lead(alone), *other_findings(alone)])


def test_a_worse_system_is_called_worse() -> None:
    systems = {"base": stream(True), "new": stream(False)}
    text = lead(Evaluation(systems, [TER()], "base", resamples=50))
    assert re.match(r"Over the whole stream, new is [\d.]+ TER worse than base\.", text)


def test_without_a_baseline_no_difference_is_tested() -> None:
    text = lead(Evaluation({"a": stream(True), "b": stream(False)}, [BLEU()]))
    assert re.fullmatch(r"Over the whole stream, a is best with BLEU [\d.]+\. No baseline was given.*tested\.", text)
    assert re.fullmatch(r"Over the whole stream, a has BLEU [\d.]+\.", lead(Evaluation({"a": stream(True)}, [BLEU()])))


def test_words_are_marked_at_their_first_and_second_appearance(words: ContentWords) -> None:
    marked = WordAppearances(words)(steps([("", "das Ventil", "das Ventil zu"), ("", "die Klappe", "das Ventil")] * 2))
    assert marked == [["1+das", "1+Ventil", "1-zu"], ["2-das", "2-Ventil"], ["2-zu"], []]
    assert WordAppearances(words, seen={"das"})(steps([("", "x", "das Ventil")])) == [["1-Ventil"]]


def test_segment_data_contains_scores_and_leaves_out_empty_columns(evaluation: Evaluation) -> None:
    data = segment_data(evaluation)
    assert data["metrics"] == [
        {"title": "TER", "higher": False, "digits": 1},
        {"title": "SBLEU", "higher": True, "digits": 1},
    ]
    static, adapting = data["systems"]  # type: ignore[misc]
    assert static["scores"][0][0] == 16.67  # type: ignore[index,call-overload]
    assert adapting["scores"][0][4] == 0.0  # type: ignore[index,call-overload]
    assert data["documents"] is None
    assert static["references"] is None  # type: ignore[index,call-overload]


def test_each_system_keeps_its_own_post_edits() -> None:
    def edited(text: str) -> list[Step]:
        (step,) = steps([(ENGLISH, "Ventil auf", "x")])
        return [replace(step, feedback=PostEdit(text), truth=Truth())]

    data = segment_data(Evaluation({"a": edited("Ventil öffnen"), "b": edited("Das Ventil öffnen")}, [BLEU()]))
    assert data["references"] == [["Ventil öffnen"]]
    assert data["systems"][1]["references"] == [["Das Ventil öffnen"]]  # type: ignore[index,call-overload]


def test_an_undefined_value_of_a_template_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'title' is undefined"):
        render("page.html", policy="")


def test_a_lone_surrogate_does_not_break_the_page(tmp_path: Path) -> None:
    evaluation = Evaluation({"a": steps([("\ud83d", "b", "b")])}, [BLEU()])
    (out,) = write_report(evaluation, tmp_path / "r.html", pictures=())
    assert embedded(out, "segment-data")["sources"] == ["?"]


def test_the_report_is_written_with_a_folder_of_pictures(tmp_path: Path) -> None:
    evaluation = Evaluation({"a": stream(True, 5)}, [BLEU()])
    written = write_report(evaluation, tmp_path / "new" / "r.html", pictures=("png", "svg"))
    names = [str(path.relative_to(tmp_path)) for path in written]
    assert names == ["new/r.html", "new/r_files/curve-bleu.png", "new/r_files/curve-bleu.svg"]
    assert all(path.stat().st_size for path in written)


def test_equal_evaluations_give_equal_bytes(evaluation: Evaluation, report: Path, tmp_path: Path) -> None:
    texts = {"title": "Ein Bericht", "command": "mtloop report --out report.html"}
    (again,) = write_report(evaluation, tmp_path / "report.html", pictures=(), **texts)  # type: ignore[arg-type]
    assert again.read_bytes() == report.read_bytes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is a folder; name a file to write"),
        ("report.pdf", "the report is an HTML file; give it a name that ends in .html"),
        ("file/report.html", "is a file, not a folder to write to"),
    ],
)
def test_an_output_path_that_cannot_be_written_is_an_error(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=message):
        check(tmp_path / name)


def test_an_unknown_picture_format_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown picture format: gif; known: png, svg"):
        check(tmp_path / "r.html", ("gif",))


def slope_results(verdicts: dict[str, dict[str, tuple[float, float, str]]]) -> list[SystemResult]:
    """Return results with these intervals and verdicts, by slope and system."""
    return [
        SystemResult(
            system,
            Score(name, (low + high) / 2, "", interval=(low, high), detail={"verdict": word, "blocks": 9}),
            None,
        )
        for name, systems in verdicts.items()
        for system, (low, high, word) in systems.items()
    ]


FLAT, FALLING = (95.0, 101.0, "no learning shown"), (94.0, 99.0, "learning")
TWO_SLOPES = Evaluation({name: stream(True) for name in "abc"}, [Slope(TER(), "u"), Slope(TER(), "ca")], "a")


def test_a_slope_that_disagrees_is_a_finding_of_its_own() -> None:
    block = {"a": FLAT, "b": FLAT, "c": FLAT}
    found = verdict(TWO_SLOPES, slope_results({"slope-u": block, "slope-ca": block | {"c": FALLING}}))
    assert "".join(found.lead) == (
        "The learning curves show neither learning nor forgetting. "
        "The 95 % interval of the slope includes 100 for b and c."
    )
    (other,) = found.others
    assert "".join(other) == (
        "The slope of TER of all blocks so far (CA) has another verdict for c: learning, 96.5. "
        "The 95 % interval is 94.0 to 99.0."
    )
    assert [part for part in other if isinstance(part, SystemName)] == ["c"]


def test_a_text_that_becomes_easier_makes_the_finding_less_sure() -> None:
    falling = {"a": FALLING, "b": (90.0, 95.0, "learning"), "c": FALLING}
    found = verdict(TWO_SLOPES, slope_results({"slope-u": falling, "slope-ca": falling}))
    assert "".join(found.lead) == (
        "b learns fastest: 92.5 % of the errors remain each time the text doubles. "
        "The 95 % interval is 90.0 to 95.0; c also learns, "
        "but the errors of a also fall, to 96.5 % per doubling: the text becomes easier."
    )


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_extra_is_an_error_with_the_install_command(
    package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"{package} is not installed; run: pip install 'mtloop\[report\]'"):
        check(tmp_path / "report.html", ("png",))


@pytest.mark.slow
def test_a_report_on_two_thousand_segments_and_four_systems_is_under_2_mb(words: ContentWords, tmp_path: Path) -> None:
    draw = random.Random(1)
    vocabulary = ["".join(draw.choices(string.ascii_lowercase, k=draw.randint(2, 9))) for _ in range(4000)]
    pairs = [(" ".join(draw.choices(vocabulary, k=16)), draw.choices(vocabulary, k=16)) for _ in range(2000)]

    def translated(right: float) -> list[Step]:
        outputs = ([word if draw.random() < right else draw.choice(vocabulary) for word in ref] for _, ref in pairs)
        return steps([(src, " ".join(out), " ".join(ref)) for (src, ref), out in zip(pairs, outputs, strict=True)])

    systems = {f"{share}": translated(share) for share in (0.5, 0.6, 0.7, 0.8)}
    metrics = [BLEU(), SBLEU(), *(Recall(words, times) for times in ({0}, {1}, {0, 1}))]
    (out,) = write_report(Evaluation(systems, metrics, "0.5", resamples=10), tmp_path / "r.html", pictures=())
    assert out.stat().st_size < 2_000_000
