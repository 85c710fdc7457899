"""The lessons of a project are a function of its events."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core.types import PostEdit, Proposal, Reward, Segment
from mtloop.service.project_log.event_log import (
    Configured,
    Confirmed,
    Event,
    EventLog,
    GlossaryChanged,
    Rated,
    Redone,
    Reviewed,
    Undone,
    event_body,
    event_kind,
    read_event,
)

SOURCES = st.sampled_from(["a", "b", "c"])
IDS = st.sampled_from(["", "", "x", "y"])
NUMBERS = st.integers(1, 12) | st.integers(1, 2)
EVENTS = st.lists(
    st.one_of(
        st.builds(Confirmed, SOURCES, SOURCES, external_id=IDS, refused=st.sampled_from(["", "", "empty"])),
        st.builds(Confirmed, SOURCES, SOURCES, external_id=IDS, waits=st.booleans()),
        st.builds(Rated, st.builds(Proposal, st.builds(Segment, st.just(""), SOURCES), SOURCES), st.just(0.5)),
        st.builds(Undone, NUMBERS),
        st.builds(Redone, NUMBERS),
        st.builds(Reviewed, NUMBERS, st.booleans()),
        st.builds(Configured, st.just("m"), st.sampled_from(["a", "b"]), review=st.booleans()),
        st.builds(GlossaryChanged, st.dictionaries(SOURCES, SOURCES)),
    ),
    max_size=12,
)


def log_of(events: Sequence[Event], configuration: str = "c") -> EventLog:
    log = EventLog(configuration)
    for number, event in enumerate(events, start=1):
        log.append(number, event)
    return log


def oracle(events: Sequence[Event]) -> list[int]:
    """The numbers of the lessons in order, computed plainly from the definition."""
    numbered = dict(enumerate(events, start=1))
    taught = {number: event for number, event in numbered.items() if isinstance(event, Confirmed | Rated)}
    places = {n: n for n, event in taught.items() if isinstance(event, Rated) or not (event.refused or event.waits)}
    undone: set[int] = set()
    for number, event in numbered.items():
        match event:
            case Undone(of) if of < number:
                undone.add(of)
            case Redone(of):
                undone.discard(of)
            case Reviewed(of, True) if of in taught and of < number:
                places.setdefault(of, number)
            case Reviewed(of, False) if of < number:
                places.pop(of, None)
            case _:
                pass
    live = {n: place for n, place in places.items() if n not in undone}
    newest: dict[str, int] = {}
    for n in sorted(live):
        event = taught[n]
        if isinstance(event, Confirmed) and event.external_id:
            newest[event.external_id] = n
    replaced = {
        n
        for n in live
        if isinstance(event := taught[n], Confirmed) and event.external_id and newest[event.external_id] != n
    }
    return [n for n in sorted(live, key=live.__getitem__) if n not in replaced]


@given(EVENTS)
def test_lessons_are_those_of_the_definition(events: list[Event]) -> None:
    log = log_of(events)
    assert [lesson.number for lesson in log.lessons] == oracle(events)
    assert {lesson.number for lesson in log.lessons} == {n for n in range(1, len(events) + 1) if log.is_live(n)}


@given(EVENTS)
def test_a_log_is_equal_to_one_without_what_does_not_count(events: list[Event]) -> None:
    """An undone, replaced or refused event leaves no trace in the digest."""
    log = log_of(events)
    configured: list[Event] = [log.configured] if log.configured else []
    counted = configured + [
        Confirmed(event.source, event.translation, external_id=event.external_id)
        if isinstance(event, Confirmed)
        else event
        for lesson in log.lessons
        if (event := log.event(lesson.number))
    ]
    assert log_of(counted).digest == log.digest


@given(EVENTS)
def test_events_are_the_same_after_the_database(events: list[Event]) -> None:
    for event in events:
        stored = json.loads(json.dumps(event_body(event)))
        assert read_event(event_kind(event), stored) == event


def test_another_method_is_another_learner_and_review_is_not() -> None:
    first, second = Configured("m", "lora"), Configured("m", "full")
    log = log_of([first, Confirmed("a", "A")])
    digest = log.digest
    log.append(3, Configured("m", "lora", review=True))
    assert log.digest == digest
    log.append(4, second)
    assert [lesson.number for lesson in log.lessons] == [2]
    assert log.digest == log_of([second, Confirmed("a", "A")]).digest != digest


def test_a_log_is_copied_once_for_all_lessons_of_a_rebuild() -> None:
    """A copy for each lesson would let a rebuild of many lessons take a time that grows with their square."""
    log = log_of([Confirmed("a", "b"), Confirmed("c", "d")])
    copy = log.frozen()
    assert log.frozen() is copy
    log.append(3, Undone(1))
    assert [lesson.number for lesson in copy.lessons] == [1, 2]
    assert [lesson.number for lesson in log.frozen().lessons] == [2]


def test_undo_and_redo_come_back_to_the_same_digest() -> None:
    events: list[Event] = [Confirmed("a", "A"), Confirmed("b", "B"), Confirmed("c", "C")]
    log, digest = log_of(events), log_of(events).digest
    log.append(4, Undone(2))
    assert [lesson.feedback for lesson in log.lessons] == [PostEdit("A"), PostEdit("C")]
    assert log.digest == log_of([events[0], events[2]]).digest != digest
    log.append(5, Redone(2))
    assert log.digest == digest


def test_a_confirmation_with_the_same_external_id_replaces_the_earlier_one() -> None:
    log = log_of([Confirmed("a", "A", external_id="1"), Confirmed("b", "B"), Confirmed("a", "Ä", external_id="1")])
    assert [lesson.feedback for lesson in log.lessons] == [PostEdit("B"), PostEdit("Ä")]
    assert log.newest("1") == 3
    log.append(4, Undone(3))
    assert log.newest("1") == 1  # the earlier one counts again


def test_a_second_acceptance_changes_nothing() -> None:
    log = log_of([Confirmed("a", "A", waits=True), Confirmed("b", "B"), Reviewed(1, True)])
    digest = log.digest
    log.append(4, Reviewed(1, True))
    assert [lesson.number for lesson in log.lessons] == [2, 1]
    assert log.digest == digest


def test_an_older_text_that_is_accepted_later_does_not_replace_the_newer_one() -> None:
    waiting = [Confirmed("a", text, external_id="x", waits=True) for text in ("old", "new")]
    log = log_of([*waiting, Reviewed(2, True), Reviewed(1, True)])
    assert [lesson.feedback for lesson in log.lessons] == [PostEdit("new")]


def test_a_project_that_was_revised_once_is_read_quickly() -> None:
    """Each of many segments is replaced: the lessons are put in order once, not after every event."""
    log, ordered = EventLog(), 0
    for number in range(1, 4001):
        log.append(number, Confirmed(f"s{number % 2000}", f"t{number}", external_id=str(number % 2000)))
        ordered += bool(log._lessons)
    assert not ordered  # nobody has asked yet
    assert len(log.lessons) == 2000
    assert [lesson.number for lesson in log.lessons] == list(range(2001, 4001))


def test_a_waiting_confirmation_is_learned_when_it_is_accepted() -> None:
    log = log_of([Confirmed("a", "A", waits=True), Confirmed("b", "B"), Reviewed(1, True)])
    assert [lesson.number for lesson in log.lessons] == [2, 1]
    log.append(4, Reviewed(1, False))
    assert [lesson.number for lesson in log.lessons] == [2]


@pytest.mark.parametrize("change", ["other configuration", "other text", "other order", "other rating"])
def test_the_digest_tells_learners_apart(change: str) -> None:
    draw = Proposal(Segment("", "c"), "C", memo={"tokens": [1]})
    events: list[Event] = [Confirmed("a", "A"), Confirmed("b", "B"), Rated(draw, 0.5)]
    others = {
        "other configuration": log_of(events, "d"),
        "other text": log_of([Confirmed("a", "Ä"), *events[1:]]),
        "other order": log_of([events[1], events[0], events[2]]),
        "other rating": log_of([*events[:2], Rated(draw, 0.25)]),
    }
    assert log_of(events).lessons[-1].feedback == Reward(0.5)
    assert others[change].digest != log_of(events).digest
