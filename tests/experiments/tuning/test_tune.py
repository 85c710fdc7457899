"""`mtloop.tune` in Python, with a tiny model."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.tiny_marian import demo_pairs, write_tiny
from helpers.tiny_smt import stream_pairs, write_stream, write_tiny_smt

from mtloop.core import InputError
from mtloop.experiments.tuning.tune import tune
from mtloop.experiments.tuning.tune_result import TuneResult

SPACE = {"learning_rate": (1.0, 5.0, "log"), "max_updates": [1, 2]}
ROWS = {"tune_rows": "1-8", "report_rows": "9-12"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_tiny(folder)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "stream.tsv"
    rows = [f"{source}\t{target}" for source, target in demo_pairs()[:12]]
    path.write_text("\n".join(["source\ttarget", *rows, ""]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def result(model: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> TuneResult:
    given = {"model": str(model), "trials": 3, "metric": "chrf", "report_metrics": ["ter", "chrf"]}
    out = tmp_path_factory.mktemp("tune")
    return tune(data, "bias", space=SPACE, **ROWS, **given, jobs=1, settings={"beam_size": 1}, out=out)  # type: ignore[arg-type]


def test_the_result_has_leaderboard_report_verdict_and_winner(result: TuneResult) -> None:
    assert len(result.table) == len(result.leaderboard) == 3
    assert [table.headers[0] for table in result.report_tables] == ["system", "minus baseline", "minus default"]
    assert result.settings == {"beam_size": 1, **result.winner.settings}
    assert result.winner_file.is_file()
    text = str(result)
    assert text.endswith(f"Winner: {result.winner_file} ({result.winner})\n{result.verdict}")
    assert repr(result) == text
    assert "nan" not in text


def test_the_verdict_uses_the_difference_of_the_report(result: TuneResult) -> None:
    (chrf,) = [record for record in result.report_tables[-1].records if record["metric"] == "chrf"]
    comparison = result.verdict.comparison
    assert comparison is not None
    assert (chrf["difference"], chrf["p"]) == (comparison.difference, comparison.p_value)


def test_the_result_as_data_frame_and_in_a_notebook(result: TuneResult) -> None:
    frame = result.to_pandas()
    assert list(frame["trial"]) == [each.trial.number for each in result.leaderboard]
    assert {"learning_rate", "max_updates", "rows", "chrf", "value", "failed"} <= {*frame.columns}
    assert len(result.report_tables[0].to_pandas()) == 6  # three systems, two metrics
    page = result._repr_html_()
    assert page.count("<table") == 4
    assert str(result.verdict) in page


def test_the_same_call_resumes_and_other_arguments_are_refused(result: TuneResult, model: Path, data: Path) -> None:
    given = {
        "model": str(model),
        "trials": 3,
        "metric": "chrf",
        "report_metrics": ["ter", "chrf"],
        "settings": {"beam_size": 1},
    }
    again = tune(data, "bias", space=SPACE, **ROWS, **given, jobs=1, out=result.folder)  # type: ignore[arg-type]
    assert again.leaderboard == result.leaderboard
    with pytest.raises(InputError, match="another search \\(different: space\\)"):
        tune(data, "bias", space={"learning_rate": [0.1, 0.2]}, **ROWS, **given, out=result.folder)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"jobs": 0}, "jobs is 0; expected 1 or more"),
        ({"halving": True, "factor": 1}, "factor is 1; expected 2 or more"),
        ({"metric": []}, "no metric is named"),
        ({"space": {"learning_rat": [1, 2]}}, "did you mean 'learning_rate'?"),
        ({"data": None}, "no data given"),
        ({"method": "baseline"}, "method baseline never learns"),
    ],
)
def test_a_wrong_argument_is_an_error_before_anything_is_written(
    data: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    given = {"data": data, "method": "bias", "space": SPACE, **ROWS, "out": tmp_path / "out"} | changes
    with pytest.raises(InputError, match=message.replace("?", "[?]")):
        tune(**given)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


ENGINE = """
from mtloop.core import Learned, PostEdit, Proposal

class Toy:
    learns_from = (PostEdit,)

    def __init__(self, *, repeats: int = 2):
        self.repeats, self.last = repeats, ""

    def propose(self, segment):
        return Proposal(segment, " ".join([self.last or segment.source] * self.repeats))

    def learn(self, proposal, feedback):
        self.last = feedback.text
        return Learned()
"""


def test_an_engine_of_your_own_is_tuned_and_compared_with_the_source(data: Path, tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(ENGINE)
    method = f"{tmp_path / 'toy.py'}:Toy"
    result = tune(data, method, space={"repeats": (1, 3)}, **ROWS, report_metrics="ter", jobs=1, out=tmp_path / "out")  # type: ignore[arg-type]
    assert result.winner.settings == {"repeats": 1}
    assert 'method = "copy-source"' in (tmp_path / "out/trials/baseline.toml").read_text()
    assert result.verdict.outcome in ("better", "not distinguishable")


def test_a_statistical_method_is_compared_with_its_own_baseline(tmp_path: Path) -> None:
    model = write_tiny_smt(tmp_path / "smt", tuned=False)
    data = write_stream(tmp_path / "stream.tsv", stream_pairs())
    given = {"model": str(model), "schedule": "blocks:20", "report_metrics": "ter", "jobs": 1, "trials": 2}
    space = {"foreground": ["incremental", "rescoring"]}
    result = tune(data, "smt-adapting", space=space, **ROWS, **given, out=tmp_path / "out")  # type: ignore[arg-type]
    assert len(result.leaderboard) == 2
    assert 'method = "smt-baseline"' in (tmp_path / "out/trials/baseline.toml").read_text()
