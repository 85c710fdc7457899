"""`mtloop.select`: replay recorded human ratings to compare policies that find the best systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from mtloop.core.errors import InputError
from mtloop.core.names import list_names
from mtloop.core.types import JSON
from mtloop.data import Ratings
from mtloop.experiments.replay_plan import Orders, ReplayOptions, ReplayPlan
from mtloop.experiments.selection_result import SelectionResult
from mtloop.report.picture import check_drawing
from mtloop.report.result_file import DataFile, Origin
from mtloop.report.selection_intervals import SEED as RESAMPLING_SEED
from mtloop.selection.policies.registry import check_spec, has_stopping_rule
from mtloop.selection.replay_input import ReplayInput
from mtloop.text.settings_files import check_settings


def select(
    ratings: str | Path | Ratings,
    policies: str | Sequence[str] = "ewaf",
    *,
    missing: str = "zero",
    runs: int = 10,
    seed: int = 1,
    orders: Orders = "each",
    gold: str | Path | None = None,
    gold_column: str = "Z.SCR",
    tie: float = 1.0,
    metric_scores: str | Path | None = None,
    metric: str | None = None,
    metric_map: str = "range",
    exclude: Sequence[str] = (),
    score: str | None = None,
    language_pair: str | None = None,
    scale: str | None = None,
    decimals: int = 2,
    checkpoints: Sequence[int | str] = ReplayOptions.checkpoints,
    out: str | Path | None = None,
) -> SelectionResult:
    """Replay human ratings: measure how soon policies find the best systems, and how many ratings they need.

    Args:
        ratings: A file with ratings, or what `mtloop.data.read_ratings` returns.
        policies: Names of policies, as a list or as text with commas. Settings follow after colons: `race:top=1`.
        missing: Replacement of missing ratings: `zero`, `average`, `metric` or `skip`.
        runs: Number of runs.
        seed: Random seed.
        orders: Shuffle the segments in each run (`each`), or once for all runs (`one`).
        gold: File with official system scores (default: the mean human scores).
        gold_column: Column of `gold` that ranks the systems.
        tie: A system this many points of 100 below the lowest of the gold top 3, or fewer, is right within the tie.
        metric_scores: File with automatic scores of the same translations.
        metric: The automatic metric that replaces missing ratings, with `missing="metric"`.
        metric_map: Scaling of the automatic scores: `range` (minimum to 0, maximum to 1) or `none`.
        exclude: Patterns of systems to leave out, such as `HUMAN*`.
        score: Column with the scores, if the file has several.
        language_pair: Language pair, if the file has several.
        scale: Scale of the scores: `da`, `mqm`, `z`, `binary`, `unit` or `pairwise`.
        decimals: Number of decimals to which rewards are rounded.
        checkpoints: Iterations at which the results are reported.
        out: Folder for charts and traces.
    """
    specs = _specs(policies)
    replayed = {"missing": missing, "decimals": decimals, "runs": runs, "seed": seed, "orders": orders}
    options = ReplayOptions(**check_settings(ReplayOptions, replayed), checkpoints=checkpoints)
    replay_input = _input(
        ratings,
        metric_scores=metric_scores,
        metric=metric,
        metric_map=metric_map,
        gold=gold,
        gold_column=gold_column,
        exclude=exclude,
        scale=scale,
        score=score,
        language_pair=language_pair,
        tie=tie,
    )
    _check_folder(out)
    recording, ranking, notes = replay_input.read()
    origin = _origin(replay_input, options, specs, len(recording.segments))
    plan = ReplayPlan(recording, ranking, options, "" if isinstance(ratings, Ratings) else Path(ratings).name)
    results = tuple(plan.result(spec, trace=out is not None) for spec in specs)
    result = SelectionResult(plan, results, (*notes, *_warnings(specs, missing)), origin)
    if out is not None:
        result.write(out)
    return result


def _origin(replayed: ReplayInput, options: ReplayOptions, specs: Sequence[str], segments: int) -> Origin:
    """Where the result comes from: the files, and how they were read and replayed."""
    names = ("scale", "score", "language_pair", "gold_column", "exclude", "metric", "metric_map", "tie", "top")
    settings: dict[str, JSON] = {"policies": list(specs)}
    settings |= {name: _plain(getattr(replayed, name)) for name in names}
    settings |= {name: getattr(options, name) for name in ("missing", "decimals", "runs", "orders")}
    settings["checkpoints"] = [int(one) if str(one).isdigit() else one for one in options.checkpoints]
    others = [DataFile.read(path) for path in (replayed.gold, replayed.metric_scores) if path is not None]
    seeds = {"replay": options.seed, "resampling": RESAMPLING_SEED}
    return Origin("select", [_ratings_file(replayed.ratings, segments), *others], settings, seeds)


def _plain(value: object) -> JSON:
    return list(value) if isinstance(value, tuple) else cast(JSON, value)


def _ratings_file(ratings: Path | Ratings, segments: int) -> DataFile:
    """The file with the ratings; without a name if they were read before."""
    return DataFile("", segments=segments) if isinstance(ratings, Ratings) else DataFile.read(ratings, segments)


def _specs(policies: str | Sequence[str]) -> list[str]:
    """The policies as a list; raise InputError if there is none, or one is wrong."""
    specs = list_names(policies, "policy")
    for spec in specs:
        check_spec(spec)
    return specs


def _input(ratings: str | Path | Ratings, **options: object) -> ReplayInput:
    """The input of the replay; raise InputError if an option has a wrong type."""
    given = options if isinstance(ratings, Ratings) else {"ratings": ratings, **options}
    return ReplayInput(**{"ratings": ratings} | check_settings(ReplayInput, given, types={"ratings": Path}))


def _check_folder(out: str | Path | None) -> None:
    """Raise an error before the work begins if charts cannot be written."""
    if out is None:
        return
    if not isinstance(out, str | Path):
        raise InputError(f"out is {out!r}; expected the name of a folder")
    if Path(out).exists() and not Path(out).is_dir():
        raise InputError("is a file, not a folder to write to", path=out)
    check_drawing()


def _warnings(specs: Sequence[str], missing: str) -> list[str]:
    """Warn that the confidence of a stopping rule is not valid with replaced ratings."""
    stopping = [spec for spec in specs if has_stopping_rule(spec)]
    if not stopping or missing == "skip":
        return []
    return [f"the confidence of {' and '.join(stopping)} is valid with --missing skip, not with {missing}"]
