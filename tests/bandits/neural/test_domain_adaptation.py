"""Domain adaptation: general text that looks like the sources seen so far."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from helpers.tiny_smt import known_pairs

from mtloop.bandits.neural.data_selection import cut, differences, model_of
from mtloop.bandits.neural.domain_adaptation import DomainAdaptation
from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, PostEdit, Reward, Segment, UnknownName, record
from mtloop.core.trace import Header
from mtloop.methods.registry import make_learner
from mtloop.nmt.delta import Delta
from mtloop.nmt.engine.lesson import study
from mtloop.nmt.engine.marian import Marian

WHO = {"My sister": "Meine Schwester", "Our neighbour": "Unser Nachbar", "Nobody": "Niemand", "The mayor": "Der Chef"}
WHAT = {"slept all night": "schlief", "played chess": "spielte Schach", "wrote a letter": "schrieb einen Brief"}
WHEN = {"": "", " again": " wieder", " in spring": " im Frühling", " at home": " zu Hause"}
OTHER = [(f"{a} {b}{c}.", f"{WHO[a]} {WHAT[b]}{WHEN[c]}.") for a, b, c in product(WHO, WHAT, WHEN)]
DOMAIN, NEAR = known_pairs()[::2], known_pairs()[1::2]
SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(DOMAIN[:6])]


@pytest.fixture
def general(tmp_path: Path) -> Path:
    path = tmp_path / "general.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in OTHER + NEAR), encoding="utf-8")
    return path


def learner(model: Marian, text: Path, **settings: object) -> DomainAdaptation:
    given = {"general": str(text), "every": 3, "select": 8, **settings}
    made = make_learner("domain-adaptation", model, given)  # type: ignore[arg-type]
    assert isinstance(made, DomainAdaptation)
    return made


def test_the_difference_is_that_of_the_two_models() -> None:
    domain, general = [cut(s) for s, _ in DOMAIN], [cut(s) for s, _ in OTHER + NEAR]
    found = differences(domain, general)
    assert max(found[len(OTHER) :]) < min(found[: len(OTHER)])
    assert differences(domain, general) == found
    assert differences(domain, general, seed=2) != found


def test_it_is_that_of_two_models_of_as_many_sentences() -> None:
    """Two halves of two sentences: each is judged by the model of the other."""
    domain, general = [cut("save the file")], [cut("save the page"), cut("it rained")]
    inside = model_of(domain)
    expected = [
        (model_of([general[1 - place]]).score(words) - inside.score(words)) / (len(words) + 1)
        for place, words in enumerate(general)
    ]
    assert differences(domain, general) == pytest.approx(expected)
    assert expected[0] < 0


@pytest.mark.parametrize("scope", ["full", "lora", "bias"])
def test_the_contract(small: Marian, general: Path, scope: str) -> None:
    settings = {"scope": scope}
    check_learner(lambda: learner(small, general, **settings), SEGMENTS, lambda proposal: Reward(0.5))


def test_what_is_near_is_chosen_and_learned(small: Marian, general: Path) -> None:
    system = learner(small, general)
    near = {source for source, _ in NEAR}
    pair = NEAR[5]
    before = loss(system.learner.model, *pair)
    learned = [system.learn(system.propose(segment), Reward(0.0)) for segment in SEGMENTS[:3]]
    assert [one.updates for one in learned[:2]] == [0, 0]
    assert learned[2].updates > 0
    assert learned[2].info == {"selected": 8}
    for source, _ in DOMAIN:
        system.learn(system.propose(Segment("", source)), Reward(0.0))
    assert {source for source, _ in system.selected()} <= near
    assert loss(system.learner.model, *pair) < before


def loss(model: Marian, source: str, target: str) -> float:
    return study(model, model.source.encode(source), model.target.encode(target), frozenset()).loss


def test_no_answer_is_listened_to(small: Marian, general: Path) -> None:
    """Rewards, however high, and corrections, whatever they say, leave the same model."""
    texts = []
    for answer in (Reward(0.0), Reward(1.0), PostEdit("Etwas ganz anderes.")):
        system = learner(small, general)
        for segment in SEGMENTS:
            system.learn(system.propose(segment), answer)
        texts.append([system.propose(segment).text for segment in SEGMENTS])
    assert texts[0] == texts[1] == texts[2]


def test_broken_off_and_gone_on_with_it_is_the_same_trace(small: Marian, general: Path, tmp_path: Path) -> None:
    stream = [(Segment(str(i), source), None) for i, (source, _) in enumerate(DOMAIN[:24])]
    for name, stops in (("whole", [None]), ("parts", [5, 11, None])):
        for until in stops:
            system = learner(small, general)
            steps = record(tmp_path / f"{name}.jsonl", Header(), stream, system, _judge, every=4, until=until)
            assert len(list(steps)) == (until or len(stream))
    assert (tmp_path / "whole.jsonl").read_bytes() == (tmp_path / "parts.jsonl").read_bytes()


def _judge(proposal: object, truth: object) -> Reward:
    return Reward(0.5)


def test_what_was_learned_is_a_delta_of_its_scope(small: Marian, general: Path, tmp_path: Path) -> None:
    system = learner(small, general)
    for segment in SEGMENTS[:3]:
        system.learn(system.propose(segment), Reward(0.5))
    system.save(tmp_path)
    plain = make_learner("full", small)
    plain.become(Delta.read(tmp_path / "delta.safetensors"))  # type: ignore[attr-defined]
    assert plain.propose(SEGMENTS[0]).text == system.propose(SEGMENTS[0]).text


def test_a_snapshot_of_other_general_text_is_refused(small: Marian, general: Path, tmp_path: Path) -> None:
    learner(small, general).save(tmp_path)
    general.write_text("one\teins\n")
    with pytest.raises(InputError, match="other general text"):
        learner(small, general).load(tmp_path)
    (tmp_path / "domain.json").write_text("{}")
    with pytest.raises(InputError, match="not a snapshot"):
        learner(small, general).load(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"general": ""}, "--set general=FILE"),
        ({"general": "nowhere.tsv"}, "nowhere.tsv"),
        ({"every": 0}, "every is 0"),
        ({"select": 0}, "select is 0"),
        ({"rate": -1.0}, "rate is the step size"),
        ({"tensors": "x.json"}, "tensors is a setting of scope fixed"),
    ],
)
def test_wrong_settings_are_one_line(small: Marian, general: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        learner(small, general, **settings)


def test_a_scope_that_does_not_move(small: Marian, general: Path) -> None:
    with pytest.raises(UnknownName, match="known: bias, fixed, full, lasso, lora, top"):
        learner(small, general, scope="baseline")
