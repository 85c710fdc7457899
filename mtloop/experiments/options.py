"""The keyword arguments that several functions take, with their types, so that editors and type checkers know them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict


class ExperimentOptions(TypedDict, total=False):
    """Fields of `Experiment` and how they can be given: what `run`, `compare` and `tune` take.

    `model`: the embedded en-de, a folder, or a Hugging Face name. `columns`: as in "source=A,target=B".
    `source_lang`, `target_lang` (or `lang`): languages of the data. `shuffle`: random seed (0: keep the order). `skip`,
    `limit` (0: all), `distinct`: which segments. `schedule`: each, delay:K, blocks:WORDS or blocks:WORDS:unfair.
    `delta`: a saved adaptation to start from. `beam_size`: 1 is greedy. `config`: a TOML file with these fields.
    """

    model: str | None
    columns: str | None
    source_lang: str | None
    target_lang: str | None
    lang: str | None
    skip: int | None
    limit: int | None
    shuffle: int | None
    distinct: bool | None
    schedule: str | None
    threads: int | None
    delta: str | Path | None
    beam_size: int | None
    config: str | Path | None


class TaskOptions(TypedDict, total=False):
    """Fields of `BanditTask`: what `bandit` takes for a task from a file.

    `held_out`: number of sentences at the end of the data that form a block; it is inserted `blocks` times. `reward`: a
    metric. `noise`: granularity, variance or skew of the rater. `thumbs`: rewards are 1 from this value on, else 0.
    `delay`: number of sentences until a reward arrives. The other fields are as in `ExperimentOptions`.
    """

    columns: str | None
    source_lang: str | None
    target_lang: str | None
    lang: str | None
    skip: int | None
    limit: int | None
    shuffle: int | None
    distinct: bool | None
    held_out: int | None
    blocks: int | None
    reward: str | None
    noise: Mapping[str, float] | None
    thumbs: float | None
    seed: int | None
    delay: int | None
