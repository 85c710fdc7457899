"""Reports: one self-contained HTML file, and pictures beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError, need

if TYPE_CHECKING:
    from mtloop.metrics.evaluation import Evaluation, SystemResult
    from mtloop.report.learning_curves import LearningCurves

Progress: TypeAlias = Callable[[Iterable[Any], int, str], Iterable[Any]]
SUFFIXES = (".html", ".htm")
PICTURES = ("png", "svg")


def write_report(
    evaluation: Evaluation,
    out: Path,
    *,
    pictures: Sequence[str] = ("png",),
    title: str | None = None,
    command: str = "",
    results: Sequence[SystemResult] | None = None,
    study: LearningCurves | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write the report and its pictures; returns the files, the report first.

    `out` is `NAME.html`; pictures ("png", "svg") go to the folder `NAME_files` beside it. `command` is shown as
    the way to make the report again. `results`, if computed before, are those of `evaluation`; `progress` wraps
    what takes long, as tqdm does: items, how many, what they are. `study` adds the 2012 paper's table and figures.
    """
    check(out, pictures)
    from mtloop.report.evaluation_charts import make_charts
    from mtloop.report.page import Page

    watched = progress or _unwatched
    total = len(evaluation.systems) * len(evaluation.metrics)
    known = list(watched(evaluation.results(), total, "scoring")) if results is None else results
    charts = make_charts(evaluation, known, tuple(study.charts()) if study else ())
    page = Page(evaluation, known, charts, title or _title(evaluation), command, study).html()
    drawn = list(watched(_draw(charts, out, pictures), len(charts) * len(pictures), "drawing"))
    write_text(out, page)
    return [out, *drawn]


def check(out: Path, pictures: Sequence[str] = ()) -> None:
    """Whatever could keep a report from being written, found before the work begins."""
    if out.is_dir():
        raise InputError("is a folder; name a file to write, such as report.html", path=out)
    if out.suffix.lower() not in SUFFIXES:
        raise InputError("the report is an HTML file; give it a name that ends in .html", path=out)
    nearest = next(folder for folder in out.parents if folder.exists())
    if not nearest.is_dir():
        raise InputError("is a file, not a folder to write to", path=nearest)
    if unknown := set(pictures).difference(PICTURES):
        raise InputError(f"unknown kind of picture: {', '.join(sorted(unknown))}; known: {', '.join(PICTURES)}")
    need("plotly", "report")
    if pictures:
        need("matplotlib", "report")


def _draw(charts: Iterable[Any], out: Path, pictures: Sequence[str]) -> Iterator[Path]:
    from mtloop.report.matplotlib_charts import save

    folder = out.with_name(f"{out.stem}_files")
    for chart in charts:
        for kind in pictures:
            path = folder / f"{chart.name}.{kind}"
            save(chart, path)
            yield path


def _title(evaluation: Evaluation) -> str:
    others = [system for system in evaluation.systems if system != evaluation.baseline]
    against = f" against {evaluation.baseline}" if evaluation.baseline and others else ""
    names = ", ".join(others or evaluation.systems) if len(others) < 4 else f"{len(others)} systems"
    return f"How fast does it learn? {names}{against}"


def _unwatched(items: Iterable[Any], total: int, what: str) -> Iterable[Any]:
    return items
