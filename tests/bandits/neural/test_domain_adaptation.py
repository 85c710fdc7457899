"""Domain adaptation: general text similar to the sources so far."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from helpers.tiers import slow
from helpers.tiny_smt import known_pairs

from mtloop.bandits.neural.data_selection import cross_entropy_differences, train_trigrams, words_of
from mtloop.bandits.neural.domain_adaptation import DomainAdaptation
from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, PostEdit, Reward, Segment, record
from mtloop.core.trace import Header
from mtloop.methods.registry import make_learner
from mtloop.nmt.delta import Delta
from mtloop.nmt.engine.lesson import forward_pass
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
    given = {"general_data": str(text), "selection_interval": 3, "selected_pairs": 8, **settings}
    made = make_learner("domain-adaptation", model, given)  # type: ignore[arg-type]
    assert isinstance(made, DomainAdaptation)
    return made


def test_domain_sentences_have_the_lowest_differences() -> None:
    domain, general = [words_of(s) for s, _ in DOMAIN], [words_of(s) for s, _ in OTHER + NEAR]
    found = cross_entropy_differences(domain, general)
    assert max(found[len(OTHER) :]) < min(found[: len(OTHER)])
    assert cross_entropy_differences(domain, general) == found
    assert cross_entropy_differences(domain, general, seed=2) != found


def test_the_difference_is_that_of_two_models_of_equal_size() -> None:
    """Two sentences: each is scored by the model of the other one."""
    domain, general = [words_of("save the file")], [words_of("save the page"), words_of("it rained")]
    domain_model = train_trigrams(domain)
    expected = [
        (train_trigrams([general[1 - index]]).score(words) - domain_model.score(words)) / (len(words) + 1)
        for index, words in enumerate(general)
    ]
    assert cross_entropy_differences(domain, general) == pytest.approx(expected)
    assert expected[0] < 0


@pytest.mark.parametrize("scope", ["full", slow("lora"), slow("bias")])
def test_learner_contract(small: Marian, general: Path, scope: str) -> None:
    settings = {"scope": scope}
    check_learner(lambda: learner(small, general, **settings), SEGMENTS, lambda proposal: Reward(0.5))


def test_similar_pairs_are_selected_and_learned(small: Marian, general: Path) -> None:
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
    assert {source for source, _ in system.select_pairs()} <= near
    assert loss(system.learner.model, *pair) < before


def loss(model: Marian, source: str, target: str) -> float:
    return forward_pass(model, model.source.encode(source), model.target.encode(target), frozenset()).loss


def test_feedback_is_ignored(small: Marian, general: Path) -> None:
    """All rewards and corrections give the same model."""
    texts = []
    for feedback in (Reward(0.0), Reward(1.0), PostEdit("Etwas ganz anderes.")):
        system = learner(small, general)
        for segment in SEGMENTS:
            system.learn(system.propose(segment), feedback)
        texts.append([system.propose(segment).text for segment in SEGMENTS])
    assert texts[0] == texts[1] == texts[2]


def test_a_resumed_run_writes_the_same_trace(small: Marian, general: Path, tmp_path: Path) -> None:
    stream = [(Segment(str(i), source), None) for i, (source, _) in enumerate(DOMAIN[:24])]
    for name, stops in (("whole", [None]), ("parts", [5, 11, None])):
        for until in stops:
            system = learner(small, general)
            path = tmp_path / f"{name}.jsonl"
            steps = record(path, Header(), stream, system, _judge, snapshot_every=4, stop_after=until)
            assert len(list(steps)) == (until or len(stream))
    assert (tmp_path / "whole.jsonl").read_bytes() == (tmp_path / "parts.jsonl").read_bytes()


def _judge(proposal: object, truth: object) -> Reward:
    return Reward(0.5)


def test_the_snapshot_is_a_delta_of_its_scope(small: Marian, general: Path, tmp_path: Path) -> None:
    system = learner(small, general)
    for segment in SEGMENTS[:3]:
        system.learn(system.propose(segment), Reward(0.5))
    system.save(tmp_path)
    plain = make_learner("full", small)
    plain.load_delta(Delta.read(tmp_path / "delta.safetensors"))  # type: ignore[attr-defined]
    assert plain.propose(SEGMENTS[0]).text == system.propose(SEGMENTS[0]).text


def test_a_snapshot_with_other_general_data_is_rejected(small: Marian, general: Path, tmp_path: Path) -> None:
    learner(small, general).save(tmp_path)
    general.write_text("one\teins\n")
    with pytest.raises(InputError, match="other general data"):
        learner(small, general).load(tmp_path)
    (tmp_path / "domain.json").write_text("{}")
    with pytest.raises(InputError, match="not a snapshot"):
        learner(small, general).load(tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"general_data": ""}, "--set general_data=FILE"),
        ({"general_data": "nowhere.tsv"}, "nowhere.tsv"),
        ({"selection_interval": 0}, "selection_interval is 0"),
        ({"selected_pairs": 0}, "selected_pairs is 0"),
        ({"learning_rate": -1.0}, "learning_rate is -1.0; expected 0 or more"),
        ({"tensors_file": "x.json"}, "tensors_file is a setting of scope fixed"),
    ],
)
def test_invalid_settings_raise_an_input_error(
    small: Marian, general: Path, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        learner(small, general, **settings)


def test_scope_baseline_is_rejected(small: Marian, general: Path) -> None:
    with pytest.raises(InputError, match="setting scope is 'baseline'"):
        learner(small, general, scope="baseline")
