"""What an engine counts for /metrics."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class EngineFigures:
    """What an engine did since it started. Several threads may count."""

    lessons: int = 0
    lesson_seconds: float = 0.0
    loads: int = 0  # of projects: a snapshot, and the lessons after it
    rebuilds: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count_lesson(self, seconds: float) -> None:
        with self._lock:
            self.lessons += 1
            self.lesson_seconds += seconds

    def count_load(self) -> None:
        with self._lock:
            self.loads += 1

    def count_rebuild(self) -> None:
        with self._lock:
            self.rebuilds += 1
