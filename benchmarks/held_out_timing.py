"""Attack the service by its response times: can a participant tell held-out sentences from others?

    python benchmarks/held_out_timing.py                   SQLite, 400 held-out and 800 other positions

Three attacks. "first": the time of each accepted translation in the first pass, when the service has no sentence in
memory. "accepted": the same over several later passes. "refused": every sentence has its reward; another translation of
it is refused, several times. Printed is the AUC: the share of pairs (held out, other) in which the held-out one took
longer. 0.5 means that time tells nothing, 1 or 0 that it tells everything.

Other load on the machine comes and goes, so times that are near each other are alike. Each block is compared with the
other sentences just before and after it, each of which counts for its nearest block only. Refusals come in a random
order. "by chance" is the interval in which 95 % of the means over the blocks lie if time tells nothing; its width is
that of the differences between the blocks. Times vary; that the work is equal is asserted by
tests/service/tasks/test_equal_work.py.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from mtloop.service.accounts.keys import hash_key, new_key
from mtloop.service.server import listen
from mtloop.service.settings import Settings
from mtloop.service.storage import Storage
from mtloop.service.tasks.creation import TaskFile, create_task

SOURCE = "Turn the handle of drawer {n} to the left until you hear it click."
REFERENCE = "Drehen Sie den Griff der Schublade {n} nach links, bis er einrastet."
ATTACK = "." * 9_000  # each dot is a word; a long text makes the work that is measured longer
SHORT = "Drehen Sie den Griff der Schublade nach links."


class Participant:
    """One connection that measures the time of each request."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"x-api-key": key, "content-type": "application/json"}

    def close(self) -> None:
        self._connection.close()

    def request(self, method: str, path: str, body: dict[str, str] | None = None) -> tuple[float, int, Any]:
        """Seconds, status and body of a response."""
        content = None if body is None else json.dumps(body)
        start = time.perf_counter()
        self._connection.request(method, path, content, self._headers)
        response = self._connection.getresponse()
        raw = response.read()
        return time.perf_counter() - start, response.status, json.loads(raw)

    def translate_pass(self, run: str, text: str) -> list[tuple[str, str, float]]:
        """Translate all sentences of a pass; return id, source and seconds of each."""
        sentence, found = self.request("GET", f"/v1/runs/{run}/next")[2], []
        while sentence:
            body = {"id": sentence["id"], "translation": text}
            seconds, status, response = self.request("POST", f"/v1/runs/{run}/translations", body)
            if status != 200:
                raise RuntimeError(f"{status}: {response}")
            found.append((sentence["id"], sentence["source"], seconds))
            sentence = response["next"]
        return found


def auc(held_out: Sequence[float], others: Sequence[float]) -> float:
    """The share of pairs in which the first is larger; equal ones count half."""
    wins = sum((one > other) + (one == other) / 2 for one in held_out for other in others)
    return wins / (len(held_out) * len(others))


def attack(participant: Participant, held_out: set[str], passes: int, repeats: int) -> None:
    """Make the attacks and print what they find."""
    run = participant.request("POST", "/v1/tasks/attacked/runs", {})[2]["run"]
    first = participant.translate_pass(run, SHORT)
    accepted: dict[int, list[float]] = {}
    last: list[tuple[str, str, float]] = []
    for _ in range(passes):
        participant.request("POST", f"/v1/runs/{run}/passes", {})
        last = participant.translate_pass(run, SHORT)
        for position, (_, _, seconds) in enumerate(last):
            accepted.setdefault(position, []).append(seconds)
    refused: dict[int, list[float]] = {}
    rng = random.Random(1)
    for _ in range(repeats):
        for position in rng.sample(range(len(last)), len(last)):
            body = {"id": last[position][0], "translation": ATTACK}
            seconds, status, _ = participant.request("POST", f"/v1/runs/{run}/translations", body)
            assert status == 409
            refused.setdefault(position, []).append(seconds)
    kinds = [source in held_out for _, source, _ in last]
    report("refused", refused, kinds)
    report("accepted", accepted, kinds)
    report("first", {position: [seconds] for position, (_, _, seconds) in enumerate(first)}, kinds)


def report(name: str, times: dict[int, list[float]], kinds: Sequence[bool]) -> None:
    """Print the AUC of the best of the times at each position, over all blocks, and the medians."""
    best = [1000 * min(times[position]) for position in range(len(kinds))]
    held = [value for value, kind in zip(best, kinds, strict=True) if kind]
    others = [value for value, kind in zip(best, kinds, strict=True) if not kind]
    medians = f"{statistics.median(held):.2f} ms held out, {statistics.median(others):.2f} ms others"
    found = [auc(*pair) for pair in around_blocks(best, kinds)]
    spread = 1.96 * statistics.stdev(found) / math.sqrt(len(found))
    chance = f"by chance {0.5 - spread:.3f} to {0.5 + spread:.3f}"
    counts = f"({medians}; {len(held)} and {len(others)} positions, {len(found)} blocks)"
    print(f"{name:10} AUC {statistics.mean(found):.3f}   {chance}   {counts}", flush=True)


def around_blocks(times: Sequence[float], kinds: Sequence[bool]) -> list[tuple[list[float], list[float]]]:
    """Return the times of each held-out block, and those of the other sentences that are nearer to it than to others.

    Sentences between two blocks are divided in the middle, so that a trend counts on both sides of a block. No time is
    in two comparisons: the interval by chance takes them as independent. A block with no such sentence is left out.

    >>> around_blocks([1, 2, 3, 4, 5, 6], [False, True, True, False, False, True])
    [([2, 3], [1, 4]), ([6], [5])]
    """
    found: list[tuple[list[float], list[float]]] = []
    before_next: list[float] = []
    for held_out, group in groupby(zip(kinds, times, strict=True), itemgetter(0)):
        part = [time for _, time in group]
        if held_out:
            found.append((part, before_next))
            before_next = []
        else:
            middle = len(part) // 2 if found else 0
            before_next = part[middle:]
            if found:
                found[-1][1].extend(part[:middle])
    if found:
        found[-1][1].extend(before_next)
    return [(block, near) for block, near in found if near]


@contextmanager
def serving(settings: Settings) -> Iterator[int]:
    """Run the service; yield its port."""
    with listen("127.0.0.1", 0) as probe:
        port = int(probe.getsockname()[1])
    changed = settings.model_copy(update={"port": port, "rate": 0, "quota": 0})
    environment = os.environ | changed.environment()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, "-m", "mtloop", "serve"], env=environment, stdout=quiet, stderr=quiet)
    try:
        _wait(port)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    for _ in range(300):
        try:
            with closing(Participant(port, "")) as probe:
                probe.request("GET", "/readyz")
            return
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
    raise RuntimeError("the service does not start")


async def prepare(settings: Settings, folder: Path, others: int, held_out: int, blocks: int) -> str:
    """Create the task and a participant; return the key."""
    files = {"source": folder / "en.txt", "reference": folder / "de.txt"}
    for path, text in zip(files.values(), (SOURCE, REFERENCE), strict=True):
        lines = [text.format(n=1000 + number) for number in range(others + held_out)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    storage, key = Storage.connect(settings.url), new_key()
    await storage.migrate()
    task = TaskFile("attacked", "mock", held_out=held_out, blocks=blocks, max_passes=0, reward="bleu", **files)
    await create_task(storage.tasks, task)
    await storage.accounts.add_participant("attacker", hash_key(key))
    await storage.close()
    return key


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", type=int, default=800, help="sentences that are not held out")
    parser.add_argument("--held-out", type=int, default=10, help="sentences of the held-out block")
    parser.add_argument("--blocks", type=int, default=40, help="times that the block is inserted")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    args = parser.parse_args(argv)
    if args.small:
        args.others, args.held_out, args.blocks, args.passes, args.repeats = 20, 5, 4, 1, 1
    with tempfile.TemporaryDirectory() as path:
        settings = Settings(folder=Path(path) / "data")
        key = asyncio.run(prepare(settings, Path(path), args.others, args.held_out, args.blocks))
        held_out = {SOURCE.format(n=1000 + args.others + number) for number in range(args.held_out)}
        with serving(settings) as port, closing(Participant(port, key)) as participant:
            attack(participant, held_out, args.passes, args.repeats)


if __name__ == "__main__":
    main()
