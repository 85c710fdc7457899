"""A learner that does not protect text itself learns from a correction what it sees when it translates."""

from __future__ import annotations

from pathlib import Path

from helpers.tiny_smt import write_tiny_smt

from mtloop.core.types import Feedback, Learned, PostEdit, Proposal, Segment
from mtloop.methods.learner_config import LearnerConfig
from mtloop.service.engines.answers_of_learners import TranslationCall, learn_with_proof, translate
from mtloop.service.engines.learner_state import learn_lesson
from mtloop.service.project_log.event_log import Confirmed, EventLog, LoggedLesson
from mtloop.smt.learners import SmtLearner


class Noting:
    """Notes the sources that it translates and the pairs that it learns."""

    def __init__(self) -> None:
        self.seen, self.learned = list[str](), list[tuple[str, str]]()

    def propose(self, segment: Segment) -> Proposal:
        self.seen.append(segment.source)
        return Proposal(segment, segment.source.upper())

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        assert isinstance(feedback, PostEdit)
        self.learned.append((proposal.segment.source, feedback.text))
        return Learned(1)


def lesson_of(source: str, translation: str, syntax: str = "html") -> LoggedLesson:
    log = EventLog()
    log.append(1, Confirmed(source, translation, syntax=syntax))
    return log.lessons[0]


def test_what_is_learned_is_what_is_translated() -> None:
    learner = Noting()
    source = "<p>Delete <b>{name}</b>.</p><p>See https://example.org now.</p>"
    translate(learner, TranslationCall([source], "html"), [])
    translated = list(learner.seen)
    correction = "<p><b>{name}</b> löschen.</p><p>Siehe jetzt https://example.org.</p>"
    assert learn_lesson(learner, lesson_of(source, correction)) == Learned(2)
    assert [source for source, _ in learner.learned] == translated == ["Delete %1.", "See %1 now."]
    assert [target for _, target in learner.learned] == ["%1 löschen.", "Siehe jetzt %1."]


def test_a_correction_that_teaches_nothing_says_why() -> None:
    assert learn_lesson(Noting(), lesson_of("Delete {name}.", "Löschen.")).rejected == "placeholders"
    assert learn_lesson(Noting(), lesson_of("Delete it.", " ")).rejected == "empty"


def test_a_statistical_method_is_better_after_a_correction_with_tags(tmp_path: Path) -> None:
    config = LearnerConfig.create("smt-adapting", str(write_tiny_smt(tmp_path / "smt")))
    learner = config.make(config.load())
    assert isinstance(learner, SmtLearner)
    call = TranslationCall(["<p>Print the <i>toolbar</i>.</p>"], "html")
    (before,) = translate(learner, call, [])
    assert "toolbar" in before["translation"]
    source = "<p>Open the <b>toolbar</b>.</p><p>Save the toolbar now.</p>"
    correction = "<p>Öffnen Sie die <b>Werkzeugleiste</b>.</p><p>Speichern Sie die Werkzeugleiste jetzt.</p>"
    learned, _ = learn_with_proof(learner, lesson_of(source, correction))
    assert learned == Learned(2)
    assert learner.pairs_ == [
        ("Open the toolbar.", "Öffnen Sie die Werkzeugleiste."),
        ("Save the toolbar now.", "Speichern Sie die Werkzeugleiste jetzt."),
    ]
    (after,) = translate(learner, call, [])
    assert "Werkzeugleiste" in after["translation"]
