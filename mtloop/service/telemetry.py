"""What operators see: counters for Prometheus, and a JSON line a request. Never a key, a reference or a text."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

LOGGED = ("mtloop.service", "uvicorn.error")  # and nothing else: drivers log what they are asked, texts included
LOGGER = logging.getLogger("mtloop.service")
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class Meters:
    """The counters of one application; those of all workers are added up when they are read."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        shared: dict[str, Any] = {"registry": self._registry}
        self.requests = Counter("mtloop_requests_total", "Requests answered.", (*labels, "status"), **shared)
        self.seconds = Histogram("mtloop_request_seconds", "Time to answer.", labels, buckets=BUCKETS, **shared)
        self.rewards = Counter("mtloop_rewards_total", "Rewards given, those given again included.", **shared)

        self._found: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def seen(self, method: str, route: str, status: int, seconds: float) -> None:
        found = self._found.get((method, route, status))
        if found is None:  # methods, routes and statuses are few: remember their counters
            found = self.requests.labels(method, route, str(status)), self.seconds.labels(method, route)
            self._found[method, route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def text(self, tasks: list[dict[str, Any]]) -> bytes:
        """The page that Prometheus reads: the counters, and what the database says of the tasks."""
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(registry)) + bytes(generate_latest(_of_tasks(tasks)))


def _of_tasks(tasks: list[dict[str, Any]]) -> CollectorRegistry:
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


_encode = json.JSONEncoder(ensure_ascii=False).encode


def log(event: str, fields: Mapping[str, Any]) -> None:
    """A line for every request: without looking up who asked for it, which costs more than the rest."""
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.handle(LOGGER.makeRecord(LOGGER.name, logging.INFO, "", 0, event, (), None, extra={"fields": fields}))


class JsonLines(logging.Formatter):
    """One JSON object a line; of an exception its kind and where it happened, never its message, which may quote."""

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
            line["at"] = _places(record.exc_info[2])
        return _encode(line)


@lru_cache(maxsize=4)
def _second(when: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(when))


def _places(traceback: Any) -> list[str]:
    """The innermost frames of an error, as file:line."""
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        found.append(f"{os.path.basename(code.co_filename)}:{traceback.tb_lineno}")  # noqa: PTH119
        traceback = traceback.tb_next
    return found[-8:]


def log_to_stderr() -> None:
    """JSON lines on standard error, uvicorn's own among them."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in LOGGED:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
