"""A learner is a function of the log: whatever snapshots it comes from, its weights and translations are the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import pytest
from helpers.tiny_marian import demo_pairs, write_tiny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mtloop.core.protocols import Learner, Stateful
from mtloop.core.types import Learned, Segment
from mtloop.methods.learner_config import LearnerConfig
from mtloop.service.engines import learner_state
from mtloop.service.engines.learner_state import LearnerState, LoadedSnapshot, superfluous
from mtloop.service.project_log.event_log import Confirmed, Event, EventLog, Redone, Undone

REJECTED = ("Delete the files.", " ")  # a learner learns nothing from an empty translation
PAIRS = [*list(demo_pairs())[:8], REJECTED]


def page(texts: Sequence[str]) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


EVENTS = st.lists(
    st.one_of(
        st.builds(
            lambda pair, name: Confirmed(*pair, external_id=name), st.sampled_from(PAIRS), st.sampled_from(["", "x"])
        ),
        st.builds(
            lambda pairs, syntax: Confirmed(*map(page, zip(*pairs, strict=True)), syntax=syntax),
            st.lists(st.sampled_from(PAIRS), min_size=1, max_size=3),
            st.sampled_from(["plain", "html", "xml"]),
        ),
        st.builds(Undone, st.integers(1, 8)),
        st.builds(Redone, st.integers(1, 8)),
    ),
    min_size=1,
    max_size=8,
)


class FolderSnapshots:
    """Snapshots in a folder of this test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.results: dict[int, Learned] = {}
        self._rejected: dict[str, dict[int, str]] = {}

    def digests(self) -> Mapping[str, int]:
        return {path.name: int((path / "count").read_text()) for path in self._folder.iterdir()}

    def load(self, digest: str, learner: Learner) -> LoadedSnapshot:
        assert isinstance(learner, Stateful)
        learner.load(self._folder / digest)
        return LoadedSnapshot(self._rejected[digest])

    def save(self, state: LearnerState) -> None:
        assert isinstance(state.learner, Stateful)
        assert state.rejected is not None
        folder = self._folder / state.digest
        folder.mkdir(exist_ok=True)
        state.learner.save(folder)
        (folder / "count").write_text(str(state.count))
        self._rejected[state.digest] = dict(state.rejected)
        self.results.update(state.results)

    def delete(self, digests: Sequence[str]) -> None:
        for digest in digests:
            shutil.rmtree(self._folder / digest)


@pytest.fixture(scope="module", params=["lora+memory+copy", "full", "bias"])
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Learner]:
    folder = tmp_path_factory.mktemp("tiny")
    write_tiny(folder)
    config = LearnerConfig.create(request.param, str(folder))
    model = config.load()
    return lambda: config.make(model)


def oracle(make: Callable[[], Learner], log: EventLog) -> tuple[str, dict[int, Learned]]:
    """The hash of weights and translations of a new learner that learns all lessons in order, and the results."""
    learner = make()
    results = {lesson.number: learner.learn(lesson.proposal, lesson.feedback) for lesson in log.lessons}
    return fingerprint(learner), results


def fingerprint(learner: Learner) -> str:
    delta = learner.delta()  # type: ignore[attr-defined]
    hashed = blake2b(digest_size=16)
    for name in sorted(delta.tensors):
        hashed.update(name.encode() + delta.tensors[name].numpy().tobytes())
    for source, _ in PAIRS[:2]:
        hashed.update(learner.propose(Segment("", source)).text.encode())
    return hashed.hexdigest()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=EVENTS, restarts=st.sets(st.integers(1, 8)))
def test_a_learner_is_a_function_of_the_log(
    make: Callable[[], Learner], tmp_path_factory: pytest.TempPathFactory, events: list[Event], restarts: set[int]
) -> None:
    """Two learners catch up after every event; one of them is new after some events, as after a kill."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learner_state, "SNAPSHOT_EVERY", 2)
        snapshots = FolderSnapshots(tmp_path_factory.mktemp("snapshots"))
        log = EventLog("tiny")
        kept, killed = LearnerState.new(make, log), LearnerState.new(make, log)
        for number, event in enumerate(events, start=1):
            log.append(number, event)
            if number in restarts:
                killed = LearnerState.new(make, EventLog("none"))
            for state in (kept, killed):
                state.catch_up(log, snapshots)
                stored = {number: one.rejected for number, one in snapshots.results.items() if one.rejected is not None}
                state.correct(stored)
                assert state.digest == log.digest
        found, results = oracle(make, log)
        assert fingerprint(kept.learner) == fingerprint(killed.learner) == found
        for state in (kept, killed):
            stored = snapshots.results | state.results
            assert {number: stored.get(number, Learned()).rejected for number in results} == {
                number: result.rejected for number, result in results.items()
            }
            assert state.numbers == [lesson.number for lesson in log.lessons]


def test_snapshots_are_few_and_the_newest_is_among_them() -> None:
    kept: dict[str, int | None] = {}
    for count in range(25, 25 * 400, 25):
        kept[str(count)] = count
        for digest in superfluous(kept, count):
            del kept[digest]
        assert count in kept.values()
        assert len(kept) <= count.bit_length() + 1
        for undone in range(1, count, 25):  # no more lessons are learned again than thrice those after it
            start = max((known or 0 for known in kept.values() if (known or 0) < undone), default=0)
            assert count - start <= 3 * (count - undone)
