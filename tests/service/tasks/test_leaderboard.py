"""The stored sums equal the sums computed from the rows."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers.postgres import both_databases
from helpers.recompute import check_run
from helpers.shared_task import (
    REFERENCES,
    SOURCES,
    TRANSLATIONS,
    TaskServer,
    pending,
    start,
    submit,
    translate_all,
)

from mtloop.core.errors import InputError
from mtloop.core.trace import Trace
from mtloop.data.stream_layout import StreamLayout
from mtloop.metrics.quality import BLEU, RewardBLEU
from mtloop.metrics.regret import MeanReward, relative_reward
from mtloop.service.storage import Storage
from mtloop.service.tasks import result_routes
from mtloop.service.tasks.export import write_trace
from mtloop.service.tasks.publication import is_curve_point

ORACLE = [reference.replace("geheimen ", "") for reference in REFERENCES]
ROUNDED = 1e-4  # results have four decimals
SAID = dict(zip(SOURCES, TRANSLATIONS, strict=True))


def test_an_oracle_of_another_length_is_refused(task_server: TaskServer) -> None:
    for lines, message in (
        (REFERENCES[:-1], "has 19 translations"),
        ([*REFERENCES, "Noch eine."], "has 21 translations"),
    ):
        path = task_server.folder / "oracle.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with pytest.raises(InputError, match=message):
            task_server.task(oracle=path)
        assert task_server.with_storage(lambda storage: storage.tasks.task("tiny")) is None


def improving() -> Any:
    """A translator that gets better with every sentence."""
    seen: list[str] = []

    def translate(source: str) -> str:
        seen.append(source)
        words = SAID[source].split()
        return " ".join(words[: max(1, len(words) * len(seen) // 26)])

    return translate


def dev(task_server: TaskServer, **options: Any) -> None:
    path = task_server.folder / "oracle.txt"
    path.write_text("\n".join(ORACLE) + "\n", encoding="utf-8")
    task_server.task("dev", "dev", held_out=3, blocks=3, oracle=path, **options)


@both_databases
def test_stored_sums_equal_the_rows(task_server: TaskServer) -> None:
    dev(task_server)
    with task_server.serve(task_server.participant()) as client:
        run = start(client, "dev")
        translate_all(client, run, improving())
        client.post(f"/v1/runs/{run}/passes")
        translate_all(client, run, SAID.__getitem__)
        (line,) = client.get("/v1/tasks/dev/leaderboard").json()["rows"]
        first, second = client.get(f"/v1/runs/{run}/curves").json()["passes"]
    task_server.with_storage(lambda storage: check_run(storage.tasks, run))
    layout = StreamLayout(20, 3, 3)
    places = [layout.sentence_at(position) for position in range(len(layout))]
    oracle = [RewardBLEU().sentence(ORACLE[n], REFERENCES[n]) for n in places]
    ours = [RewardBLEU().sentence(TRANSLATIONS[n], REFERENCES[n]) for n in places]
    assert line["regret"] == pytest.approx(math.fsum(oracle) / 26 - math.fsum(ours) / 26, abs=ROUNDED)
    assert (line["rank"], line["pass"], line["position"]) == (1, 2, 26)
    assert line["relative_bleu"] == pytest.approx(0)
    assert [point["position"] for point in second["running"]] == [p for p in range(27) if is_curve_point(p)]
    assert [point["block"] for point in first["held_out"]] == [0, 1, 2]
    assert first["held_out"][2]["bleu"] > first["held_out"][0]["bleu"]
    assert first["running"][-1]["regret"] > second["running"][-1]["regret"]


def test_checkpoints_equal_the_metrics(lite: TaskServer) -> None:
    dev(lite)
    with lite.serve(lite.participant()) as client:
        run = start(client, "dev")
        translate_all(client, run, improving())
        (found,) = client.get(f"/v1/runs/{run}/curves").json()["passes"]
    path = lite.folder / "run.jsonl"
    lite.with_storage(lambda storage: write_trace(storage.tasks, run, None, path))
    steps = Trace.read(path).steps
    blocks = [range(start, start + 3) for start in StreamLayout(20, 3, 3).block_starts()]
    for name, metric, rounded in (("bleu", BLEU(lowercase=True), 0.1), ("sentence_score", MeanReward(), ROUNDED)):
        relative = relative_reward(metric, metric.rows(steps), blocks)
        scores = [point[name] for point in found["held_out"]]
        assert [score - scores[0] for score in scores] == pytest.approx(list(relative), abs=1.01 * rounded)


@both_databases
def test_a_row_has_the_first_and_the_last_complete_block(task_server: TaskServer) -> None:
    """No other block is read. One run is stopped in its fourth block, another one before any is complete."""
    task_server.task("dev", "dev", held_out=2, blocks=5)
    starts = list(StreamLayout(20, 2, 5).block_starts())
    with task_server.serve(task_server.participant()) as client:
        run, other = start(client, "dev", name="long"), start(client, "dev", name="short")
        sentence: dict[str, str] = pending(client, run)
        for position in range(starts[3] + 1):
            texts = SAID if position < starts[2] else dict(zip(SOURCES, REFERENCES, strict=True))
            sentence = submit(client, run, sentence["id"], texts[sentence["source"]]).json()["next"]
        submit(client, other, pending(client, other)["id"], "x")
        task_server.with_storage(lambda storage: storage.tasks.change_task("dev", stopped=True))
        long, short = client.get("/v1/tasks/dev/leaderboard").json()["rows"]
        (found,) = client.get(f"/v1/runs/{run}/curves").json()["passes"]
    first, _, last = found["held_out"]
    for name in ("bleu", "sentence_score"):
        assert (long[name], short[name]) == (last[name], None)
        assert long[f"relative_{name}"] == pytest.approx(last[name] - first[name]) != 0

    async def blocks(storage: Storage) -> list[list[int]]:
        task = await storage.tasks.task("dev")
        assert task is not None
        return [[one.block for one in entry.checkpoints] for entry in await storage.tasks.entries(task)]

    assert task_server.with_storage(blocks) == [[0, 2], []]


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("leaderboard", ["/v1/tasks/dev/leaderboard", "/tasks/dev"]),
        ("block_scores", ["/v1/runs/{run}/curves", "/runs/{run}"]),
    ],
)
def test_results_are_computed_outside_the_event_loop(
    lite: TaskServer, monkeypatch: pytest.MonkeyPatch, name: str, paths: list[str]
) -> None:
    """Others do not wait for the scores of many rows or blocks: neither in the API nor on the page."""
    dev(lite)
    compute, threads = getattr(result_routes, name), list[int]()

    def note(*arguments: Any) -> Any:
        threads.append(threading.get_ident())
        return compute(*arguments)

    monkeypatch.setattr(result_routes, name, note)
    key = lite.participant()
    with lite.serve(key) as client:
        run = start(client, "dev")
        client.post("/login", data={"key": key})
        for path in paths:
            assert client.get(path.format(run=run)).status_code == 200
        assert client.portal is not None
        of_loop = client.portal.call(threading.get_ident)
    assert len(threads) == 2
    assert of_loop not in threads


@both_databases
def test_only_runs_with_the_required_samples_are_ranked(task_server: TaskServer) -> None:
    task_server.task("dev", "dev", samples=6, required_samples=6)
    better, worse, lazy = (task_server.participant(name) for name in ("better", "worse", "lazy"))
    with task_server.serve(better) as client:
        translate_all(client, start(client, "dev", name="good"), SAID.__getitem__)
        client.headers["x-api-key"] = worse
        translate_all(client, start(client, "dev"), str.lower)
        client.headers["x-api-key"] = lazy
        start(client, "dev")
        lines = client.get("/v1/tasks/dev/leaderboard").json()["rows"]
    assert [(line["rank"], line["participant"], line["name"]) for line in lines] == [
        (1, "better", "good"),
        (2, "worse", ""),
        (None, "lazy", ""),
    ]
    assert all("run" not in line for line in lines)


def test_training_results_are_hidden_until_the_organiser_opens_them(task_server: TaskServer) -> None:
    task_server.task("train", "training")
    key, organiser = task_server.participant(), task_server.participant("committee", organiser=True)
    with task_server.serve(key) as client:
        run = start(client, "train")
        translate_all(client, run)
        for path in ("/v1/tasks/train/leaderboard", f"/v1/runs/{run}/curves"):
            assert client.get(path).json()["type"] == "urn:mtloop:results-hidden"
        assert client.patch("/v1/tasks/train", json={"results_open": True}).status_code == 404
        client.headers["x-api-key"] = organiser
        assert len(client.get("/v1/tasks/train/leaderboard").json()["rows"]) == 1
        assert client.patch("/v1/tasks/train", json={"results_open": True}).status_code == 204
        client.headers["x-api-key"] = key
        assert len(client.get("/v1/tasks/train/leaderboard").json()["rows"]) == 1
        assert client.get(f"/v1/runs/{run}/curves").status_code == 200


def test_an_exported_trace_has_the_scores_of_the_service(lite: TaskServer, tmp_path: Path) -> None:
    lite.task()
    with lite.serve(lite.participant()) as client:
        run = start(client)
        rewards = translate_all(client, run, SAID.__getitem__)
        total = client.get(f"/v1/runs/{run}").json()["cumulative_reward"]
    path = tmp_path / "run.jsonl"
    lite.with_storage(lambda storage: write_trace(storage.tasks, run, None, path))
    steps = Trace.read(path).steps
    assert MeanReward().score(steps).detail["cumulative_reward"] == pytest.approx(total, abs=1e-9)
    assert RewardBLEU().score(steps).value == pytest.approx(100 * sum(rewards) / 20)
