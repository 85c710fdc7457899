"""Oracles: trained on the references before the first sentence; they do not learn after that."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.tiny_marian import demo_pairs
from helpers.tiny_smt import NEW, write_tiny_smt

from mtloop.bandits.oracle import Oracle, RequiresReferences
from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, Learner, Reward, Segment
from mtloop.experiments.bandit_task import BanditJob, BanditTask
from mtloop.methods.compatibility import check_without_references
from mtloop.methods.learner_config import LearnerConfig
from mtloop.methods.registry import find_method, make_learner
from mtloop.metrics.quality import RewardBLEU
from mtloop.nmt.engine.marian import Marian
from mtloop.smt.learners import BackgroundModel

PAIRS = [pair for pair in demo_pairs() if len(pair[0].split()) < 6][:6]
SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(PAIRS)]


@pytest.fixture(scope="module")
def smt(tmp_path_factory: pytest.TempPathFactory) -> BackgroundModel:
    return BackgroundModel.open(write_tiny_smt(tmp_path_factory.mktemp("smt") / "model", tuned=False))


def oracle_with_references(model: Marian, **settings: object) -> Oracle:
    made = make_learner("nmt-oracle", model, {"learning_rate": 0.05, **settings})  # type: ignore[arg-type]
    assert isinstance(made, Oracle)
    made.set_references(PAIRS)
    return made


def total_reward(learner: Learner) -> float:
    metric = RewardBLEU()
    return sum(metric.sentence(learner.propose(Segment("", source)).text, target) for source, target in PAIRS)


def test_learner_contract(small: Marian) -> None:
    check_learner(lambda: oracle_with_references(small, epochs=1), SEGMENTS, lambda proposal: Reward(0.5))


@pytest.mark.slow
def test_an_oracle_gets_twice_the_reward_of_the_baseline(small: Marian) -> None:
    assert total_reward(oracle_with_references(small, epochs=12)) > 2 * total_reward(make_learner("baseline", small))


def test_a_snapshot_needs_no_training(small: Marian, tmp_path: Path) -> None:
    oracle, again = oracle_with_references(small), make_learner("nmt-oracle", small)
    assert isinstance(again, Oracle)
    oracle.save(tmp_path)
    again.load(tmp_path)
    assert [again.propose(one).text for one in SEGMENTS] == [oracle.propose(one).text for one in SEGMENTS]


def test_a_statistical_oracle(smt: BackgroundModel) -> None:
    oracle = make_learner("smt-oracle", smt)
    assert isinstance(oracle, RequiresReferences)
    oracle.set_references(NEW * 3)
    assert "Werkzeugleiste" in oracle.propose(Segment("", "Open the toolbar.")).text  # type: ignore[attr-defined]
    assert "Werkzeugleiste" not in make_learner("smt-baseline", smt).propose(Segment("", "Open the toolbar.")).text


def test_an_oracle_without_references_raises_an_input_error(small: Marian) -> None:
    oracle = make_learner("nmt-oracle", small)
    with pytest.raises(InputError, match="needs the references of a task; run it with mtloop bandit"):
        oracle.propose(SEGMENTS[0])
    with pytest.raises(InputError, match="mtloop bandit --task FILE"):
        check_without_references(find_method("nmt-oracle"))
    with pytest.raises(InputError, match="epochs is 0"):
        make_learner("nmt-oracle", small, {"epochs": 0})


def test_a_local_task_gives_the_oracle_every_reference_once(small: Marian, tmp_path: Path) -> None:
    path = tmp_path / "task.tsv"
    path.write_text("source\ttarget\n" + "".join(f"{s}\t{t}\n" for s, t in PAIRS), encoding="utf-8")
    task = BanditTask(str(path), held_out=2, blocks=2)
    learner, _ = BanditJob(task, LearnerConfig.create("nmt-oracle", str(small.folder)), tmp_path).prepare()
    assert isinstance(learner, Oracle)
    assert learner.pairs_ == PAIRS
