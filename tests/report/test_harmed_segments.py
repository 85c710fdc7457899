"""The list of harmed segments on the report page."""

from __future__ import annotations

from pathlib import Path

from helpers.collateral_samples import BASELINE, LEARNER
from helpers.report_samples import HOSTILE
from helpers.steps import make_steps
from lxml import html

from mtloop.core import Step
from mtloop.metrics import TER
from mtloop.metrics.collateral import Collateral, Flips, LostChanges, NearTER
from mtloop.metrics.evaluation import Evaluation
from mtloop.report import write_report
from mtloop.report.evaluation_charts import make_charts
from mtloop.report.harmed_segments import MAX_BETTER, MAX_SHOWN, HarmRow, HarmTable, TextPair, harm_tables
from mtloop.report.text_tables import relative_score_table


def worse(baseline: list[Step] = BASELINE) -> NearTER:
    return NearTER(baseline, TER(), worse=True)


def evaluation(*metrics: Collateral) -> Evaluation:
    return Evaluation({"base": BASELINE, "mine": LEARNER}, [TER(), *metrics], "base", resamples=10)


def cells(page: html.HtmlElement, system: str) -> list[list[str]]:
    (table,) = page.xpath(f"//table[caption = 'Harmed segments: {system}']")
    return [[" ".join(cell.itertext()).split() for cell in row] for row in table.xpath(".//tbody/tr")]


def page_of(made: Evaluation, folder: Path) -> html.HtmlElement:
    (out,) = write_report(made, folder / "report.html", pictures=())
    return html.document_fromstring(out.read_text(encoding="utf-8"))


def test_flips_come_first_each_with_its_lesson() -> None:
    (table,) = harm_tables(evaluation(worse(), Flips(BASELINE)))
    enable = TextPair("Enable the option.", "Aktivieren Sie die Option.")
    disable = TextPair("Disable the option.", "Deaktivieren Sie die Option.")
    log_in, log_out = TextPair("Log in", "Anmelden"), TextPair("Log out", "Abmelden")
    assert table == HarmTable(
        "mine",
        "2 of 4 segments with a lesson are harmed (2 flips)",
        [
            HarmRow(5, enable, disable, disable.reference, enable.reference, "+25.0", ("worse", "flip")),
            HarmRow(3, log_in, log_out, "Ausloggen", "Anmelden", "+0.0", ("flip",)),
        ],
    )


def test_each_metric_alone() -> None:
    (table,) = harm_tables(evaluation(worse()))
    assert [(row.number, row.ter_change, row.reasons) for row in table.rows] == [(5, "+25.0", ("worse",))]
    (table,) = harm_tables(evaluation(Flips(BASELINE)))
    assert [(row.number, row.ter_change, row.reasons) for row in table.rows] == [(3, "", ("flip",)), (5, "", ("flip",))]
    assert harm_tables(evaluation(NearTER(BASELINE, TER(), worse=False))) == []


def test_a_lost_change_has_a_label_of_its_own() -> None:
    sources, references = ["Delete 5 files", "Delete 6 files"], ["5 Dateien löschen", "6 Dateien löschen"]
    base = make_steps(["5 Dateien löschen", "6 Daten löschen"], references, sources)
    mine = make_steps(["5 Dateien löschen", "Lösche 5 Dateien"], references, sources)
    lost = LostChanges(base)
    (table,) = harm_tables(Evaluation({"base": base, "mine": mine}, [lost, worse(base)], "base"))
    assert [(row.number, row.reasons) for row in table.rows] == [(2, ("lost change", "worse"))]
    (table,) = harm_tables(Evaluation({"base": base, "mine": mine}, [lost], "base"))
    assert [(row.number, row.reasons) for row in table.rows] == [(2, ("lost change",))]


def test_the_best_segments_are_listed_with_their_lessons(tmp_path: Path) -> None:
    count = MAX_BETTER + 2
    references = [f"Seite {number} wird jetzt gedruckt" for number in range(count + 1)]
    sources = [f"Print page {number} now" for number in range(count + 1)]
    outputs = [" ".join(text.split()[: number % 4]) for number, text in enumerate(references)]
    base, mine = make_steps(outputs, references, sources), make_steps(references, references, sources)
    made = Evaluation({"base": base, "mine": mine}, [worse(base), NearTER(base, TER(), worse=False)], "base")
    (table,) = harm_tables(made)
    assert table.rows == []
    changes = [float(row.ter_change.replace("−", "-")) for row in table.better]
    assert len(changes) == MAX_BETTER
    assert changes == sorted(changes)
    assert {row.reasons for row in table.better} == {("better",)}
    rows = page_of(made, tmp_path).xpath("//table[caption = 'Better segments: mine']//tbody/tr")
    assert len(rows) == MAX_BETTER


def test_at_most_twenty_are_shown_the_worst_first() -> None:
    count = MAX_SHOWN + 5
    references = [f"Seite {number} wird jetzt gedruckt" for number in range(count + 1)]
    sources = [f"Print page {number} now" for number in range(count + 1)]
    outputs = [" ".join(text.split()[: 4 - number % 4]) for number, text in enumerate(references)]
    base, mine = make_steps(references, references, sources), make_steps(outputs, references, sources)
    (table,) = harm_tables(Evaluation({"base": base, "mine": mine}, [worse(base)], "base"))
    changes = [float(row.ter_change) for row in table.rows]
    assert len(changes) == MAX_SHOWN
    assert changes == sorted(changes, reverse=True)
    assert table.summary == "25 of 25 segments with a lesson are harmed; the worst 20 are shown"


def test_the_page_shows_them_in_a_closed_section(tmp_path: Path) -> None:
    page = page_of(evaluation(worse(), Flips(BASELINE)), tmp_path)
    (details,) = page.xpath("//section[@id='harm']/details")
    assert "open" not in details.attrib
    assert details.find("summary").text_content() == "mine: 2 of 4 segments with a lesson are harmed (2 flips)"
    first, second = cells(page, "mine")
    assert first[0] == ["5", "TER", "+25.0", "worse", "flip"]
    assert second[1:] == [["Log", "in", "Anmelden"], ["Log", "out", "Abmelden"], ["Ausloggen"], ["Anmelden"]]
    assert page.xpath("//nav/a[@href='#harm']")
    scores = page.xpath("//table[caption = 'Scores of the whole stream']//tr[th/bdi = 'base']/td/@title")
    assert scores[1:] == ["0 of 4", "0 of 4"]


def test_a_page_without_these_metrics_has_no_such_section(tmp_path: Path) -> None:
    assert not page_of(evaluation(), tmp_path).xpath("//*[@id='harm'] | //nav/a[@href='#harm']")


def test_a_system_without_harm_says_so(tmp_path: Path) -> None:
    made = Evaluation({"base": BASELINE, "same": BASELINE}, [worse()], "base", resamples=10)
    (details,) = page_of(made, tmp_path).xpath("//section[@id='harm']/details")
    assert details.text_content().strip() == "same: 0 of 4 segments with a lesson are harmed"


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    sources, references = [f"{HOSTILE} in", f"{HOSTILE} out"], [f"{HOSTILE} an", f"{HOSTILE} ab"]
    base = make_steps(["a", "b"], references, sources)
    mine = make_steps(["a", references[0]], references, sources)
    page = page_of(Evaluation({"base": base, HOSTILE: mine}, [Flips(base)], "base", resamples=10), tmp_path)
    assert len(page.xpath("//script")) == 3
    assert not page.xpath("//img")
    assert [text.text for text in page.xpath("//section[@id='harm']//td[1]/span")] == [sources[0]]


def test_what_is_relative_already_is_not_compared_again() -> None:
    made = evaluation(worse(), Flips(BASELINE))
    results = list(made.results())
    assert relative_score_table(made, results).headers == ["relative", "TER"]
    assert [chart.name for chart in make_charts(made, results).differences] == ["difference-ter"]
