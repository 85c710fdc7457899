"""Small random recordings of human ratings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mtloop.core import Segment
from mtloop.selection.replay import Recording


def make_recording(
    means: Sequence[float], segments: int = 400, *, spread: float = 0.2, coverage: float = 1.0, seed: int = 1
) -> Recording:
    """Return ratings of systems s0, s1, ... with these means, a random effect per segment, and missing cells."""
    rng = np.random.default_rng(seed)
    level = np.array(means)[:, None] + rng.normal(0, spread / 2, segments)
    scores = np.clip(level + rng.normal(0, spread, (len(means), segments)), 0, 1)
    scores[rng.random(scores.shape) >= coverage] = np.nan
    names = tuple(f"s{number}" for number in range(len(means)))
    return Recording(names, tuple(Segment(str(i + 1), f"Save file {i}.") for i in range(segments)), scores)


def write_ratings(path: Path, recording: Recording) -> None:
    """Write a long table with scores on 0-100 and one row per rated cell."""
    with path.open("w", encoding="utf-8") as file:
        file.write("system\tsegment\tsource\tscore\n")
        for name, row in zip(recording.systems, recording.scores, strict=True):
            for segment, score in zip(recording.segments, row, strict=True):
                if not np.isnan(score):
                    file.write(f"{name}\t{segment.id}\t{segment.source}\t{100 * score:.1f}\n")
