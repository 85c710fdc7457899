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
from mtloop.smt.learners import NO_MODEL, Base, SmtLearner
from mtloop.smt.training import SmtJob

ADAPTING = [("smt-adapting", {}), ("smt-adapting", {"foreground": "rescoring"}), ("smt-foreground", {"words": 20})]
METHODS = [*((method, {}) for method in SMT_METHODS), *ADAPTING[1:]]
CORRECTIONS = dict(stream_pairs())


def segments(pairs: list[tuple[str, str]]) -> list[Segment]:
    return [Segment(str(number), source) for number, (source, _) in enumerate(pairs)]


def correct(proposal: Proposal) -> PostEdit:
    return PostEdit(CORRECTIONS[proposal.segment.source])


def taught(learner: Learner, pairs: list[tuple[str, str]]) -> Learner:
    for source, target in pairs:
        learner.learn(Proposal(Segment("", source), ""), PostEdit(target))
    return learner


@pytest.mark.parametrize(("method", "settings"), METHODS)
def test_the_contract(base: Base, method: str, settings: dict[str, object]) -> None:
    check_learner(lambda: make_learner(method, base, settings), segments(stream_pairs()[:10]), correct)


def test_the_baseline_never_learns(base: Base) -> None:
    learner = make_learner("smt-baseline", base)
    before = learner.propose(Segment("1", NEW[0][0]))
    learned = learner.learn(before, PostEdit(NEW[0][1]))
    assert (learned.updates, learned.rejected) == (0, None)
    assert learner.propose(Segment("1", NEW[0][0])) == before


@pytest.mark.parametrize("method", SMT_METHODS)
def test_it_says_what_it_learns_from(base: Base, method: str) -> None:
    learner = make_learner(method, base)
    assert isinstance(learner, SmtLearner)
    assert learner.learns_from == (() if method == "smt-baseline" else (PostEdit,))


def test_what_was_just_learned_comes_back_whole(base: Base) -> None:
    """With phrases shorter than a sentence whose words change places, what memorises could not memorise it."""
    source, target = "On the left open the file.", "Öffnen Sie die Datei auf der linken Seite."
    lessons = [*known_pairs()[:8], (source, target)]
    whole = taught(make_learner("smt-foreground-unfair", base), lessons)
    parts = taught(make_learner("smt-foreground-unfair", base, {"phrase": 2}), lessons)
    assert whole.propose(Segment("1", source)).text == target
    assert parts.propose(Segment("1", source)).text != target


@pytest.mark.parametrize(("method", "settings"), [ADAPTING[0], ADAPTING[2]])
def test_before_teach_after(base: Base, method: str, settings: dict[str, object]) -> None:
    learner = make_learner(method, base, settings)
    source, target = "Print the toolbar now.", "Drucken Sie die Werkzeugleiste jetzt."
    assert learner.propose(Segment("1", source)).text != target
    taught(learner, [*NEW[:3], *known_pairs()[:40]])
    assert learner.propose(Segment("1", source)).text == target


def test_rescoring_takes_up_another_way_to_say_it(tmp_path: Path) -> None:
    """The background knows two words for one; corrections say which."""
    pairs = known_pairs()
    other = [(s, t.replace("die Datei", "das Dokument")) for s, t in pairs if "file" in s]
    SmtJob(pairs=[*pairs, *other], out=tmp_path / "model", say=lambda text: None).run()
    learner = make_learner("smt-adapting", Base.open(tmp_path / "model"), {"foreground": "rescoring"})
    ways = ["die Datei", "das Dokument"]
    before = learner.propose(Segment("1", "Open the file now.")).text
    wanted = ways[ways[0] in before]  # the one it did not say
    corrected = [(source, target) for source, target in [*pairs, *other] if wanted in target and "Open" not in source]
    taught(learner, corrected)
    assert learner.propose(Segment("1", "Open the file now.")).text == f"Öffnen Sie {wanted} jetzt."


def test_without_a_background_the_source_is_copied_until_there_is_a_model(base: Base) -> None:
    learner = make_learner("smt-foreground", base, {"words": 12})
    first = learner.propose(Segment("1", "Open the file."))
    assert (first.text, first.memo) == ("Open the file.", NO_MODEL)
    taught(learner, known_pairs()[:2])
    assert learner.propose(Segment("1", "Open the file.")).memo == NO_MODEL
    taught(learner, known_pairs()[2:4])
    later = learner.propose(Segment("1", "Open the file."))
    assert (later.text, later.memo) == ("Öffnen Sie die Datei.", {})


@pytest.mark.parametrize(
    ("source", "feedback", "reason"),
    [
        ("Open the file.", PostEdit(""), "empty"),
        ("", PostEdit("Datei"), "empty"),
        ("Open", PostEdit("Öffnen Sie " * 200), "length"),
        ("Open the file. " * 100, PostEdit("Öffnen Sie die Datei. " * 100), "too long"),
        ("Open the file.", Reward(0.5), "learns from post-edits, not from Reward"),
    ],
)
def test_what_teaches_nothing_is_refused(base: Base, source: str, feedback: PostEdit, reason: str) -> None:
    learner = make_learner("smt-adapting", base)
    learned = learner.learn(learner.propose(Segment("1", source)), feedback)
    assert (learned.updates, learned.rejected) == (0, reason)


@pytest.mark.parametrize(("method", "settings"), METHODS)
def test_saved_half_way_it_goes_on_the_same(
    base: Base, tmp_path: Path, method: str, settings: dict[str, object]
) -> None:
    pairs = stream_pairs()

    def make() -> SmtLearner:
        learner = make_learner(method, base, settings)
        assert isinstance(learner, SmtLearner)
        return learner

    stayed, resumed = taught(make(), pairs[:20]), taught(make(), pairs[20:24])
    assert isinstance(stayed, SmtLearner)
    assert isinstance(resumed, SmtLearner)
    stayed.save(tmp_path)
    resumed.load(tmp_path)
    taught(stayed, pairs[20:])
    taught(resumed, pairs[20:])
    assert [stayed.propose(s) for s in segments(pairs)] == [resumed.propose(s) for s in segments(pairs)]


def test_lessons_of_another_method_are_refused(base: Base, tmp_path: Path) -> None:
    one, other = make_learner("smt-adapting", base), make_learner("smt-foreground", base)
    one.save(tmp_path)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="smt-adapting"):
        other.load(tmp_path)  # type: ignore[attr-defined]


@pytest.mark.parametrize("settings", [{"foreground": "both"}, {"emphasis": 0}, {"size": 0}])
def test_settings_that_make_no_sense(base: Base, settings: dict[str, object]) -> None:
    with pytest.raises(InputError):
        make_learner("smt-adapting", base, settings)
