"""The keyword arguments that several functions take, with their types, so that editors and type checkers know them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict


class ExperimentOptions(TypedDict, total=False):
    """Fields of `Experiment` and how they can be given: what `run`, `compare` and `tune` take.

    Attributes:
        model: The embedded `en-de`, a folder, or a Hugging Face name.
        columns: Column names in the data: `source=A,target=B`.
        source_lang: Source language of the data.
        target_lang: Target language of the data.
        lang: The same as `target_lang`.
        skip: Number of segments to leave out at the start.
        limit: Maximum number of segments (0: all).
        shuffle: Random seed (0: keep the order).
        distinct: Leave out segments with a source seen before.
        schedule: When the method learns: `each`, `delay:K`, `blocks:WORDS` or `blocks:WORDS:unfair`.
        threads: Number of CPU threads.
        delta: A saved adaptation to start from.
        beam_size: Number of hypotheses in beam search (1: greedy).
        preset: The year of a paper whose settings apply: `2012`, `2017` or `2019`. Other settings take precedence.
        config: A TOML file with these fields.
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
    preset: str | None
    config: str | Path | None


class TaskOptions(TypedDict, total=False):
    """Fields of `BanditTask`: what `bandit` takes for a task from a file.

    Attributes:
        columns: Column names in the data: `source=A,target=B`.
        source_lang: Source language of the data.
        target_lang: Target language of the data.
        lang: The same as `target_lang`.
        skip: Number of sentences to leave out at the start.
        limit: Maximum number of sentences (0: all).
        shuffle: Random seed (0: keep the order).
        distinct: Leave out sentences with a source seen before.
        held_out: Number of held-out sentences, taken from the end of the data.
        blocks: Number of times the held-out block is inserted.
        reward: The metric that gives the reward.
        noise: Noise of the rater: `granularity`, `variance` or `skew`.
        thumbs: Binary rewards: 1 from this value on, else 0.
        seed: Random seed of the rater's noise.
        delay: Number of sentences until a reward arrives.
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
