"""Every script in `benchmarks/` runs on little data and prints its numbers. What they are is not tested."""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
from helpers.tiers import slow
from helpers.tiny_marian import write_tiny

from mtloop.nmt.engine.weights import Weights
from mtloop.nmt.scopes.dense import Dense
from mtloop.service.settings import Settings

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if path.name != "run_all.py")
NUMBER = r" +-?\d+(\.\d+)?"
# Even the small run of these takes a while.
SLOW = (
    "attacks.py",
    "glossary.py",
    "projects.py",
    "propose_many.py",
    "service.py",
    "workbench.py",
)
# What each script prints: a pattern, and how often it occurs.
PRINTED = {
    "attacks.py": (r"^\w+ +\S.{45}.{40}\S", 39),
    "baselines.py": (rf"^\S.*{NUMBER} of the variance removed, 95 % interval{NUMBER} to{NUMBER}", 3),
    "cost.py": (
        rf"^(decode, batch \d|step) +(plain|mtloop|lora).* a (token|segment)  ratio{NUMBER}|^ +\d{NUMBER}$",
        2 * 3 + 1 + 2 * 3 + 2,  # two batches; plain; lora and lora+memory+copy in three precisions; two sizes
    ),
    "curves.py": (rf"^ +(bleu|chrf|ter) .* ratio{NUMBER}$|^ +\w+ .*{NUMBER} corpus scores", 8),
    "glossary.py": (rf"^(of these hit|with(out | ).*|no missed term, all){NUMBER}|95 % interval +\(", 6),
    "held_out_timing.py": (rf"^(refused|accepted|first) +AUC{NUMBER}   by chance{NUMBER} to{NUMBER} ", 3),
    "memory.py": (rf"^{NUMBER}{NUMBER}{NUMBER}{NUMBER}$", 2),
    "online_step.py": (rf"^ +(decode|learn|step)  plain.* ratio{NUMBER}$|fast takes{NUMBER} x", 4),
    "projects.py": (
        rf"^(translate|confirm|cold project) +p\d+ of .* ratio{NUMBER}|^(snapshot|engine){NUMBER} MB|^growth{NUMBER} of"
        rf"|^[a-z+-]+{NUMBER}$",
        21,
    ),
    "propose_many.py": (
        rf"^(many at a time|in chunks|as translate) .* s   ratio{NUMBER}( |$)|^translations that differ: \d of 6 ",
        4,
    ),
    "protected_text.py": (
        rf"^(lost, doubled or broken|put back by rule|BLEU (of .* units|as the product|of the model alone)) *{NUMBER}$",
        5,
    ),
    "selection.py": (rf" ratio{NUMBER}$", 2),
    "selection_quality.py": (rf"^gap{NUMBER} points: stopped \d/2, of these wrong \d$", 3),
    "service.py": (rf"^(no-op|sqlite){NUMBER}{NUMBER}{NUMBER}{NUMBER}$", 2),
    "smt.py": (rf"^ +\d+{NUMBER}{NUMBER}{NUMBER}{NUMBER}{NUMBER}{NUMBER}{NUMBER}$", 2),
    "steps.py": (rf"{NUMBER} ms per step,{NUMBER} of full$", 20),  # the default without its check, and the peers too
    "ter.py": (rf"^synthetic: .* ratio{NUMBER}$", 1),
    "workbench.py": (rf"^(opening|confirming) .* ratio{NUMBER}$", 2),
}


# The rows of attacks.py in which a number says that an attack fails, however small it is.
HELD_OFF = {
    "1a": "answer 431$",
    "1b": r"^answers 414 and 431, others wait \d+ ms at most$",
    "3a": "exit code 2$",
    "3b": "^10 passes a run, 10 runs: 100 passes a participant$",
    "4": r"^0 of [1-9]\d* exact scores found, 0 answers show held-out values$",
    "5": r"^0 of [1-9]\d* rewards wrong$",
    "6": "^file 0600, folder 0700$",
    "7a": r"^0 of [1-9]\d* stay",
    "7b": "^another's answer: 200 .* s, logged$",
    "8": "^accepted of 120 each: keys 100, sign-ins 100, runs 120, bodies 120$",
    "8c": "^100 of 200 guesses accepted, the link: answer 200$",
    "10a": r"^/readyz: 503 after .* a new run: 503 after .* others wait \d+ ms at most$",
    "10b": "^not ready$",
    "10c": "^not ready$",
    "10d": "^exit code 2, 1 line$",
    "retry": "^served after it: 2 of 2, a second earlier: 0 of 2$",
    "clock": "^0 of 16",
    "kill": "^0 of 3 workers left, 0 folders left",
    "abort": r"^0 of [1-9]\d* counted",
    "form": "^answer 400",
    "signs": "^answer 400",
    "fields": "^answer 422",
    "campaign": "^answer 201",
    "lines": "^0 of 8$",
    "bin": r"^0 of [1-9]\d*, of odd models 0 of [1-9]\d*$",
    "names": "^0 of 4 accepted$",
    "slash": "the host is not echoed$",
    "metrics": "^answer 401, shows no task$",
    "methods": "^Allow: GET, PATCH, PATCH: 422, NUL in the schema$",
}


@pytest.fixture(autouse=True)
def _process_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore what the scripts change in their process: the import path and the number of threads."""
    import torch

    threads = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", [slow(name) if name in SLOW else name for name in SCRIPTS])
def test_script_runs_small_and_prints_its_numbers(
    load_benchmark: Callable[[str], ModuleType], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name in PRINTED, f"benchmarks/{name} is new: add what it prints with --small to PRINTED"
    pattern, count = PRINTED[name]
    load_benchmark(name).main(["--small"])
    printed = capsys.readouterr().out
    assert len(re.findall(pattern, printed, re.MULTILINE)) == count, printed
    assert not re.search(r"\b(nan|inf)\b", printed), printed
    if name == "attacks.py":
        check_attacks(printed)


def check_attacks(printed: str) -> None:
    """What the service holds against must be in the column `now`. Times and memory are printed only."""
    rows = {line.split()[0]: line[95:] for line in printed.splitlines()[1:]}
    for name, expected in HELD_OFF.items():
        if rows[name] != "not measured: RuntimeError: no right to mount a file system":
            assert re.search(expected, rows[name]), f"{name}: {rows[name]}"
    assert not [name for name in rows.keys() - HELD_OFF.keys() if rows[name].startswith("not measured")], printed


def test_differences_of_regrets_give_exact_scores_if_these_are_exact(
    load_benchmark: Callable[[str], ModuleType],
) -> None:
    script, scores = load_benchmark("attacks.py"), [0.25, 0.5, 0.125, 0.75]
    exact = {number: sum(1 - score for score in scores[:number]) / number for number in range(1, 5)}
    assert script.found_scores(exact, scores) == 4
    assert script.found_scores({number: round(regret, 1) for number, regret in exact.items()}, scores) < 4
    assert script.found_scores({2: exact[2], 4: exact[4]}, scores) == 0
    assert script.found_scores({}, scores) == 0


@pytest.mark.parametrize("size", ["SMALL", "FULL"])
def test_the_titles_of_attacks_have_the_sizes_that_are_run(
    load_benchmark: Callable[[str], ModuleType], size: str
) -> None:
    script = load_benchmark("attacks.py")
    sizes = getattr(script, size)
    titles = {attack.name: attack.title.format(sizes=sizes, dots=0) for attack in script.ATTACKS}
    assert titles["1a"].startswith(f"{sizes.header_lines:,} header lines")
    assert titles["9"].startswith(f"{sizes.stored_passes:,} passes")
    assert all(
        len(title) < 46 and len(attack.before) < 40
        for attack, title in zip(script.ATTACKS, titles.values(), strict=True)
    )


def test_guesses_meet_the_default_limits(load_benchmark: Callable[[str], ModuleType]) -> None:
    limits = load_benchmark("attacks.py").LIMITED
    assert limits == {"rate": Settings().rate, "quota": Settings().quota}


@pytest.mark.parametrize(("slower", "is_found"), [(1.0, False), (1.03, True)])
def test_held_out_sentences_are_compared_with_those_around_them(
    load_benchmark: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str], slower: float, is_found: bool
) -> None:
    """Load that comes and goes shows no difference where none is, and hides none."""
    script, rng, load, times = load_benchmark("held_out_timing.py"), Random(1), 1.0, dict[int, list[float]]()
    kinds = [number % 30 < 10 for number in range(1200)]
    for position, held_out in enumerate(kinds):
        load = rng.uniform(0.8, 1.5) if rng.random() < 0.01 else load
        times[position] = [load * rng.uniform(0.9, 1.1) * (slower if held_out else 1)]
    script.report("accepted", times, kinds)
    found = re.search(r"AUC ([\d.]+) +by chance ([\d.]+) to ([\d.]+)", capsys.readouterr().out)
    assert found is not None
    auc, low, high = map(float, found.groups())
    assert (not low <= auc <= high) == is_found


@pytest.mark.parametrize(
    ("pattern", "pairs"),
    [
        ("oHHoH", [([1, 2], [0]), ([4], [3])]),
        ("HoooHoooooH", [([0], [1]), ([4], [2, 3, 5, 6]), ([10], [7, 8, 9])]),
        ("ooHoo", [([2], [0, 1, 3, 4])]),
        ("HoHoH", [([2], [1]), ([4], [3])]),  # the first block has no neighbour left
        ("oo", []),
    ],
)
def test_no_sentence_is_compared_with_two_blocks(
    load_benchmark: Callable[[str], ModuleType], pattern: str, pairs: list[tuple[list[int], list[int]]]
) -> None:
    """H is held out, o is not. The interval by chance takes the blocks as independent."""
    script = load_benchmark("held_out_timing.py")
    assert script.around_blocks(range(len(pattern)), [letter == "H" for letter in pattern]) == pairs


def test_no_pattern_without_a_script() -> None:
    assert sorted(PRINTED) == SCRIPTS


@pytest.mark.parametrize("tied", [False, True])
def test_online_step_has_the_weights_of_the_plain_loop(
    load_benchmark: Callable[[str], ModuleType], tied: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tiny(tmp_path, tied=tied)
    load_benchmark("online_step.py").main(["--small", "--model", str(tmp_path)])
    assert "the same tokens, weights equal to" in capsys.readouterr().out


def test_online_step_refuses_updates_that_are_not_applied(
    load_benchmark: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny(tmp_path)
    monkeypatch.setattr(Dense, "commit", lambda self: None)
    with pytest.raises(AssertionError, match="some updates are not applied to the weights"):
        load_benchmark("online_step.py").main(["--small", "--model", str(tmp_path)])


def test_online_step_notices_lost_updates(
    load_benchmark: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tiny(tmp_path)
    monkeypatch.setattr(Weights, "apply_pending", lambda self: self.pending.clear())
    with pytest.raises(AssertionError, match="segment 0: the weights differ by"):
        load_benchmark("online_step.py").main(["--small", "--model", str(tmp_path)])


@pytest.mark.parametrize(
    ("what", "pattern", "count"),
    [
        ("tables", rf"^\| (ewaf|race) \| \w+ \|{NUMBER}{NUMBER} \|", 2 * 8),
        ("effort", rf"^(ewaf|race): to settle{NUMBER} \(95 % interval{NUMBER} to{NUMBER}\)", 2),
        ("ewaf", r": two or more in \d of 2 shuffles, with ties \d$", 5 * 3 + 3 * 2),
        ("pairing", r": -?\d+% \(mean over pairs of systems\)$", 8),
        (
            "bounds",
            r"^\| [^|]+ \| (anytime|posterior-[\d.]+|chosen) \| \d+/\d+ \| \d+/\d+ \| .* \d+\.\d% \|",
            8 * 5 + 5 + 8 + 1,
        ),
    ],
)
def test_selection_quality_on_human_scores(
    load_benchmark: Callable[[str], ModuleType],
    what: str,
    pattern: str,
    count: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_human_scores(tmp_path)
    load_benchmark("selection_quality.py").main([what, str(tmp_path), "--small", "--policies", "ewaf,race"])
    printed = capsys.readouterr().out
    assert len(re.findall(pattern, printed, re.MULTILINE)) == count, printed


def write_human_scores(folder: Path) -> None:
    """Write complete ratings of four systems on twelve segments, in the file formats of WMT and of MQM."""
    cells = [(f"s{system}.1", segment, 90 - 9 * system - segment) for system in range(4) for segment in range(1, 13)]
    for name in ("wmt20", "wmt21", "mqm"):
        (folder / name).mkdir()
    for pair in ("en-de", "de-en", "zh-en", "ja-en", "ps-en"):
        rows = [f"{system} {segment} {score} {score / 50 - 1} 1" for system, segment, score in cells]
        write_lines(folder / f"wmt20/ad-seg-scores-{pair}.csv", "SYS SID RAW.SCR Z.SCR N", *rows)
        means = [f"{80 - 9 * system} {1 - system / 5} 12 s{system}.1 12" for system in range(4)]
        write_lines(folder / f"wmt20/ad-sys-scores-{pair}.csv", "RAW.SCR Z.SCR N SYS N.ALL", *means)
        rows = [f"chrF\t{pair}\tset\tset\t{system}\tdoc\t{segment}\t{score / 100}" for system, segment, score in cells]
        write_lines(folder / f"wmt20/metric-seg-scores-{pair}.tsv.gz", *rows)
    rows = [f"de-en\t{system}\t{segment}\t{score}\t{score / 50 - 1}\t1\tSatz" for system, segment, score in cells]
    write_lines(folder / "wmt21/de-en.da.tsv.gz", "lp\tsystem\tseg_id\traw\tz\tn_judgments\tsource", *rows)
    for year in (2020, 2021):
        rows = [f"{system} {(score - 100) / 10} {segment}" for system, segment, score in cells]
        path = folder / f"mqm/mqm_newstest{year}_ende.avg_seg_scores.tsv"
        write_lines(path, "system mqm_avg_score seg_id", *rows)


def write_lines(path: Path, *lines: str) -> None:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write("\n".join([*lines, ""]))


def test_selection_quality_on_made_scores(
    load_benchmark: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    load_benchmark("selection_quality.py").main(["made", "--small", "--shares", "0.4"])
    printed = capsys.readouterr().out
    assert len(re.findall(r"^\| .* \| (anytime|posterior-0.4) \| \d/2 \| \d/\d \|", printed, re.MULTILINE)) == 6


def test_the_share_for_a_test_set_is_chosen_on_the_others(load_benchmark: Callable[[str], ModuleType]) -> None:
    script = load_benchmark("selection_quality.py")
    read = {"anytime": 0.4, "low": 0.3, "high": 0.2}
    found = {bound: {name: script.Stops(20, 20, 20, share) for name in "abc"} for bound, share in read.items()}
    found["high"]["a"] = script.Stops(20, 20, 15, 0.2)
    chosen = {name: script._chosen_by_others(found, name) for name in "abc"}
    assert chosen == {"a": "high", "b": "low", "c": "low"}
