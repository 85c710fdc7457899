"""Measure how well policies find the best systems on human scores: docs/results/selection-{wmt,effort}.md.

    python benchmarks/selection_quality.py tables HUMAN > tables.md
    python benchmarks/selection_quality.py effort HUMAN [--seed 1 --runs 30 --gold mean --scores z --picture effort.png]
    python benchmarks/selection_quality.py ewaf HUMAN [--seed 1 --runs 30]
    python benchmarks/selection_quality.py pairing HUMAN
    python benchmarks/selection_quality.py calibration [--seed 1 --runs 200]
    python benchmarks/selection_quality.py made [--seed 1 --runs 100 --shares 0.2,0.4,0.7,1]
    python benchmarks/selection_quality.py bounds HUMAN [--seed 1 --runs 30 --shares 0.2,0.4,0.7,1]

HUMAN is a folder with wmt20/ad-seg-scores-LP.csv, ad-sys-scores-LP.csv and metric-seg-scores-LP.tsv.gz,
wmt21/de-en.da.tsv.gz and mqm/mqm_newstest20{20,21}_ende.avg_seg_scores.tsv. `tables` is the protocol of Mendonça et al.
(2021): one shuffle, rewards rounded to two decimals, the mean weights of ten runs. `effort` uses a new shuffle in every
run and compares the result with the official ranking (`--gold mean`: the ranking by mean score). For EXP3 it adds ten
passes, and the mean weights of ten runs on each shuffle; the ratings of all ten runs count.

`made` and `bounds` compare the two bounds of `race`, on made and on human scores. The posterior risk at which it stops
is a share of 1 - confidence. `bounds` also chooses the share for each test set on the others.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mtloop.core import Segment
from mtloop.report.chart import Axis, Chart, Series
from mtloop.report.matplotlib_charts import save
from mtloop.selection import BatchPolicy, Race
from mtloop.selection.gold_comparison import Effort, Gold, evaluate_checkpoints, measure_effort, overlap_curve
from mtloop.selection.policies.race import RULES
from mtloop.selection.policies.registry import make_policy
from mtloop.selection.replay import History, Recording, Replay, segment_orders
from mtloop.selection.replay_input import ReplayInput, mean_scores

PAIRS = ("en-de", "de-en", "zh-en", "ja-en", "ps-en")
POLICIES = ("ewaf", "ewaf:step_size=anytime", "ewaf:variant=published", "exp3", "exp3:step_size=anytime",
            "exp3:variant=published", "ucb1", "thompson", "elimination", "race", "linucb")  # fmt: skip
EFFORT = ("race", "thompson", "ucb1", "elimination", "linucb", "ewaf", "exp3")
CHECKPOINTS = (10, 50, 100, 500, 1000)
SHARES = np.geomspace(0.002, 1, 120)
SHARES_OF_RISK = (0.2, 0.4, 0.7, 1.0)
RIGHT = 0.95  # the share of stops that must be right


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = ["tables", "effort", "ewaf", "pairing", "calibration", "made", "bounds"]
    parser.add_argument("what", choices=what, nargs="?", default="calibration", help="default: %(default)s")
    parser.add_argument("human", type=Path, nargs="?")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--metric", default="chrF")
    parser.add_argument("--policies", type=lambda names: names.split(","), help="for tables and effort")
    parser.add_argument("--gold", choices=["official", "mean"], default="official")
    parser.add_argument("--scores", choices=["raw", "z"], default="raw")
    parser.add_argument(
        "--shares", type=lambda texts: [float(text) for text in texts.split(",")], default=SHARES_OF_RISK
    )
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--small", action="store_true", help="two runs, to check that the script works")
    options = parser.parse_args(argv)
    if options.small:
        options.runs = 2
    if options.what == "calibration":
        calibration(options.runs or 200, options.seed)
    elif options.what == "made":
        made(options.shares, options.runs or 100, options.seed)
    elif options.human is None:
        parser.error("give the folder with the human scores (HUMAN)")
    elif options.what == "bounds":
        bounds(options.human, options.shares, options.runs or 30, options.seed)
    elif options.what == "pairing":
        pairing(options.human)
    elif options.what == "ewaf":
        ewaf_at_500(options.human, options.metric, options.runs or 30, options.seed)
    elif options.what == "tables":
        for line in tables(
            options.human, options.metric, options.policies or POLICIES, options.runs or 10, options.seed
        ):
            print(line, flush=True)
    else:
        inputs = {
            name: _with_options(each, options.gold, options.scores)
            for name, each in replay_inputs(options.human).items()
        }
        efforts(inputs, options.policies or EFFORT, options.runs or 30, options.seed, options.picture)


def replay_inputs(human: Path, metric: str | None = None) -> dict[str, ReplayInput]:
    found = {}
    for pair in PAIRS:
        scores = human / f"wmt20/metric-seg-scores-{pair}.tsv.gz" if metric else None
        gold = human / f"wmt20/ad-sys-scores-{pair}.csv"
        ratings = human / f"wmt20/ad-seg-scores-{pair}.csv"
        found[f"WMT20 {pair}"] = ReplayInput(ratings, metric_scores=scores, metric=metric, gold=gold)
    found["WMT21 de-en"] = ReplayInput(human / "wmt21/de-en.da.tsv.gz")
    for year in (2020, 2021):
        found[f"MQM {year} en-de"] = ReplayInput(human / f"mqm/mqm_newstest{year}_ende.avg_seg_scores.tsv")
    return found


def tables(human: Path, metric: str, policies: Sequence[str], runs: int, seed: int) -> Iterator[str]:
    """Yield one table per test set: policy x fallback, overlap of the top 1 and top 3 at each checkpoint."""
    for name, replay_input in replay_inputs(human, metric).items():
        recording, gold, _ = replay_input.read()
        size = len(recording.segments)
        at = [checkpoint for checkpoint in CHECKPOINTS if checkpoint < size] + [size]
        yield f"\n### {name}\n"
        yield _description(recording, gold)
        yield f"\n| policy | missing | {' | '.join(map(str, at))} | ratings (mean) | top 3 since |"
        yield "|---" * (len(at) + 4) + "|"
        fallbacks = (
            ("zero", "average", "metric", "skip") if recording.metric is not None else ("zero", "average", "skip")
        )
        for spec in policies:
            for missing in fallbacks if np.isnan(recording.scores).any() else ("skip",):
                yield _row(recording, gold, spec, missing, runs, seed, at)


def _description(recording: Recording, gold: Gold) -> str:
    systems, size = len(recording.systems), len(recording.segments)
    share = recording.ratings / (systems * size)
    best = ", ".join(f"{name} ({gold.raw[name]:.1f})" for name in gold.best)
    return f"{systems} systems x {size} segments, {recording.ratings:,} ratings ({share:.0%} of cells). Gold: {best}."


def _row(recording: Recording, gold: Gold, spec: str, missing: str, runs: int, seed: int, at: Sequence[int]) -> str:
    size = len(recording.segments)
    policy = make_policy(spec, recording.systems, horizon=size, runs=runs)
    history = Replay(recording, missing).run(policy, segment_orders(size, runs, seed), seed=seed, keep=at)
    cells = [f"{point.top1:.2f} {point.top3:.2f}" for point in evaluate_checkpoints(history, gold, at)]
    spent = f"{history.spent[-1].mean():.0f}"
    return f"| {spec} | {missing} | {' | '.join(cells)} | {spent} | {history.last_change} |"


def _with_options(replay_input: ReplayInput, gold: str, scores: str) -> ReplayInput:
    """Return the input with the chosen gold ranking and scores; MQM has neither an official ranking nor z scores."""
    if gold == "mean":
        replay_input = replace(replay_input, gold=None)
    standardised = scores == "z" and "mqm" not in replay_input.ratings.parts
    return replace(replay_input, score="z", scale="z") if standardised else replay_input


def efforts(
    inputs: dict[str, ReplayInput], policies: Sequence[str], runs: int, seed: int, picture: Path | None
) -> None:
    """Print one row per test set and policy, then the results of all WMT pairs together."""
    settle = "to settle within tie | never | to settle exactly"
    stops = "stopped | stops within tie | stops exactly right | at stop"
    print(f"| test set | policy | all ratings | ratings (median) | {settle} | {stops} |")
    print("|---" * 11 + "|", flush=True)
    pooled: dict[str, list[Effort]] = {spec: [] for spec in policies}
    curves: dict[str, list[np.ndarray]] = {spec: [] for spec in policies}
    for name, replay_input in inputs.items():
        recording, gold, _ = replay_input.read()
        for spec in policies:
            history = _run(recording, spec, runs, seed)
            found = measure_effort(history, gold, recording.ratings)
            print(_effort_row(name, spec, found), flush=True)
            if found.stopped:
                print(f"{name}, {spec}: {_tied_stops(history, gold)} stops right within a point on either side")
            if name.startswith("WMT"):
                pooled[spec].append(found)
                points = (SHARES * recording.ratings).astype(int).tolist()
                curves[spec].append(overlap_curve(history, gold, points, ties=True))
        if name.startswith("WMT") and "exp3" in policies:
            pooled.setdefault("exp3, ten passes", []).append(_ten_passes(recording, gold, runs, seed))
            pooled.setdefault("exp3, mean of ten runs", []).append(_averaged(recording, gold, runs, seed))
            for spec in ("exp3, ten passes", "exp3, mean of ten runs"):
                print(_effort_row(name, spec, pooled[spec][-1]), flush=True)
    for spec, found_all in pooled.items():
        print(_pooled(spec, found_all))
    if picture is not None:
        save(_chart(curves, runs), picture)


def _run(recording: Recording, spec: str, runs: int, seed: int) -> History:
    size = len(recording.segments)
    policy = make_policy(spec, recording.systems, horizon=size, runs=runs)
    return Replay(recording, "skip").run(policy, segment_orders(size, runs, seed, each=True), seed=seed)


def _ten_passes(recording: Recording, gold: Gold, runs: int, seed: int) -> Effort:
    """Return the effort of EXP3 with ten passes over the segments; a rating read again costs nothing."""
    size = len(recording.segments)
    policy = make_policy("exp3", recording.systems, horizon=10 * size, runs=runs)
    order = np.concatenate([segment_orders(size, runs, seed + part, each=True) for part in range(10)], axis=1)
    return measure_effort(Replay(recording, "skip").run(policy, order, seed=seed), gold, recording.ratings)


def _averaged(recording: Recording, gold: Gold, runs: int, seed: int) -> Effort:
    """Return the effort of the mean weights of ten EXP3 runs on one shuffle (as in the paper); all ratings count."""
    size = len(recording.segments)
    policy = make_policy("exp3", recording.systems, horizon=size, runs=10 * runs)
    order = np.repeat(segment_orders(size, runs, seed, each=True), 10, axis=0)
    history = _grouped(recording, policy, order, runs, seed)
    return measure_effort(history, gold, recording.ratings)


def _grouped(recording: Recording, policy: BatchPolicy, order: np.ndarray, runs: int, seed: int) -> History:
    """Return a replay whose weights are the mean of every ten runs."""
    replay, size = Replay(recording, "skip"), order.shape[1]
    whole = replay.run(policy, order, seed=seed, keep=range(1, size + 1))
    means = whole.weights.reshape(size, runs, 10, -1).mean(axis=2)
    tops = policy.top_indices(means, replay.top)
    spent = whole.spent.reshape(size, runs, 10).sum(axis=2)
    return History(policy.systems, size, tops, tops[:, 0], spent, whole.kept, means, [None] * runs)


def _effort_row(name: str, spec: str, found: Effort) -> str:
    table = found.to_json()
    total, stops = table["runs"], table["stopped"]
    right = [f"{table[f'stops_{key}']}/{stops}" if stops else "-" for key in ("right_within_tie", "exactly_right")]
    at = f"{table['ratings_at_stop']:.0f}" if stops else "-"
    numbers = [f"{table[key]:.0f}" for key in ("all_ratings", "median_ratings", "settled_within_tie")]
    exactly = f"{table['settled_exactly']:.0f}"
    cells = [name, spec, *numbers, f"{table['never_settled']}/{total}", exactly, f"{stops}/{total}", *right, at]
    return f"| {' | '.join(map(str, cells))} |"


def _pooled(spec: str, found: Sequence[Effort]) -> str:
    settled = np.concatenate([each.settled_within_tie for each in found])
    given_up = np.concatenate([np.minimum(each.settled_within_tie, each.ratings) for each in found])
    exact = np.concatenate([each.settled_exactly for each in found])
    stops, runs = sum(len(each.stopped) for each in found), settled.size
    tied = sum(sum(each.stops_right_within_tie) for each in found)
    exactly = sum(sum(each.stops_exactly_right) for each in found)
    rng = np.random.default_rng(1)
    low, high = np.percentile(np.median(rng.choice(settled, (2000, runs)), axis=1), [2.5, 97.5])
    text = f"{spec}: to settle {np.median(settled):.0f} (95 % interval {low:.0f} to {high:.0f})"
    text += f", exactly {np.median(exact):.0f}, if giving up costs only what was spent {np.median(given_up):.0f}"
    text += f"; stopped {stops}/{runs}"
    if stops:
        text += f", right within the tie {tied}/{stops} (at least {_wilson(tied, stops):.1%})"
        text += f", exactly right {exactly}/{stops} (at least {_wilson(exactly, stops):.1%})"
    return text


def _tied_stops(history: History, gold: Gold) -> int:
    """Count the stops where each wrong system is tied with a missed one, in either direction."""

    def is_tied(best: Sequence[str]) -> bool:
        extra = sorted(gold.raw[name] for name in set(best) - set(gold.best))
        missed = sorted(gold.raw[name] for name in set(gold.best) - set(best))
        return all(abs(one - other) <= gold.tie for one, other in zip(extra, missed, strict=True))

    return sum(is_tied(stop[1].best) for stop in history.stops if stop is not None)


def ewaf_at_500(human: Path, metric: str, runs: int, seed: int) -> None:
    """Print the number of shuffles in which EWAF has two of the top 3 after 500 segments, exactly and with ties."""
    for name, replay_input in replay_inputs(human, metric).items():
        recording, gold, _ = replay_input.read()
        size = len(recording.segments)
        for missing in ("zero", "average", "metric")[: 3 if recording.metric is not None else 2]:
            policy = make_policy("ewaf", recording.systems, horizon=size, runs=runs)
            history = Replay(recording, missing).run(policy, segment_orders(size, runs, seed, each=True), seed=seed)
            tops = [[recording.systems[index] for index in top] for top in history.tops[min(500, size) - 1]]
            exact = sum(sum(system in gold.best for system in top) >= 2 for top in tops)
            tied = sum(sum(gold.is_in_top_within_tie(system) for system in top) >= 2 for top in tops)
            print(f"{name}, missing {missing}: two or more in {exact} of {runs} shuffles, with ties {tied}", flush=True)


def pairing(human: Path) -> None:
    """Print the variance that pairing by segment removes from a difference: 1 - Var(a - b) / (Var a + Var b)."""
    for name, replay_input in replay_inputs(human).items():
        scores = replay_input.read()[0].scores
        own = np.nanvar(scores, axis=1)
        pairs = [(a, b) for a in range(len(scores)) for b in range(a)]
        gains = [1 - np.nanvar(scores[a] - scores[b]) / (own[a] + own[b]) for a, b in pairs]
        print(f"{name}: {np.mean(gains):.0%} (mean over pairs of systems)")


def calibration(runs: int, seed: int) -> None:
    """Print how often `race` is wrong in the hardest case: the fourth system is little more than a tie below the third.

    Simulated scores: a segment effect of 8 points, and noise of 20 points, as skewed as human scores.
    """
    for gap in (0.011, 0.02, 0.04):
        stops = wrong = 0
        for run in range(runs):
            recording = _simulated([0.75, 0.75, 0.70, 0.70 - gap, 0.66, 0.6], 1500, np.random.default_rng([seed, run]))
            policy = Race(recording.systems, evaluation_interval=20)  # no horizon
            (stop,) = Replay(recording, "skip", decimals=None).run(policy, segment_orders(1500, 1, seed)).stops
            stops += stop is not None
            wrong += stop is not None and not {"s0", "s1", "s2"} <= set(stop[1].best)
        print(f"gap {100 * gap:.1f} points: stopped {stops}/{runs}, of these wrong {wrong}", flush=True)


def _simulated(means: Sequence[float], segments: int, rng: np.random.Generator) -> Recording:
    noise = 0.2 * (1 - rng.exponential(1.0, (len(means), segments)))
    scores = np.array(means)[:, None] + rng.normal(0, 0.08, segments) + noise
    names = tuple(f"s{number}" for number in range(len(means)))
    return Recording(names, tuple(Segment(str(number), "") for number in range(segments)), scores)


@dataclass(frozen=True)
class Stops:
    """How many of some runs stopped early, how many of these were right, and the mean share of the ratings read."""

    runs: int
    stopped: int
    right: int
    read: float

    def row(self, *names: str) -> str:
        right, interval = f"{self.right}/{self.stopped}", "-"
        if self.stopped:
            interval = " to ".join(f"{100 * end:.1f}" for end in _interval(self.right, self.stopped))
        return f"| {' | '.join(names)} | {self.stopped}/{self.runs} | {right} | {interval} | {self.read:.1%} |"


def made(shares: Sequence[float], runs: int, seed: int) -> None:
    """Print how often each bound of `race` is right on made scores, and how much it reads. Right: within a point."""
    _print_head("made scores", "bound")
    for name, make in MADE.items():
        for bound in _bounds(shares):
            found = [_stops(make(np.random.default_rng([seed, run])), bound, 1, seed) for run in range(runs)]
            print(_together(found).row(name, bound), flush=True)


def bounds(human: Path, shares: Sequence[float], runs: int, seed: int) -> None:
    """Print the same on every human test set, and the result of the share that the other test sets choose."""
    _print_head("test set", "bound")
    found: dict[str, dict[str, Stops]] = {bound: {} for bound in _bounds(shares)}
    for name, replay_input in replay_inputs(human).items():
        recording, _, _ = replace(replay_input, gold=None).read()
        for bound, of_bound in found.items():
            of_bound[name] = _stops(recording, bound, runs, seed)
            print(of_bound[name].row(name, bound), flush=True)
    for bound, of_bound in found.items():
        read = np.mean([each.read / found["anytime"][name].read for name, each in of_bound.items()])
        print(_together(list(of_bound.values())).row("all", bound) + f" {read:.2f} of anytime", flush=True)
    left_out = {name: _chosen_by_others(found, name) for name in found["anytime"]}
    for name, bound in left_out.items():
        print(found[bound][name].row(f"{name}, left out", bound))
    print(_together([found[bound][name] for name, bound in left_out.items()]).row("all, left out", "chosen"))


def _print_head(what: str, bound: str) -> None:
    print(f"| {what} | {bound} | stopped | right | 95 % interval | ratings read |")
    print("|---" * 6 + "|", flush=True)


def _bounds(shares: Sequence[float]) -> list[str]:
    """The names of the bounds; those of the posterior risk with another share are added to the rules of `race`."""
    names = [f"posterior-{share:g}" for share in shares]
    RULES.update({name: replace(RULES["posterior"], share=share) for name, share in zip(names, shares, strict=True)})
    return ["anytime", *names]


def _stops(recording: Recording, bound: str, runs: int, seed: int) -> Stops:
    means = mean_scores(recording)
    history = _run(recording, f"race:bound={bound}", runs, seed)
    effort = measure_effort(history, Gold(means, means), recording.ratings)
    read = float(np.mean(effort.ratings)) / recording.ratings
    return Stops(runs, len(effort.stopped), sum(effort.stops_right_within_tie), read)


def _together(found: Sequence[Stops]) -> Stops:
    runs, stopped, right = (sum(getattr(each, name) for each in found) for name in ("runs", "stopped", "right"))
    return Stops(runs, stopped, right, float(np.mean([each.read for each in found])))


def _chosen_by_others(found: dict[str, dict[str, Stops]], left_out: str) -> str:
    """The bound that reads least on the other test sets, of those that are right there in 95 % of the stops."""
    others = {
        bound: _together([each for name, each in of_bound.items() if name != left_out])
        for bound, of_bound in found.items()
    }
    valid = [bound for bound, each in others.items() if each.right >= RIGHT * each.stopped]
    return min(valid or ["anytime"], key=lambda bound: others[bound].read)


def _drawn(rng: np.random.Generator) -> Recording:
    """6 to 19 systems whose means are drawn with a deviation of 2 to 6 points; half of the sets miss half the cells."""
    means = 0.75 + rng.normal(0, rng.uniform(0.02, 0.06), int(rng.integers(6, 20)))
    recording = _simulated(means.tolist(), int(rng.integers(700, 1500)), rng)
    missing = rng.random(recording.scores.shape) < rng.choice([0.0, 0.5])
    return replace(recording, scores=np.where(missing, np.nan, recording.scores))


MADE: dict[str, Callable[[np.random.Generator], Recording]] = {
    "drawn means": _drawn,
    "fourth 1.1 points below third": lambda rng: _simulated([0.75, 0.75, 0.70, 0.689, 0.66, 0.6], 1500, rng),
    "three tied, nine 1.1 points below": lambda rng: _simulated([0.75] * 3 + [0.739] * 9, 1000, rng),
}


def _wilson(hits: int, size: int) -> float:
    """Return the lower end of the 95 % Wilson interval of a proportion."""
    return _interval(hits, size)[0]


def _interval(hits: int, size: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a proportion."""
    z, share = 1.96, hits / size
    centre = share + z * z / (2 * size)
    half = z * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return (centre - half) / (1 + z * z / size), (centre + half) / (1 + z * z / size)


def _chart(curves: dict[str, list[np.ndarray]], runs: int) -> Chart:
    series = tuple(
        Series(spec, 100 * SHARES, np.mean(found, axis=0), number + 1)
        for number, (spec, found) in enumerate(curves.items())
    )
    x = Axis("ratings spent, % of all ratings", log=True, ticks=(0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0))
    y = Axis("share of the top 3 found (ties count)", range=(0.0, 1.05))
    return Chart("effort", f"Ratings needed to find the top 3: mean of six language pairs x {runs} runs", x, y, series)


if __name__ == "__main__":
    main()
