"""The Java client, if a JDK is installed: it compiles without warnings and handles lost responses."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from helpers.fake_service import KEY, SOURCES, TARGETS, Faulty, Service, served
from helpers.java import JAVA, compile_java

pytestmark = pytest.mark.skipif(shutil.which("javac") is None, reason="no JDK here")


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_java(tmp_path_factory.mktemp("classes"), Path(__file__).parent / "java" / "Echo.java")


def participant(classes: Path, url: str, folder: Path, key: str = KEY) -> subprocess.CompletedProcess[str]:
    (folder / "key").write_text(key + "\n")
    words = {a: b for s, t in zip(SOURCES, TARGETS, strict=True) for a, b in zip(s.split(), t.split(), strict=False)}
    (folder / "words").write_text("".join(f"{a}\t{b}\n" for a, b in words.items()))
    command = [*JAVA, classes, "mtloop.example.WordByWord", url, "dev", folder / "key", folder / "words"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.slow
def test_json_parser_is_complete(classes: Path) -> None:
    good = [
        {"id": "ä\n\t\"\\/", "n": [1, -2, 0.5, 1e-05, 1.5e300], "x": None, "y": [True, False, {}], "z": []},
        "😀 \u2028", "", 0, [[[]]],
    ]  # fmt: skip
    bad = ["", "{", "[1,]", "{,}", '{"a"}', '"\\x"', '"\\u12"', "01", "1.", "NaN", "nul", "1 2", '"a', "'a'", "[" * 999]
    lines = [json.dumps(v) for v in good] + [json.dumps(v, ensure_ascii=False) for v in good] + bad
    process = subprocess.run([*JAVA, classes, "Echo"], input="\n".join(lines), capture_output=True, encoding="utf-8")
    assert not process.stderr
    outputs = process.stdout.split("\n")
    assert [json.loads(line) for line in outputs[: 2 * len(good)]] == good + good
    assert outputs[2 * len(good) : -1] == ["wrong"] * len(bad)


def test_a_participant_translates_the_whole_task(classes: Path, tmp_path: Path) -> None:
    service = Service()
    with served(service) as url:
        process = participant(classes, url, tmp_path)
    assert process.returncode == 0, process.stderr
    (run,) = service.runs.values()
    name, position, reward = process.stdout.split()
    assert (name, int(position), float(reward)) == (run.id, len(SOURCES), pytest.approx(sum(run.rewards)))
    assert sum(run.rewards) > 4
    assert "mean reward" in process.stderr


@pytest.mark.parametrize("fault", ["after", 429, 500])
@pytest.mark.slow
def test_a_translation_counts_once_despite_failures(classes: Path, tmp_path: Path, fault: str | int) -> None:
    """The first three requests list the runs and start one; the others get sentences and submit translations."""
    service = Service()
    faulty = Faulty(service, None, None, fault, None, None, fault, fault)
    with served(faulty) as url:
        process = participant(classes, url, tmp_path)
    assert process.returncode == 0, process.stderr
    assert not faulty.faults
    (run,) = service.runs.values()
    assert len(run.rewards) == len(SOURCES)
    assert f"{sum(run.rewards):.12f}" in process.stdout


@pytest.mark.slow
def test_an_open_run_is_resumed(classes: Path, tmp_path: Path) -> None:
    service = Service()
    with served(Faulty(service, None, None, None, None, None, None, 418)) as url:
        broken = participant(classes, url, tmp_path)
        assert "refused (418): not now" in broken.stderr
        assert 0 < len(service.runs["run-0"].rewards) < len(SOURCES)
        assert participant(classes, url, tmp_path).returncode == 0
    assert len(service.runs) == 1
    assert len(service.runs["run-0"].rewards) == len(SOURCES)


@pytest.mark.slow
def test_a_wrong_key(classes: Path, tmp_path: Path) -> None:
    with served(Service()) as url:
        process = participant(classes, url, tmp_path, key="nobody")
    assert process.returncode == 1
    assert "refused (401): unknown key" in process.stderr
