"""One task, every kind of participant, a service that is killed in the middle, and the leaderboard in a browser."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, redirect_stdout
from pathlib import Path

import pytest
from helpers.browser import BROWSERS, chromium
from helpers.java import JAVA, compile_java

from mtloop.cli import main
from mtloop.client import Client, RunState
from mtloop.core import Feedback, Learned, Proposal, Segment, Trace, run

PAIRS = [
    ("open the drawer", "öffne die schublade"),
    ("close the drawer", "schließe die schublade"),
    ("the red lamp is on", "die rote lampe ist an"),
    ("open the drawer", "öffne die schublade"),
    ("turn the lamp off", "schalte die lampe aus"),
    ("the drawer is empty", "die schublade ist leer"),
    ("press the red button twice", "drücke zweimal den roten knopf"),
    ("the lamp is off", "die lampe ist aus"),
    ("wait for the green light", "warte auf das grüne licht"),
    ("the end", "ende"),
]
WORDS = {"the": "die", "drawer": "schublade", "lamp": "lampe", "is": "ist", "open": "öffne", "red": "rote", "on": "an"}
OLD_PROGRAM = """
import json, os, sys, time
import wmt_client_python
from wmt_client_python.rest import ApiException

wmt_client_python.configuration.host, words = sys.argv[1], json.loads(sys.argv[3])
wmt_client_python.configuration.api_key['x-api-key'] = open(sys.argv[2]).read().strip()
api = wmt_client_python.SharedTaskApi()
api.reset_dataset()
score = None
while True:
    try:
        sentence = api.get_sentence()
    except ApiException as error:
        if error.status == 404:
            break
        continue
    while score is not None and not os.path.exists("go"):  # wait for the file `go` after the first translation
        time.sleep(0.02)
    text, score = " ".join(words.get(w, w) for w in sentence.source.split()), None
    while score is None:
        try:
            score = api.send_translation(wmt_client_python.Translation(id=sentence.id, translation=text)).score
        except ApiException as error:
            pass
"""
CURL_SCRIPT = r"""
set -euo pipefail
ask() {
  curl -sS --fail --retry 60 --retry-delay 1 --retry-all-errors \
    -H "x-api-key: $KEY" -H "content-type: application/json" "$@"
}
field() { sed -E "s/.*\"$1\": ?\"([^\"]*)\".*/\1/"; }
RUN=${RUN:-$(ask -X POST "$URL/v1/tasks/tiny/runs" -d '{}' | field run)}
echo "$RUN"
for _ in $(seq "$COUNT"); do
  ID=$(ask "$URL/v1/runs/$RUN/next" | field id)
  ask "$URL/v1/runs/$RUN/translations" -d "{\"id\": \"$ID\", \"translation\": \"die lampe\"}" > /dev/null
done
"""


class WordByWord:
    """Replaces words of a dictionary and keeps the others."""

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, by_words(segment.source))

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        return Learned()


def by_words(source: str) -> str:
    return " ".join(WORDS.get(word, word) for word in source.split())


class Server:
    """`mtloop serve` on a folder, in a separate process and on a free port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.spawned: list[subprocess.Popen[bytes]] = []
        self.start()

    def start(self) -> None:
        self.process = self.spawn(sys.executable, "-m", "mtloop", "serve", "--folder", "data", "--port", self.port)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def spawn(self, *command: object) -> subprocess.Popen[bytes]:
        """Start a process in the folder; its output goes to a log there."""
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(list(map(str, command)), cwd=self.folder, stdout=log, stderr=log)
        self.spawned.append(process)
        return process

    def client(self, name: str) -> Client:
        return Client(self.url, (self.folder / f"{name}.key").read_text().strip())

    def run_of(self, name: str) -> RunState:
        """Return the only run of a participant."""
        with self.client(name) as client:
            (state,) = client.runs("tiny")
        return state


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.chdir(tmp_path)
    server = Server(tmp_path)
    yield server
    for process in server.spawned:
        process.kill()
        process.wait()


def mtloop(*arguments: object) -> str:
    """Run a command in this process and return its output."""
    output = io.StringIO()
    with redirect_stdout(output):
        main(list(map(str, arguments)))
    return output.getvalue()


def set_up(*names: str) -> None:
    """Create a mock task from two text files, participants and their files."""
    for name, texts in zip(("en.txt", "de.txt"), zip(*PAIRS, strict=True), strict=True):
        Path(name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    files = ["--source", "en.txt", "--reference", "de.txt"]
    mtloop("task", "create", "tiny", "--kind", "mock", *files, "--folder", "data")
    for name in names:
        Path(f"{name}.key").write_text(mtloop("participant", "add", name, "--folder", "data"))
    Path("words").write_text("".join(f"{a}\t{b}\n" for a, b in WORDS.items()), encoding="utf-8")
    Path("old.py").write_text(OLD_PROGRAM)
    compile_java(Path("classes"))


def old_client(server: Server) -> subprocess.Popen[bytes]:
    """Start a program of 2017 and wait for its first translation."""
    module, words = "mtloop.client.wmt_client_python", json.dumps(WORDS)
    process = server.spawn(sys.executable, "-m", module, "old.py", f"{server.url}/v1/tasks/tiny", "old.key", words)
    with server.client("old") as client:
        while not any(state.position for state in client.runs("tiny")):
            assert process.poll() is None, Path("log").read_text()
            time.sleep(0.05)
    return process


def java(server: Server) -> subprocess.Popen[bytes]:
    return server.spawn(*JAVA, "classes", "mtloop.example.WordByWord", server.url, "tiny", "java.key", "words")


def join(server: Server) -> subprocess.Popen[bytes]:
    arguments = ["--task", "tiny", "--key-file", "join.key", "--method", "copy-source", "--out", "join.jsonl"]
    return server.spawn(sys.executable, "-m", "mtloop", "join", server.url, *arguments)


def curl(server: Server, count: int, run: str = "") -> str:
    """Translate `count` sentences with curl; return the run."""
    settings = {"URL": server.url, "KEY": Path("curl.key").read_text().strip(), "COUNT": str(count), "RUN": run}
    done = subprocess.run(["bash", "-c", CURL_SCRIPT], env=os.environ | settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def stored_translations(name: str, state: RunState) -> list[str]:
    """Return the translations of a run that the service has stored; also write them to a text file."""
    mtloop("task", "trace", state.run, "--out", f"{name}.trace.jsonl", "--folder", "data")
    texts = [step.proposal.text for step in Trace.read(f"{name}.trace.jsonl").steps]
    Path(f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    return texts


def rescored(names: Iterable[str]) -> dict[str, float]:
    """Return the cumulative rewards, computed again from the text files only."""
    hypotheses = [argument for name in names for argument in ("--hyp", f"{name}.txt")]
    scores = mtloop("score", "--ref", "de.txt", *hypotheses, "--metrics", "reward", "--format", "json")
    return {score["system"]: score["cumulative_reward"] for score in json.loads(scores)}


def leaderboard(server: Server) -> dict[str, str]:
    """Return the cumulative rewards by participant as a browser shows them."""
    with chromium() as browser:
        page = browser.new_page()
        page.goto(f"{server.url}/tasks/tiny")
        rows = page.locator("tbody tr").all()
        heads = [cell.inner_text() for cell in page.locator("thead th").all()]
        column = heads.index("Cumulative reward")
        return {row.locator("th").inner_text(): row.locator("td, th").nth(column).inner_text() for row in rows}


@pytest.mark.skipif(shutil.which("javac") is None or shutil.which("curl") is None, reason="needs a JDK and curl")
@pytest.mark.slow
def test_every_kind_of_participant_and_a_killed_service(server: Server) -> None:
    sources = [source for source, _ in PAIRS]
    by_word = [by_words(source) for source in sources]
    expected = {"sdk": by_word, "old": by_word, "java": by_word, "join": sources, "curl": ["die lampe"] * len(PAIRS)}
    set_up(*expected)
    client = server.client("sdk")
    task = client.join("tiny")
    steps = run(task, WordByWord(), task.judge)
    done = [next(steps) for _ in range(4)]
    by_curl, first = curl(server, 3), old_client(server)

    server.kill()
    Path("go").touch()
    rest = threading.Thread(target=lambda: done.extend(steps))
    rest.start()
    processes = [first, java(server), join(server)]
    time.sleep(1)
    assert rest.is_alive()
    assert all(process.poll() is None for process in processes)
    server.start()

    rest.join()
    assert [process.wait() for process in processes] == [0, 0, 0], Path("log").read_text()
    curl(server, len(PAIRS) - 3, by_curl)
    assert [step.proposal.text for step in done] == by_word
    states = {name: server.run_of(name) for name in expected}
    assert {name: stored_translations(name, state) for name, state in states.items()} == expected
    assert {state.state for state in states.values()} == {"finished"}
    rewards = {name: state.cumulative_reward for name, state in states.items()}
    assert rewards == pytest.approx(rescored(expected), abs=1e-9)
    (joined,) = json.loads(mtloop("score", "join.jsonl", "--metrics", "reward", "--format", "json"))
    assert joined["cumulative_reward"] == pytest.approx(rewards["join"], abs=1e-9)
    client.close()
    if any(map(shutil.which, BROWSERS)):
        assert leaderboard(server) == {name: f"{reward:.2f}" for name, reward in rewards.items()}
