"""Reports: one self-contained HTML file, and a folder with pictures."""

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
    learning_curves: LearningCurves | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Write the report and its pictures; return the paths, the report first.

    `out` is `NAME.html`; pictures ("png", "svg") go to the folder `NAME_files` beside it. The page shows `command` as
    the way to reproduce it. `results` are those of `evaluation`, if already computed. `progress(items, total, label)`
    wraps long loops, as tqdm does. `learning_curves` adds the table and figures of the 2012 paper.
    """
    check(out, pictures)
    from mtloop.report.evaluation_charts import make_charts
    from mtloop.report.page import Page

    progress = progress or _no_progress
    total = len(evaluation.systems) * len(evaluation.metrics)
    if results is None:
        results = list(progress(evaluation.results(), total, "scoring"))
    charts = make_charts(evaluation, results, tuple(learning_curves.charts()) if learning_curves else ())
    page = Page(evaluation, results, charts, title or _default_title(evaluation), command, learning_curves).html()
    drawn = list(progress(_draw(charts, out, pictures), len(charts) * len(pictures), "drawing"))
    write_text(out, page)
    return [out, *drawn]


def check(out: Path, pictures: Sequence[str] = ()) -> None:
    """Raise an error before the work begins if the report cannot be written to `out` or a package is missing."""
    if out.is_dir():
        raise InputError("is a folder; name a file to write, such as report.html", path=out)
    if out.suffix.lower() not in SUFFIXES:
        raise InputError("the report is an HTML file; give it a name that ends in .html", path=out)
    nearest = next(folder for folder in out.parents if folder.exists())
    if not nearest.is_dir():
        raise InputError("is a file, not a folder to write to", path=nearest)
    if unknown := set(pictures).difference(PICTURES):
        raise InputError(f"unknown picture format: {', '.join(sorted(unknown))}; known: {', '.join(PICTURES)}")
    need("jinja2", "report")
    if pictures:
        need("matplotlib", "report")


def _draw(charts: Iterable[Any], out: Path, pictures: Sequence[str]) -> Iterator[Path]:
    from mtloop.report.matplotlib_charts import save

    folder = out.with_name(f"{out.stem}_files")
    for chart in charts:
        for suffix in pictures:
            path = folder / f"{chart.name}.{suffix}"
            save(chart, path)
            yield path


def _default_title(evaluation: Evaluation) -> str:
    others = [system for system in evaluation.systems if system != evaluation.baseline]
    against = f" against {evaluation.baseline}" if evaluation.baseline and others else ""
    names = ", ".join(others or evaluation.systems) if len(others) < 4 else f"{len(others)} systems"
    return f"How fast does it learn? {names}{against}"


def _no_progress(items: Iterable[Any], total: int, label: str) -> Iterable[Any]:
    return items
