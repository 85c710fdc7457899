"""The Java client, where a JDK is: compiled without a warning, and run against a service that loses answers."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.fake_service import KEY, SOURCES, TARGETS, Faulty, Service, served
from helpers.java import JAVA, compiled

pytestmark = pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK here")


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("classes"), Path(__file__).parent / "java" / "Echo.java")


def participant(classes: Path, url: str, folder: Path, key: str = KEY) -> subprocess.CompletedProcess[str]:
    (folder / "key").write_text(key + "\n")
    words = {a: b for s, t in zip(SOURCES, TARGETS, strict=True) for a, b in zip(s.split(), t.split(), strict=False)}
    (folder / "words").write_text("".join(f"{a}\t{b}\n" for a, b in words.items()))
    command = [*JAVA, classes, "mtloop.example.WordByWord", url, "dev", folder / "key", folder / "words"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_json_is_all_of_json(classes: Path) -> None:
    good = [
        {"id": "ä\n\t\"\\/", "n": [1, -2, 0.5, 1e-05, 1.5e300], "x": None, "y": [True, False, {}], "z": []},
        "😀 \u2028", "", 0, [[[]]],
    ]  # fmt: skip
    bad = ["", "{", "[1,]", "{,}", '{"a"}', '"\\x"', '"\\u12"', "01", "1.", "NaN", "nul", "1 2", '"a', "'a'", "[" * 999]
    lines = [json.dumps(v) for v in good] + [json.dumps(v, ensure_ascii=False) for v in good] + bad
    said = subprocess.run([*JAVA, classes, "Echo"], input="\n".join(lines), capture_output=True, encoding="utf-8")
    assert not said.stderr
    answers = said.stdout.split("\n")
    assert [json.loads(line) for line in answers[: 2 * len(good)]] == good + good
    assert answers[2 * len(good) : -1] == ["wrong"] * len(bad)


def test_a_participant(classes: Path, tmp_path: Path) -> None:
    service = Service()
    with served(service) as url:
        said = participant(classes, url, tmp_path)
    assert said.returncode == 0, said.stderr
    (run,) = service.runs.values()
    name, position, earned = said.stdout.split()
    assert (name, int(position), float(earned)) == (run.id, len(SOURCES), pytest.approx(sum(run.rewards)))
    assert sum(run.rewards) > 4
    assert "mean reward" in said.stderr


@pytest.mark.parametrize("fault", ["after", 429, 500])
def test_whatever_goes_wrong_counts_once(classes: Path, tmp_path: Path, fault: str | int) -> None:
    """The first three requests list the runs and start one; then sentences follow."""
    service = Service()
    faulty = Faulty(service, None, None, fault, None, None, fault, fault)
    with served(faulty) as url:
        said = participant(classes, url, tmp_path)
    assert said.returncode == 0, said.stderr
    assert not faulty.faults
    (run,) = service.runs.values()
    assert len(run.rewards) == len(SOURCES)
    assert f"{sum(run.rewards):.12f}" in said.stdout


def test_a_run_in_the_middle_is_taken_up(classes: Path, tmp_path: Path) -> None:
    service = Service()
    with served(Faulty(service, None, None, None, None, None, None, 418)) as url:
        broken = participant(classes, url, tmp_path)
        assert "refused (418): not now" in broken.stderr
        assert 0 < len(service.runs["run-0"].rewards) < len(SOURCES)
        assert participant(classes, url, tmp_path).returncode == 0
    assert len(service.runs) == 1
    assert len(service.runs["run-0"].rewards) == len(SOURCES)


def test_a_wrong_key(classes: Path, tmp_path: Path) -> None:
    with served(Service()) as url:
        said = participant(classes, url, tmp_path, key="nobody")
    assert said.returncode == 1
    assert "refused (401): unknown key" in said.stderr
