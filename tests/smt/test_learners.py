from __future__ import annotations

from pathlib import Path

import pytest
from helpers.tiny_smt import NEW, known_pairs, stream_pairs

from mtloop.checks.learner_contract import check_learner
from mtloop.core import PostEdit, Proposal, Reward, Segment
from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.methods.registry import make_learner
from mtloop.methods.statistical import SMT_METHODS
from mtloop.smt.learners import NO_MODEL, BackgroundModel, SmtLearner
from mtloop.smt.training import SmtJob

ADAPTING = [
    ("smt-adapting", {}),
    ("smt-adapting", {"foreground": "rescoring"}),
    ("smt-foreground", {"retrain_words": 20}),
]
METHODS = [*((method, {}) for method in SMT_METHODS), *ADAPTING[1:]]
CORRECTIONS = dict(stream_pairs())


def segments(pairs: list[tuple[str, str]]) -> list[Segment]:
    return [Segment(str(number), source) for number, (source, _) in enumerate(pairs)]


def correct(proposal: Proposal) -> PostEdit:
    return PostEdit(CORRECTIONS[proposal.segment.source])


def teach(learner: Learner, pairs: list[tuple[str, str]]) -> Learner:
    for source, target in pairs:
        learner.learn(Proposal(Segment("", source), ""), PostEdit(target))
    return learner


@pytest.mark.parametrize(("method", "settings"), METHODS)
def test_learner_contract(base: BackgroundModel, method: str, settings: dict[str, object]) -> None:
    check_learner(lambda: make_learner(method, base, settings), segments(stream_pairs()[:10]), correct)


def test_the_baseline_never_learns(base: BackgroundModel) -> None:
    learner = make_learner("smt-baseline", base)
    before = learner.propose(Segment("1", NEW[0][0]))
    learned = learner.learn(before, PostEdit(NEW[0][1]))
    assert (learned.updates, learned.rejected) == (0, None)
    assert learner.propose(Segment("1", NEW[0][0])) == before


@pytest.mark.parametrize("method", SMT_METHODS)
def test_learns_from_declares_the_feedback(base: BackgroundModel, method: str) -> None:
    learner = make_learner(method, base)
    assert isinstance(learner, SmtLearner)
    assert learner.learns_from == (() if method == "smt-baseline" else (PostEdit,))


def test_a_learned_sentence_is_reproduced(base: BackgroundModel) -> None:
    """A sentence with reordering can be memorised only if it fits into one phrase."""
    source, target = "On the left open the file.", "Öffnen Sie die Datei auf der linken Seite."
    pairs = [*known_pairs()[:8], (source, target)]
    whole = teach(make_learner("smt-foreground-unfair", base), pairs)
    parts = teach(make_learner("smt-foreground-unfair", base, {"max_phrase_length": 2}), pairs)
    assert whole.propose(Segment("1", source)).text == target
    assert parts.propose(Segment("1", source)).text != target


@pytest.mark.parametrize(("method", "settings"), [ADAPTING[0], ADAPTING[2]])
def test_corrections_change_the_translation(base: BackgroundModel, method: str, settings: dict[str, object]) -> None:
    learner = make_learner(method, base, settings)
    source, target = "Print the toolbar now.", "Drucken Sie die Werkzeugleiste jetzt."
    assert learner.propose(Segment("1", source)).text != target
    teach(learner, [*NEW[:3], *known_pairs()[:40]])
    assert learner.propose(Segment("1", source)).text == target


def test_rescoring_prefers_the_corrected_translation(tmp_path: Path) -> None:
    """The background has two translations of a word; corrections decide between them."""
    pairs = known_pairs()
    other = [(s, t.replace("die Datei", "das Dokument")) for s, t in pairs if "file" in s]
    SmtJob(pairs=[*pairs, *other], out=tmp_path / "model", log=lambda text: None).run()
    learner = make_learner("smt-adapting", BackgroundModel.open(tmp_path / "model"), {"foreground": "rescoring"})
    options = ["die Datei", "das Dokument"]
    before = learner.propose(Segment("1", "Open the file now.")).text
    corrected_form = options[options[0] in before]  # the other translation
    corrected = [
        (source, target) for source, target in [*pairs, *other] if corrected_form in target and "Open" not in source
    ]
    teach(learner, corrected)
    assert learner.propose(Segment("1", "Open the file now.")).text == f"Öffnen Sie {corrected_form} jetzt."


def test_foreground_only_copies_the_source_before_its_first_model(base: BackgroundModel) -> None:
    learner = make_learner("smt-foreground", base, {"retrain_words": 12})
    first = learner.propose(Segment("1", "Open the file."))
    assert (first.text, first.memo) == ("Open the file.", NO_MODEL)
    teach(learner, known_pairs()[:2])
    assert learner.propose(Segment("1", "Open the file.")).memo == NO_MODEL
    teach(learner, known_pairs()[2:4])
    later = learner.propose(Segment("1", "Open the file."))
    assert (later.text, later.memo) == ("Öffnen Sie die Datei.", {})


@pytest.mark.parametrize(
    ("source", "feedback", "reason"),
    [
        ("Open the file.", PostEdit(""), "empty"),
        ("", PostEdit("Datei"), "empty"),
        ("Open", PostEdit("Öffnen Sie " * 200), "length"),
        ("Open the file. " * 100, PostEdit("Öffnen Sie die Datei. " * 100), "too long"),
        ("Open the file.", Reward(0.5), "learns from post-edits, not from rewards"),
    ],
)
def test_unusable_feedback_is_rejected(base: BackgroundModel, source: str, feedback: PostEdit, reason: str) -> None:
    learner = make_learner("smt-adapting", base)
    learned = learner.learn(learner.propose(Segment("1", source)), feedback)
    assert (learned.updates, learned.rejected) == (0, reason)


@pytest.mark.parametrize(("method", "settings"), METHODS)
def test_resuming_from_a_snapshot_changes_nothing(
    base: BackgroundModel, tmp_path: Path, method: str, settings: dict[str, object]
) -> None:
    pairs = stream_pairs()

    def make() -> SmtLearner:
        learner = make_learner(method, base, settings)
        assert isinstance(learner, SmtLearner)
        return learner

    uninterrupted, resumed = teach(make(), pairs[:20]), teach(make(), pairs[20:24])
    assert isinstance(uninterrupted, SmtLearner)
    assert isinstance(resumed, SmtLearner)
    uninterrupted.save(tmp_path)
    resumed.load(tmp_path)
    teach(uninterrupted, pairs[20:])
    teach(resumed, pairs[20:])
    assert [uninterrupted.propose(s) for s in segments(pairs)] == [resumed.propose(s) for s in segments(pairs)]


def test_a_snapshot_of_another_method_is_refused(base: BackgroundModel, tmp_path: Path) -> None:
    one, other = make_learner("smt-adapting", base), make_learner("smt-foreground", base)
    one.save(tmp_path)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="smt-adapting"):
        other.load(tmp_path)  # type: ignore[attr-defined]


@pytest.mark.parametrize("settings", [{"foreground": "both"}, {"repetitions": 0}, {"nbest_size": 0}])
def test_invalid_settings_are_refused(base: BackgroundModel, settings: dict[str, object]) -> None:
    with pytest.raises(InputError):
        make_learner("smt-adapting", base, settings)
