"""Write a fingerprint of behaviour: the translations of every method, and the numbers of every instrument.

    python scripts/fingerprint.py before.txt
    python scripts/fingerprint.py after.txt && diff before.txt after.txt

It calls the command line on the demo document with the embedded model: neural, statistical and bandit methods, scores,
a replayed selection, a rating campaign, a small search for settings, offline learning, and a shared task over HTTP.
Only texts and numbers are written, no messages and no trace headers, so two versions that behave alike write equal
files. About four minutes on two cores.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# All names of mtloop that this script uses. After a renaming, only this table must change.
VERB = {
    "run": ["run"],
    "train": ["train"],
    "translate": ["translate"],
    "score": ["score"],
    "bandit": ["bandit"],
    "learn-offline": ["learn-offline"],
    "select": ["select"],
    "tune": ["tune"],
    "campaign-create": ["campaign", "create"],
    "campaign-export": ["campaign", "export"],
    "rate": ["rate"],
    "serve": ["serve"],
    "task-create": ["task", "create"],
    "task-trace": ["task", "trace"],
    "participant-add": ["participant", "add"],
    "join": ["join"],
}
OPTION = {
    name: f"--{name}"
    for name in (
        "baseline block-words blocks checkpoint-every data decoder-layers delta encoder-layers engine epochs estimator"
        " ffn folder format heads held-out jobs key-file kind lang limit method methods metric metrics missing model"
        " noise orders out policies port rater ratings reference report-rows resamples runs schedule seed set"
        " smt-model source space steps system task thumbs trace trials tune-rows valid vocab vocab-size warmup"
        " width word-model workers"
    ).split()
}
VALUE = {
    "smt": "smt",
    "json": "json",
    "skip": "skip",
    "each": "each",
    "mock": "mock",
    "word": "word",
}
DEFAULT = "lora+memory+copy"
BASELINE = "baseline"
NEURAL = [
    *(BASELINE, "copy-source", "bias", "full", "top", "fixed", "lasso", "lora", "memory"),
    *("knn-mt", "knn-adaptive", "knn-kok", "sk-mt", "similar-tuning"),
    *("full+memory", "lasso+memory", "lora+memory", "full+memory+copy", DEFAULT),
]
STATISTICAL = ["smt-baseline", "smt-adapting", "smt-foreground", "smt-foreground-unfair"]
BANDITS = [
    *("nmt-el", "nmt-el-cv", "nmt-el-recall", "nmt-el-ridge", "nmt-reinforce", "nmt-szo"),
    *("smt-el-cv", "smt-el-cv-adadelta", "smt-el-cv-adam", "smt-szo-cv-adam"),
    *("limsi-ucb1", "limsi-sampling", "limsi-select"),
    *("lexical", "wnmt-baseline", "wnmt-el", "domain-adaptation", "nmt-oracle", "smt-oracle"),
]
SETTING = {
    name: name
    for name in (
        "annealing_start beam_size bias_learning_rate clipping copy_start_bonus dropout exploration"
        " foreground general_data gradient_clipping kl_weight learning_rate loss_threshold max_memory_weight"
        " max_piece_tokens max_updates nbest_size negative_weight neighbours optimiser rank replay_pairs"
        " reward_baseline scope selected_pairs selection_interval stream_length target_perplexity top_k top_p"
        " weight_average"
    ).split()
}
METRICS = ["bleu", "chrf", "ter", "sbleu", "wmt17", "r0", "r1", "r01", "r2", "rer", "slope-u", "slope-ca", "hter", "rr"]
METRICS += ["near-better", "near-worse", "flips"]
POLICIES = ["ewaf", "exp3", "ucb1", "thompson", "elimination", "race", "linucb", "exp3:variant=published", "race:top=1"]
TRACE = {"step": "step", "feedback": "feedback"}  # kinds of lines
FIELD = {"proposal": "proposal", "text": "text", "feedback": "feedback", "learned": "learned", "updates": "updates"}
FIELD |= {"reward": "value", "index": "index", "late": "step", "runs": "runs", "run": "run"}
PATH = {
    "ready": "/readyz",
    "board": "/v1/tasks/{task}/leaderboard",
    "curves": "/v1/runs/{run}/curves",
    "runs": "/v1/runs",
}
FILE = {"state": ".state", "trials": "trials.jsonl"}
KEY = "x-api-key"

SEGMENTS = 60  # of the demo document, for each method but the default, which gets all of it
VARIANTS = [  # method, settings that change the computation, further options
    ("full", {"kl_weight": 0.3, "replay_pairs": 2}, {}),
    ("full", {"loss_threshold": 4.0, "weight_average": 0.2, "gradient_clipping": "scale"}, {}),
    ("lora", {"rank": 4, "bias_learning_rate": 0.05}, {"schedule": "delay:3"}),
    ("lasso", {"max_updates": 2, "target_perplexity": 1.5}, {"schedule": "blocks:100"}),
    (
        DEFAULT,
        {"beam_size": 3, "max_memory_weight": 0.6, "neighbours": 4, "copy_start_bonus": 3.0, "max_piece_tokens": 12},
        {},
    ),
    (BASELINE, {"beam_size": 4}, {}),
]
BANDIT_VARIANTS = [
    (
        "nmt-el-cv",
        {"top_k": 20, "top_p": 0.9, "exploration": 0.5, "dropout": 0.1, "kl_weight": 0.1, "negative_weight": 0.5},
    ),
    ("nmt-el-cv", {"optimiser": "adam", "scope": "lora", "clipping": "score", "annealing_start": 0.5}),
    ("nmt-el-recall", {"reward_baseline": "critic", "scope": "bias"}),
]


class Fingerprint:
    """Sections of text, in a fixed order. The name of a section is the method or command that produced it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.demo = Path(__file__).parent.parent / "mtloop" / "demo" / "manual.en-de.tsv"
        rows = [line.split("\t") for line in self.demo.read_text(encoding="utf-8").splitlines()[1:]]
        self.pairs = [(row[0], row[1]) for row in rows]

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        models = self._train()
        jobs = [*self._runs(), *self._statistical(models)]
        with ThreadPoolExecutor(2) as pool:
            yield from pool.map(lambda job: (job[0], self._run(*job)), jobs)
        yield from self._deltas()
        yield from self._scores()
        yield from self._bandits(models)
        yield from self._offline()
        yield from self._tune()
        yield from self._selection()
        yield from self._campaign()
        yield from self._service()

    def _train(self) -> dict[str, Path]:
        train, valid = self._table("train.tsv", self.pairs[100:]), self._table("valid.tsv", self.pairs[80:100])
        smt, words = self.folder / "smt", self.folder / "words"
        mtloop("train", engine=VALUE["smt"], data=train, valid=valid, out=smt)
        sizes = {"vocab": VALUE["word"], "vocab-size": 300, "steps": 8}
        mtloop("train", data=train, valid=valid, out=words, **sizes, **SMALL)
        return {"smt": smt, "word": words, "train": train}

    def _runs(self) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
        for method in NEURAL:
            yield method, method, {}, {} if method == DEFAULT else {"limit": SEGMENTS}
        for number, (method, settings, options) in enumerate(VARIANTS):
            yield f"{method} variant {number}", method, settings, {"limit": SEGMENTS} | options

    def _statistical(self, models: dict[str, Path]) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
        for method in STATISTICAL:
            yield method, method, {}, {"limit": SEGMENTS, "model": models["smt"], "schedule": "blocks:150"}
        rescoring = {"foreground": "rescoring", "nbest_size": 10}
        yield "smt rescoring", "smt-adapting", rescoring, {"limit": SEGMENTS, "model": models["smt"]}

    def _run(self, name: str, method: str, settings: dict[str, Any], options: dict[str, Any]) -> list[str]:
        out = self.trace(name)
        mtloop("run", data=self.demo, method=method, out=out, **options, settings=settings)
        return steps(out)

    def trace(self, name: str) -> Path:
        return self.folder / f"{name.replace(' ', '-')}.jsonl"

    def _deltas(self) -> Iterator[tuple[str, list[str]]]:
        text = "".join(source + "\n" for source, _ in self.pairs[200:220])
        for method in (DEFAULT, "lasso", "full+memory"):
            state = self.trace(method).with_suffix(FILE["state"])
            yield f"translate with {method}", mtloop("translate", delta=state, text=text).splitlines()

    def _scores(self) -> Iterator[tuple[str, list[str]]]:
        names = [*NEURAL[:-1], *STATISTICAL]
        first, *others = [self.trace(name) for name in names]
        output = mtloop(
            "score", *others, baseline=first, metrics=",".join(METRICS), lang="de", format=VALUE["json"],
            **{"block-words": 200, "resamples": 50},
        )  # fmt: skip
        yield "scores", numbers(output)

    def _bandits(self, models: dict[str, Path]) -> Iterator[tuple[str, list[str]]]:
        task, out = self._table("task.tsv", self.pairs[:16]), self.folder / "bandits"
        shown = {"task": task, "held-out": 4, "blocks": 2, "jobs": 2}
        options = {"smt-model": models["smt"], "word-model": models["word"]}
        settings = {
            "general_data": models["train"],
            "selection_interval": 4,
            "selected_pairs": 4,
            "nbest_size": 10,
        }
        mtloop("bandit", methods=",".join([BASELINE, *BANDITS]), out=out, **shown, **options, settings=settings)
        for method in [BASELINE, *BANDITS]:
            yield f"bandit {method}", steps(out / f"{method}.jsonl")
        for number, (method, own) in enumerate(BANDIT_VARIANTS):
            out = self.folder / f"bandit-{number}"
            noise = {"noise": "granularity=10"} if number else {"thumbs": 0.3}
            mtloop("bandit", methods=method, out=out, **shown, **noise, seed=7, settings=own)
            yield f"bandit {method} variant {number}", steps(out / f"{method}.jsonl")

    def _offline(self) -> Iterator[tuple[str, list[str]]]:
        out, log = self.folder / "offline.safetensors", self.folder / "bandits" / "nmt-el.jsonl"
        mtloop("learn-offline", trace=log, out=out, estimator="doubly-controlled", epochs=1)
        text = "".join(source + "\n" for source, _ in self.pairs[220:230])
        yield "learned offline", mtloop("translate", delta=out, text=text).splitlines()

    def _tune(self) -> Iterator[tuple[str, list[str]]]:
        out = self.folder / "tune"
        rows = {"tune-rows": "1-16", "report-rows": "17-24", "trials": 3, "metric": "ter"}
        space = f"{SETTING['learning_rate']}=1e-3:2e-2:log"
        mtloop("tune", data=self.demo, method="bias", space=space, out=out, **rows)
        yield "tune", numbers("[" + ",".join((out / FILE["trials"]).read_text().splitlines()) + "]")

    def _selection(self) -> Iterator[tuple[str, list[str]]]:
        ratings = self.folder / "ratings.tsv"
        ratings.write_text("\n".join(random_ratings()) + "\n", encoding="utf-8")
        for policy in POLICIES:
            options = {"missing": VALUE["skip"], "runs": 3, "orders": VALUE["each"], "format": VALUE["json"]}
            output = mtloop("select", ratings=ratings, policies=policy, **options)
            yield f"select {policy}", numbers(output)

    def _campaign(self) -> Iterator[tuple[str, list[str]]]:
        source, a, b = (self.folder / name for name in ("src.txt", "a.txt", "b.txt"))
        for path, column in ((source, 0), (a, 1), (b, 0)):
            path.write_text("".join(pair[column] + "\n" for pair in self.pairs[:12]), encoding="utf-8")
        out = self.folder / "campaign"
        systems = [OPTION["system"], f"a={a}", OPTION["system"], f"b={b}"]
        mtloop("campaign-create", source=source, out=out, more=systems)
        mtloop("rate", out, rater="kim", text="80\n20\ns\n70\nu\n60\n35\n90\n10\nq\n")
        yield "campaign", mtloop("campaign-export", out).splitlines()

    def _service(self) -> Iterator[tuple[str, list[str]]]:
        data, log = self.folder / "service", self.folder / "service.log"
        texts = {"source": self.folder / "src.txt", "reference": self.folder / "a.txt"}
        blocks = {"held-out": 2, "blocks": 2}
        mtloop("task-create", "tiny", kind=VALUE["mock"], **texts, **blocks, folder=data)
        key = self.folder / "key.txt"
        key.write_text(mtloop("participant-add", "team", folder=data).split()[-1], encoding="utf-8")
        key.chmod(0o600)
        with serving(data, log) as url:
            for method in (BASELINE, "nmt-el-cv"):
                out = self.trace(f"joined {method}")
                mtloop("join", url, task="tiny", method=method, out=out, more=[OPTION["key-file"], str(key)])
                yield f"joined {method}", steps(out)
            secret = key.read_text(encoding="utf-8").strip()
            yield "leaderboard", numbers(fetch(url + PATH["board"].format(task="tiny"), secret))
            listed = json.loads(fetch(url + PATH["runs"], secret))[FIELD["runs"]]
            runs = [run[FIELD["run"]] for run in listed]
            yield "curves", sorted(str(numbers(fetch(url + PATH["curves"].format(run=run), secret))) for run in runs)
        yield "exported runs", sorted(self._exported(run, data) for run in runs)

    def _exported(self, run: str, data: Path) -> str:
        out = self.folder / f"exported-{run}.jsonl"
        mtloop("task-trace", run, out=out, folder=data)
        return "\n".join(steps(out))

    def _table(self, name: str, pairs: Iterable[tuple[str, str]]) -> Path:
        path = self.folder / name
        rows = ["source\ttarget", *(f"{source}\t{target}" for source, target in pairs)]
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return path


SMALL = {
    "width": 16,
    "heads": 2,
    "ffn": 32,
    "encoder-layers": 1,
    "decoder-layers": 1,
    "warmup": 2,
    "checkpoint-every": 8,
    "workers": 1,
}


def mtloop(verb: str, *arguments: object, text: str = "", more: Iterable[str] = (), **options: Any) -> str:
    """Return the output of one command. `settings` become --set; `more` is appended to the arguments."""
    settings = options.pop("settings", {})
    command = [sys.executable, "-m", "mtloop", *VERB[verb], *map(str, arguments), *more]
    for name, value in options.items():
        command += [OPTION[name], str(value)]
    for name, value in settings.items():
        command += [OPTION["set"], f"{SETTING[name]}={value}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", env=environment())
    if done.returncode:
        raise SystemExit(f"{' '.join(command[2:])}\n{done.stderr}")
    return done.stdout


def environment() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}


def steps(path: Path) -> list[str]:
    """Return the translations of a trace with their feedback and number of updates, one line each."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    late = {one[FIELD["late"]]: one for one in lines if one["kind"] == TRACE["feedback"]}
    found = []
    for one in (line for line in lines if line["kind"] == TRACE["step"]):
        record = late.get(one[FIELD["index"]], one) if FIELD["index"] in one else one
        feedback, learned = record.get(FIELD["feedback"]) or {}, record.get(FIELD["learned"]) or {}
        answer = feedback.get(FIELD["reward"], feedback.get(FIELD["text"], ""))
        found.append(f"{one[FIELD['proposal']].get(FIELD['text'], '')} | {answer} | {learned.get(FIELD['updates'], 0)}")
    return found


def numbers(document: str) -> list[str]:
    """Return every number in a JSON document, in order; the names of the fields do not matter."""
    return [f"{value:.10g}" for value in _numbers(json.loads(document))]


def _numbers(node: Any) -> Iterator[float]:
    if isinstance(node, bool) or node is None or isinstance(node, str):
        return
    if isinstance(node, int | float):
        yield node
    else:
        for one in node.values() if isinstance(node, dict) else node:
            yield from _numbers(one)


def random_ratings() -> Iterator[str]:
    """Yield random ratings of five systems on 150 segments; two thirds of the cells are rated."""
    rng = random.Random(5)
    yield "system\tsegment\tsource\tscore"
    for system, mean in enumerate((45, 52, 60, 66, 71)):
        for segment in range(150):
            score = min(100.0, max(0.0, rng.gauss(mean, 20)))
            if rng.random() < 0.66:
                yield f"s{system}\t{segment + 1}\tSave file {segment}.\t{score:.1f}"


@contextmanager
def serving(folder: Path, log: Path) -> Iterator[str]:
    """Run a service on a free port and yield its address."""
    command = [sys.executable, "-m", "mtloop", *VERB["serve"], OPTION["folder"], str(folder), OPTION["port"], "0"]
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stderr=errors, stdout=errors, env=environment())
    try:
        yield wait_until_ready(log)
    finally:
        process.terminate()
        process.wait(30)


def wait_until_ready(log: Path) -> str:
    """The address of the service, once it answers."""
    for _ in range(600):
        found = re.search(r"http://127\.0\.0\.1:[1-9]\d*", log.read_text(encoding="utf-8"))
        if found and is_ready(found[0]):
            return found[0]
        time.sleep(0.1)
    raise SystemExit("the service did not start: " + log.read_text(encoding="utf-8"))


def is_ready(url: str) -> bool:
    try:
        return bool(fetch(url + PATH["ready"], ""))
    except OSError:
        return False


def fetch(url: str, key: str) -> str:
    request = urllib.request.Request(url, headers={KEY: key} if key else {})
    with urllib.request.urlopen(request, timeout=10) as response:
        return str(response.read().decode())


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit("usage: python scripts/fingerprint.py OUT.txt")
    with tempfile.TemporaryDirectory() as folder:
        output = []
        for name, lines in Fingerprint(Path(folder)).sections():
            print(f"{name}: {len(lines)}", file=sys.stderr)
            output += [f"## {name}", *lines, ""]
    Path(sys.argv[1]).write_text("\n".join(output), encoding="utf-8")


if __name__ == "__main__":
    main()
