from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import (
    PostEdit,
    Preference,
    Proposal,
    Reward,
    Scores,
    Segment,
    SerialisationError,
    Step,
    Truth,
    serialisation,
)
from mtloop.core.types import Learned

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
number = st.floats(allow_nan=False, allow_infinity=False)
scores = st.dictionaries(text, number, max_size=3)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | number | text, lambda x: st.lists(x) | st.dictionaries(text, x)
)
fields = st.dictionaries(text, json, max_size=3)
rater = st.none() | text
feedback = st.one_of(
    st.builds(PostEdit, text, rater),
    st.builds(Scores, scores, rater),
    st.builds(Preference, text, text, rater),
    st.builds(Reward, number, rater),
)
proposals = st.builds(
    Proposal,
    st.builds(Segment, text, text, fields),
    text,
    text,
    st.none() | number,
    scores,
    st.lists(text, max_size=3).map(tuple),
    text,
    fields,
)
steps = st.builds(
    Step,
    st.integers(0),
    proposals,
    st.none() | feedback,
    st.none() | st.builds(Learned, st.integers(0), st.none() | text, fields),
    st.none() | st.builds(Truth, st.lists(text, max_size=2).map(tuple), scores),
)


@given(steps)
def test_a_step_is_equal_after_writing_and_reading_json(step: Step) -> None:
    line = serialisation.dumps(step)
    assert b"\n" not in line
    assert serialisation.decode(Step, serialisation.loads(line)) == step
    assert serialisation.dumps(serialisation.decode(Step, serialisation.loads(line))) == line


def test_defaults_are_left_out() -> None:
    assert serialisation.dumps(Segment("1", "Öffnen")) == '{"id":"1","source":"Öffnen"}'.encode()


@pytest.mark.parametrize("value", [Reward(math.nan), Reward(math.inf), Segment("1", "\ud800"), {"x": object()}])
def test_values_without_a_json_form_are_refused(value: object) -> None:
    with pytest.raises(SerialisationError):
        serialisation.dumps(value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id":"1"}', "source"),
        ('{"id":1,"source":"x"}', "expected str, found 1"),
        ('{"id":"1","source":"x","reference":"y"}', "no field reference; its fields are id, source, context"),
        ("[1]", "expected a JSON object"),
        ('{"id":"1","source":NaN}', "NaN"),
        ("{", "not JSON"),
    ],
)
def test_an_invalid_segment_gives_the_reason(line: str, message: str) -> None:
    with pytest.raises(SerialisationError, match=message):
        serialisation.decode(Segment, serialisation.loads(line))


@pytest.mark.parametrize("value", [{"text": "x"}, {"kind": "praise"}, "good"])
def test_feedback_needs_a_kind(value: serialisation.JSON) -> None:
    with pytest.raises(SerialisationError, match="post_edit"):
        serialisation.decode_feedback(value)


def test_a_public_step_has_no_truth() -> None:
    step = Step(0, Proposal(Segment("1", "a"), "b"), truth=Truth(("secret",)))
    assert b"secret" not in serialisation.dumps(step.public())
