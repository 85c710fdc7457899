"""Snapshots of learners in the database, and the newest ones in memory."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import threading
import zipfile
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner, Stateful
from mtloop.core.serialisation import encode
from mtloop.core.types import Learned
from mtloop.service.engines.learner_state import LearnerState, LoadedSnapshot
from mtloop.service.project_log.models import SnapshotInfo
from mtloop.service.project_log.store import ProjectStore
from mtloop.service.telemetry import LOGGER

T = TypeVar("T")
REJECTED_FILE = "rejected.json"


class SnapshotCache:
    """The newest snapshot of each project, up to a number of bytes in all; the least recently used are dropped.

    Several threads may use it.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes, self.bytes_ = max_bytes, 0
        self._items: OrderedDict[int, tuple[str, bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._items)

    def get(self, project_id: int, digest: str) -> bytes | None:
        with self._lock:
            found = self._items.get(project_id)
            if found is None or found[0] != digest:
                return None
            self._items.move_to_end(project_id)
            return found[1]

    def put(self, project_id: int, digest: str, data: bytes) -> None:
        with self._lock:
            self._drop(project_id)
            self._items[project_id] = digest, data
            self.bytes_ += len(data)
            while self.bytes_ > self._max_bytes:
                self._drop(next(iter(self._items)))

    def remove(self, project_id: int) -> None:
        with self._lock:
            self._drop(project_id)

    def _drop(self, project_id: int) -> None:
        _, data = self._items.pop(project_id, ("", b""))
        self.bytes_ -= len(data)


class DatabaseSnapshots:
    """The snapshots of one project. Its methods are called in threads; the database lives in the event loop."""

    def __init__(
        self,
        project_id: int,
        store: ProjectStore,
        cache: SnapshotCache,
        platform: str,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._project_id, self._store, self._cache = project_id, store, cache
        self._platform, self._loop = platform, loop
        self._known: dict[str, SnapshotInfo] = {}

    def digests(self) -> Mapping[str, int]:
        self._known = self._wait(self._store.snapshots(self._project_id))
        return {digest: info.lessons for digest, info in self._known.items()}

    def load(self, digest: str, learner: Learner) -> LoadedSnapshot | None:
        data = self._cache.get(self._project_id, digest)
        if data is None:
            data = self._wait(self._store.read_snapshot(self._project_id, digest))
        if data is None:
            return None
        try:
            rejected = unpack(data, learner)
        except InputError as error:  # the base model of this name is another one now
            LOGGER.warning("snapshot deleted", extra={"fields": {"project": self._project_id, "reason": str(error)}})
            self._cache.remove(self._project_id)
            self.delete([digest])
            return None
        self._cache.put(self._project_id, digest, data)
        if (made_by := self._known.get(digest)) is not None and made_by.platform != self._platform:
            fields = {"project": self._project_id, "made_by": made_by.platform, "here": self._platform}
            LOGGER.info("snapshot of another platform", extra={"fields": fields})
        return LoadedSnapshot(rejected)

    def save(self, state: LearnerState) -> None:
        learned = {number: result_json(result) for number, result in state.results.items()}
        if not isinstance(state.learner, Stateful):
            self._wait(self._store.set_learned(self._project_id, learned))
            return
        data, info = pack(state.learner, state.rejected), SnapshotInfo(state.count, self._platform)
        if self._wait(self._store.write_snapshot(self._project_id, state.digest, info, data, learned)):
            self._cache.put(self._project_id, state.digest, data)

    def delete(self, digests: Sequence[str]) -> None:
        self._wait(self._store.delete_snapshots(self._project_id, digests))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def result_json(learned: Learned) -> dict[str, Any]:
    """What became of a lesson, as the database keeps it."""
    return {"updates": learned.updates, "rejected": learned.rejected, "info": encode(learned.info)}


def pack(learner: Stateful, rejected: Mapping[int, str] | None = None) -> bytes:
    """The files that a learner saves, in one archive. `rejected` says why lessons were rejected, by their place."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory() as name, zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        folder = Path(name)
        learner.save(folder)
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.writestr(zipfile.ZipInfo(path.relative_to(folder).as_posix()), path.read_bytes())
        if rejected is not None:
            archive.writestr(zipfile.ZipInfo(REJECTED_FILE), json.dumps(sorted(rejected.items())))
    return packed.getvalue()


def unpack(data: bytes, learner: Learner) -> dict[int, str] | None:
    """Restore a learner from what `pack` returned, and return why lessons were rejected. None: it does not say."""
    assert isinstance(learner, Stateful)
    with tempfile.TemporaryDirectory() as name:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            rejected = dict(json.loads(archive.read(REJECTED_FILE))) if REJECTED_FILE in names else None
            archive.extractall(name, [one for one in names if one != REJECTED_FILE])  # below the folder only
        learner.load(Path(name))
    return rejected
