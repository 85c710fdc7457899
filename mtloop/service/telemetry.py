"""Metrics for Prometheus, and one JSON log line for each request. Neither holds keys, references or texts."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from mtloop.core.locks import locked, try_lock

LOGGED = ("mtloop.service", "uvicorn.error")  # no others: database drivers log queries with their texts
LOGGER = logging.getLogger("mtloop.service")
FOLDER = "mtloop-metrics-"
OWNER = "owner.lock"  # locked by the process that the folder belongs to
NEW_SECONDS = 60  # a folder may be this old before its lock counts: a service that starts has not locked it yet
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)

ENGINE_METRICS: dict[str, tuple[type[GaugeMetricFamily] | type[CounterMetricFamily], str]] = {
    "projects": (GaugeMetricFamily, "Projects in memory."),
    "snapshots": (GaugeMetricFamily, "Snapshots in the cache."),
    "snapshot_bytes": (GaugeMetricFamily, "Bytes of the snapshots in the cache."),
    "lessons": (CounterMetricFamily, "Lessons learned, those of rebuilt projects included."),
    "lesson_seconds": (CounterMetricFamily, "Seconds spent on lessons."),
    "loads": (CounterMetricFamily, "Projects loaded from a snapshot or begun."),
    "rebuilds": (CounterMetricFamily, "Projects rebuilt after an undo, a new method or a large import."),
}


class ServiceMetrics:
    """The metrics of one application. Those of all workers are summed when they are read."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        shared: dict[str, Any] = {"registry": self._registry}
        self.requests = Counter("mtloop_requests_total", "Number of requests.", (*labels, "status"), **shared)
        self.seconds = Histogram("mtloop_request_seconds", "Response time.", labels, buckets=BUCKETS, **shared)
        self.rewards = Counter("mtloop_rewards_total", "Number of rewards given, repeated requests included.", **shared)

        self._labelled: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        labelled = self._labelled.get((method, route, status))
        if labelled is None:  # looking up labels is slow, and there are few combinations
            labelled = self.requests.labels(method, route, str(status)), self.seconds.labels(method, route)
            self._labelled[method, route, status] = labelled
        labelled[0].inc()
        labelled[1].observe(seconds)

    def text(self, tasks: list[dict[str, Any]], engines: Mapping[int, Mapping[str, float]]) -> bytes:
        """The metrics in Prometheus' text format: with the activity of each task, and the figures of each engine."""
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return (
            bytes(generate_latest(registry)) + bytes(generate_latest(_task_metrics(tasks))) + _engine_metrics(engines)
        )


def _task_metrics(tasks: list[dict[str, Any]]) -> CollectorRegistry:
    registry = CollectorRegistry()
    found = {
        "runs": Gauge("mtloop_task_runs", "Runs of a task.", ("task",), registry=registry),
        "participants": Gauge("mtloop_task_participants", "Participants in a task.", ("task",), registry=registry),
        "translated": Gauge("mtloop_task_translations", "Sentences translated.", ("task",), registry=registry),
    }
    for task in tasks:
        for name, gauge in found.items():
            gauge.labels(task["name"]).set(task[name])
    return registry


class _EngineCollector(Collector):
    """The figures of engines, which count themselves."""

    def __init__(self, engines: Mapping[int, Mapping[str, float]]) -> None:
        self._engines = engines

    def collect(self) -> Iterator[Metric]:
        for name, (family, text) in ENGINE_METRICS.items():
            metric = family(f"mtloop_engine_{name}", text, labels=["engine"])
            for index, figures in self._engines.items():
                metric.add_metric([str(index)], figures[name])
            yield metric


def _engine_metrics(engines: Mapping[int, Mapping[str, float]]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_EngineCollector(engines))
    return bytes(generate_latest(registry))


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """A folder for the metrics of all workers, removed at the end. Folders of killed services are removed first."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError):  # another user's, or removed meanwhile
            _remove_unused(folder)
    with tempfile.TemporaryDirectory(prefix=FOLDER) as made, locked(Path(made) / OWNER):
        yield Path(made)


def _remove_unused(folder: Path) -> None:
    """Remove a folder whose service has ended without removing it: then nobody holds its lock."""
    owner = folder / OWNER
    if time.time() - owner.stat().st_mtime < NEW_SECONDS:
        return
    lock = try_lock(owner, temporary=False)
    if lock is not None:
        lock.release()
        shutil.rmtree(folder)


_encode = json.JSONEncoder(ensure_ascii=False).encode


def log(event: str, fields: Mapping[str, Any]) -> None:
    """Log an event. It skips the search for the calling function, which takes most of the time of a log line."""
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.handle(LOGGER.makeRecord(LOGGER.name, logging.INFO, "", 0, event, (), None, extra={"fields": fields}))


class JsonFormatter(logging.Formatter):
    """One JSON object per line. Of an exception: its class and stack, not its message, which may quote a text."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": f"{_second(int(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        extra = getattr(record, "fields", None)
        line |= extra if isinstance(extra, Mapping) else {}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["at"] = _stack(record.exc_info[2])
        return _encode(line)


@lru_cache(maxsize=4)
def _second(when: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when))


def _stack(traceback: Any) -> list[str]:
    """The innermost frames of an exception, as file:line."""
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        found.append(f"{os.path.basename(code.co_filename)}:{traceback.tb_lineno}")  # noqa: PTH119
        traceback = traceback.tb_next
    return found[-8:]


def log_to_stderr() -> None:
    """Log JSON lines to standard error, those of uvicorn too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in LOGGED:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
