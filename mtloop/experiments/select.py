"""`mtloop.select`: replay recorded human ratings to compare policies that find the best systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.core.names import list_names
from mtloop.data import Ratings
from mtloop.experiments.replay_plan import Orders, ReplayOptions, ReplayPlan
from mtloop.experiments.selection_result import SelectionResult
from mtloop.report.picture import check_drawing
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

    `ratings` is a file, or what `mtloop.data.read_ratings` returns. A policy is a name with settings, such as
    `race:top=1`. `missing` replaces missing ratings: zero, average, metric or skip. `orders`: shuffle the segments in
    each run ("each"), or once for all runs ("one"). Up to `tie` points of 100 below the lowest of the gold top 3, a
    system is right within the tie. `out` is a folder for charts and traces. The options of `mtloop select` have the
    same names.
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
    plan = ReplayPlan(recording, ranking, options, "" if isinstance(ratings, Ratings) else Path(ratings).name)
    results = tuple(plan.result(spec, trace=out is not None) for spec in specs)
    result = SelectionResult(plan, results, (*notes, *_warnings(specs, missing)))
    if out is not None:
        result.write(out)
    return result


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
