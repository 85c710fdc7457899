"""The results of a bandit task."""

from __future__ import annotations

import math

import pytest
from helpers.report_samples import steps, stream

from mtloop.core.errors import InputError
from mtloop.report.bandit_results import BanditResults


def exact(text: str, reference: str) -> float:
    return 0.75 if text == reference else 0.25


@pytest.fixture(scope="module")
def results() -> BanditResults:
    systems = {"baseline": stream(False), "nmt-el": stream(True)}
    return BanditResults(systems, [range(5), range(30, 35)], stream(True), exact, resamples=50)


def test_the_table_has_the_columns_of_the_paper(results: BanditResults) -> None:
    lines = results.text().splitlines()
    assert lines[2].split() == ["baseline", "15.0", "0.2500", "-", "-", "-", "0.2750", "0.2500", "0.2500", "0.2500"]
    assert lines[3].split()[:6] == ["nmt-el", "31.5", "0.5250", "+110.0", "%", "+90.0"]
    assert "  +7.0 %  " in lines[3]
    assert lines[5].startswith("60 sentences; intervals: paired bootstrap, 50 resamples, seed 1;")
    assert lines[6].endswith("regret: against the oracle's translations.")
    assert results.text().endswith(".\n")


def test_results_print_as_their_table_and_not_as_their_steps(results: BanditResults) -> None:
    assert f"{results!r}\n" == results.text()
    assert "<td" in results._repr_html_()


def test_a_data_frame_has_numbers(results: BanditResults) -> None:
    frame = results.to_pandas().set_index("method")
    assert frame.dtypes.eq(float).all()
    assert frame.loc["nmt-el", "cumulative_reward"] == 31.5
    assert frame.loc["nmt-el", "low"] < frame.loc["nmt-el", "against_static"] == pytest.approx(110)
    assert frame.loc["nmt-el", "held_out_first"] == pytest.approx(0.45)
    assert math.isnan(frame.loc["baseline", "paper"])


def test_without_checkpoints_there_are_no_columns_for_them() -> None:
    table = BanditResults({"baseline": stream(False)}, true_reward=exact).table
    assert table.headers[-1] == "regret"
    assert not any(name.startswith("held_out") for name in table.records[0])


def test_a_plot_has_all_figures(results: BanditResults) -> None:
    assert [picture.chart.name for picture in results.plot()] == ["regret", "held-out-bleu", "held-out-sentence"]


def test_different_streams_are_an_error() -> None:
    with pytest.raises(InputError, match="a and b saw different streams: 60 and 1 sentences"):
        BanditResults({"a": stream(True), "b": steps([("x", "y", "z")])})
