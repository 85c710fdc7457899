"""Results polled after each step do not give the score of one sentence, nor the places of the held-out blocks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from helpers.shared_task import REFERENCES, TRANSLATIONS, TaskServer, pending, start, submit
from hypothesis import given
from hypothesis import strategies as st

from mtloop.service.tasks.publication import FIRST_REGRET, REGRET_GAP, is_curve_point, shows_regret

NOISE = {"variance": 1.0}


@pytest.fixture
def noisy(lite: TaskServer) -> TaskServer:
    path = lite.folder / "oracle.txt"
    path.write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    lite.task("noisy", "dev", held_out=3, blocks=3, oracle=path, noise=NOISE)
    return lite


def test_polling_after_each_step_shows_neither_scores_nor_blocks(noisy: TaskServer) -> None:
    with noisy.serve(noisy.participant()) as client:
        run = start(client, "noisy")
        polled: list[tuple[dict[str, Any], dict[str, Any]]] = []
        sentence: Any = pending(client, run)
        while sentence:
            sentence = submit(client, run, sentence["id"], TRANSLATIONS[0]).json()["next"]
            (now,) = client.get(f"/v1/runs/{run}/curves").json()["passes"]
            (row,) = client.get("/v1/tasks/noisy/leaderboard").json()["rows"]
            polled.append((now, row))
    *during, (last, last_row) = polled
    for now, row in during:
        assert now["held_out"] == []
        assert all(point["regret"] is None for point in now["running"])
        assert {row[name] for name in ("regret", "bleu", "sentence_score")} == {None}
        assert row["reward"] == round(row["reward"])
    assert [point["regret"] is not None for point in last["running"]] == [False] * (len(last["running"]) - 1) + [True]
    assert len(last["held_out"]) == 3
    exact = [last["running"][-1]["regret"], last_row["regret"], *(one["sentence_score"] for one in last["held_out"])]
    assert exact == [round(value, 1) for value in exact]  # 26 sentences, and blocks of 3


def test_a_pass_that_was_left_early_shows_no_scores(lite: TaskServer) -> None:
    path = lite.folder / "oracle.txt"
    path.write_text("\n".join(REFERENCES) + "\n", encoding="utf-8")
    lite.task("mock", held_out=3, blocks=3, oracle=path, noise=NOISE)
    with lite.serve(lite.participant()) as client:
        run = start(client, "mock")
        for _ in range(3):
            submit(client, run, pending(client, run)["id"], TRANSLATIONS[0])
            client.post(f"/v1/runs/{run}/passes")
        passes = client.get(f"/v1/runs/{run}/curves").json()["passes"]
    assert [one["position"] for one in passes] == [1, 1, 1, 0]
    assert [point["regret"] for one in passes for point in one["running"]] == [None] * 3
    assert [one["held_out"] for one in passes] == [[]] * 4


class NoisyTask:
    has_oracle, noise, stopped = True, NOISE, False

    def __init__(self, samples: int) -> None:
        self.samples = samples


@given(st.integers(1, 20_000))
def test_two_published_regrets_are_many_sentences_apart(samples: int) -> None:
    task: Any = NoisyTask(samples)
    stored = [position for position in range(1, samples + 1) if is_curve_point(position) or position == samples]
    shown = [position for position in stored if shows_regret(task, position)]
    assert shown[-1] == samples
    assert all(b - a >= REGRET_GAP for a, b in pairwise(shown))
    assert all(position >= FIRST_REGRET for position in shown[:-1])
