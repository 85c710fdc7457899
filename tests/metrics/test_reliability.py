from __future__ import annotations

import math
import re

import pytest
from helpers.samples import SplitWords
from helpers.steps import make_steps
from hypothesis import given
from hypothesis import strategies as st

from mtloop.core import Blocks, Feedback, InputError, Learned, PostEdit, Proposal, Segment, Step, Stream, Truth
from mtloop.metrics.adaptation import Recall
from mtloop.metrics.evaluation import Evaluation
from mtloop.metrics.quality import SBLEU, TER
from mtloop.metrics.reliability import HeldOutThird, Reliability, RepeatedErrors, reliability
from mtloop.report.learning_curves import LearningCurves


class Memory:
    """A learner that stores the last `capacity` translations and proposes them again."""

    def __init__(self, capacity: int = 1000) -> None:
        self.capacity = capacity
        self.translations_: dict[str, str] = {}

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, self.translations_.get(segment.source, "?"))

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        assert isinstance(feedback, PostEdit)
        self.translations_[proposal.segment.source] = feedback.text
        while len(self.translations_) > self.capacity:
            del self.translations_[next(iter(self.translations_))]
        return Learned(1)


def document(name: str, sources: str) -> Stream:
    """A document of one-word segments; the reference of a word is the word in upper case."""
    context = {"document": name}
    return [(Segment(f"{name}{i}", word, context), Truth((word.upper(),))) for i, word in enumerate(sources.split())]


def post_editor(proposal: Proposal, truth: Truth | None) -> PostEdit | None:
    return PostEdit(truth.references[0]) if truth else None


DOCUMENTS = [document("one", "a b c d a b"), document("two", "e f g h e x")]


def test_the_verdict_and_its_interval_agree_for_metrics_of_either_direction() -> None:
    """TER falls and BLEU rises if a model improved after a document; both are shown as positive."""

    def steps(text: str) -> list[Step]:
        truth = Truth(("one two three four",))
        return [Step(n, Proposal(Segment(str(n), "a b c d"), text), truth=truth) for n in range(30)]

    held = HeldOutThird("manual", steps("x x x x"), steps("one x x x"), steps("one two three x"))
    curves = LearningCurves(Evaluation({"s": steps("one two three four")}, []), reliability={"s": Reliability((held,))})
    transfers = re.findall(r"(TER|BLEU) (\S+) \((\S+) to (\S+),", curves.verdict("s"))
    assert [name for name, *_ in transfers] == ["TER", "BLEU"]
    for _, mean, low, high in transfers:
        assert float(low) <= float(mean) <= float(high)
        assert float(mean) > 0


def test_the_held_out_thirds_are_translated_three_times() -> None:
    first, second = reliability(DOCUMENTS, Memory, post_editor).documents
    assert [step.proposal.segment.id for step in first.final] == ["one4", "one5"]
    assert [[step.proposal.text for step in steps] for steps in (first.baseline, first.ada, first.final)] == [
        ["?", "?"],
        ["A", "B"],
        ["A", "B"],
    ]
    assert (second.document, [step.proposal.text for step in second.final]) == ("two", ["E", "?"])


def test_nothing_is_learned_from_held_out_segments() -> None:
    found = reliability([document("one", "a b x"), document("two", "x y x")], Memory, post_editor)
    assert [step.proposal.text for step in found.documents[0].final] == ["X"]  # learned from the second document
    assert [step.proposal.text for step in found.documents[0].ada] == ["?"]
    assert all(step.feedback is None and step.learned is None for held in found.documents for step in held.ada)


@pytest.mark.parametrize("metric", [SBLEU(), TER(), Recall(SplitWords(), {0})], ids=lambda metric: metric.name)
def test_backward_transfer_is_positive_for_better_with_every_metric(metric: SBLEU | TER | Recall) -> None:
    forgetting = reliability(DOCUMENTS, lambda: Memory(capacity=4), post_editor)
    improving = reliability([document("one", "a b x"), document("two", "x y x")], Memory, post_editor)
    stable = reliability(DOCUMENTS, Memory, post_editor)
    assert forgetting.backward_transfer(metric) < 0
    assert improving.backward_transfer(metric) > 0
    assert stable.backward_transfer(metric) == 0
    assert stable.gain(metric) > 0


def test_scores_of_each_document_and_their_mean() -> None:
    found = reliability(DOCUMENTS, lambda: Memory(capacity=4), post_editor)
    values = [(s.document, s.baseline.value, s.ada.value, s.final.value) for s in found.scores(TER())]
    assert values == [("one", 100, 0, 100), ("two", 100, 50, 50)]
    assert found.backward_transfer(TER()) == -50
    assert found.gain(TER()) == 75


def test_the_interval_of_backward_transfer_is_over_documents() -> None:
    """A long document that did not change does not pull the interval away from the mean of many short ones."""

    def held(name: str, ada: str, final: str, segments: int) -> HeldOutThird:
        truth = Truth(("one two three four",))
        both = [
            [Step(n, Proposal(Segment(str(n), "a b c d"), text), truth=truth) for n in range(segments)]
            for text in (ada, final)
        ]
        return HeldOutThird(name, both[0], *both)

    short = [held(f"{n}", "one x x x", "one two three x" if n % 2 else "one two three four", 1) for n in range(8)]
    found = Reliability((held("long", "one x x x", "one x x x", 200), *short))
    comparison = found.compare_final_with_ada(TER())
    low, high = comparison.interval
    assert comparison.difference == found.backward_transfer(TER()) == pytest.approx(500 / 9)
    assert 30 < low < comparison.difference < high <= 75
    assert comparison.p_value < 0.05
    assert comparison == found.compare_final_with_ada(TER())
    curves = LearningCurves(Evaluation({"s": short[0].ada}, []), reliability={"s": found})
    assert curves.forgetting.records[0]["interval"] == [low, high]


def test_a_document_with_an_undefined_score_is_left_out_of_the_mean() -> None:
    recall = Recall(SplitWords(), {0})
    empty = [(segment, Truth(("",))) for segment, _ in document("none", "q r s")]
    found = reliability([*DOCUMENTS, empty], lambda: Memory(capacity=6), post_editor)
    without = reliability([*DOCUMENTS, document("other", "q r s")], lambda: Memory(capacity=6), post_editor).scores(
        recall
    )
    changes = [s.final.value - s.ada.value for s in without[:2]]
    assert found.backward_transfer(recall) == sum(changes) / 2
    assert math.isnan(reliability([empty], Memory, post_editor).backward_transfer(recall))


@pytest.mark.parametrize(("segments", "held_out"), [(1, 1), (2, 1), (3, 1), (4, 2), (6, 2), (9, 3)])
def test_every_document_has_a_held_out_part(segments: int, held_out: int) -> None:
    (held,) = reliability([document("", "a " * segments)], Memory, post_editor).documents
    assert (held.document, len(held.ada)) == ("1", held_out)


def test_an_empty_document_is_an_error_with_its_number() -> None:
    with pytest.raises(InputError, match="document 2 is empty"):
        reliability([document("one", "a"), []], Memory, post_editor)


def test_learning_by_blocks_gives_the_same_result() -> None:
    blocks = reliability(DOCUMENTS, Memory, post_editor, schedule=Blocks(2))
    assert blocks == reliability(DOCUMENTS, Memory, post_editor)


@pytest.mark.parametrize(
    ("pairs", "wrong_again", "counted"),
    [
        ([("x", "dog"), ("x", "dog"), ("dog", "dog")], 1, 2),
        ([("dog", "dog"), ("x", "dog"), ("x", "dog")], 1, 1),  # first correct; corrected only at the second segment
        ([("x", "dog dog"), ("x", "cat")], 0, 0),
        ([("x", "dog cat"), ("cat", "cat dog")], 1, 2),
    ],
)
def test_repeated_errors_by_hand(pairs: list[tuple[str, str]], wrong_again: int, counted: int) -> None:
    score = RepeatedErrors(SplitWords()).score(make_steps(*zip(*pairs, strict=True)))
    assert (score.numerator, score.denominator) == (wrong_again, counted)
    assert score.defined == (counted > 0)


@given(st.lists(st.tuples(st.text("abc ", max_size=6), st.text("abc ", max_size=6)), max_size=8))
def test_repeated_errors_equal_their_definition(pairs: list[tuple[str, str]]) -> None:
    wrong_again = counted = 0
    for i, (hypothesis, reference) in enumerate(pairs):
        for word in set(reference.split()):
            if any(word in r.split() and word not in h.split() for h, r in pairs[:i]):
                counted += 1
                wrong_again += word not in hypothesis.split()
    rows = RepeatedErrors(SplitWords()).rows(make_steps([h for h, _ in pairs], [r for _, r in pairs]))
    assert rows.sum(axis=0).tolist() == [wrong_again, counted]


def test_the_signature_contains_the_units() -> None:
    assert RepeatedErrors(SplitWords()).signature == "corrected:once|tok:split"
