"""Several charts at once in a notebook."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtloop.core.errors import InputError, UnknownName, need
from mtloop.report.chart import Chart
from mtloop.report.picture import Picture

if TYPE_CHECKING:
    from mtloop.metrics.evaluation import Evaluation

WIDTH = 768  # of a picture in a notebook, in pixels


def plot(charts: Iterable[Chart]) -> Plot:
    """Return the charts for a notebook; needs matplotlib."""
    need("matplotlib", "report")
    return Plot(tuple(map(Picture, charts)))


def plot_curves(evaluation: Evaluation) -> Plot:
    """Return the score of all segments so far, one chart per metric."""
    from mtloop.report.evaluation_charts import learning_curve_chart

    if not evaluation.additive:
        raise InputError("there is nothing to plot; a curve needs an additive metric, such as bleu or r1")
    return plot(learning_curve_chart(evaluation, metric) for metric in evaluation.additive)


@dataclass(frozen=True, eq=False, repr=False)
class Plot:
    """Charts that a notebook shows one below the other; `plot["curve-bleu"]` is one of them."""

    pictures: tuple[Picture, ...]

    def __repr__(self) -> str:
        count = f"{len(self)} chart{'' if len(self) == 1 else 's'}"
        return f"Plot of {count}: {', '.join(self._by_name())}; it shows in a notebook; save it with .save('folder')"

    def __len__(self) -> int:
        return len(self.pictures)

    def __iter__(self) -> Iterator[Picture]:
        return iter(self.pictures)

    def __getitem__(self, name: str) -> Picture:
        named = self._by_name()
        if name not in named:
            raise UnknownName("chart", name, named, owner="this plot")
        return named[name]

    def save(self, folder: str | Path, suffix: str = "png") -> list[Path]:
        """Write each chart to `folder/NAME.png` (or .svg) and return the paths."""
        return [picture.save(Path(folder) / f"{name}.{suffix}") for name, picture in self._by_name().items()]

    def _by_name(self) -> dict[str, Picture]:
        return {picture.chart.name: picture for picture in self.pictures}

    def _repr_html_(self) -> str:
        return "".join(map(_image, self.pictures))


def _image(picture: Picture) -> str:
    data = base64.b64encode(picture._repr_png_()).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{html.escape(picture.chart.title)}" width="{WIDTH}">'
