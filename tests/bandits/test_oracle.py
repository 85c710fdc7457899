"""Oracles: trained on the references before the first sentence, and left as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.tiny_marian import demo_pairs
from helpers.tiny_smt import NEW, write_tiny_smt

from mtloop.bandits.oracle import Informed, Oracle
from mtloop.checks.learner_contract import check_learner
from mtloop.core import InputError, Learner, Reward, Segment
from mtloop.experiments.bandit_task import BanditTask, Entrant
from mtloop.methods.compatibility import refuse_informed
from mtloop.methods.registry import make_learner
from mtloop.metrics.quality import RewardBLEU
from mtloop.nmt.engine.marian import Marian
from mtloop.smt.learners import Base

PAIRS = [pair for pair in demo_pairs() if len(pair[0].split()) < 6][:6]
SEGMENTS = [Segment(str(i), source) for i, (source, _) in enumerate(PAIRS)]


@pytest.fixture(scope="module")
def smt(tmp_path_factory: pytest.TempPathFactory) -> Base:
    return Base.open(write_tiny_smt(tmp_path_factory.mktemp("smt") / "model", tuned=False))


def informed(model: Marian, **settings: object) -> Oracle:
    made = make_learner("nmt-oracle", model, {"rate": 0.05, **settings})  # type: ignore[arg-type]
    assert isinstance(made, Oracle)
    made.inform(PAIRS)
    return made


def earned(learner: Learner) -> float:
    worth = RewardBLEU()
    return sum(worth.sentence(learner.propose(Segment("", source)).text, target) for source, target in PAIRS)


def test_the_contract(small: Marian) -> None:
    check_learner(lambda: informed(small, epochs=1), SEGMENTS, lambda proposal: Reward(0.5))


def test_it_knows_the_references(small: Marian) -> None:
    assert earned(informed(small, epochs=12)) > 2 * earned(make_learner("baseline", small))


def test_a_snapshot_needs_no_training(small: Marian, tmp_path: Path) -> None:
    oracle, again = informed(small), make_learner("nmt-oracle", small)
    assert isinstance(again, Oracle)
    oracle.save(tmp_path)
    again.load(tmp_path)
    assert [again.propose(one).text for one in SEGMENTS] == [oracle.propose(one).text for one in SEGMENTS]


def test_a_statistical_one(smt: Base) -> None:
    oracle = make_learner("smt-oracle", smt)
    assert isinstance(oracle, Informed)
    oracle.inform(NEW * 3)
    assert "Werkzeugleiste" in oracle.propose(Segment("", "Open the toolbar.")).text  # type: ignore[attr-defined]
    assert "Werkzeugleiste" not in make_learner("smt-baseline", smt).propose(Segment("", "Open the toolbar.")).text


def test_nobody_told_it(small: Marian) -> None:
    oracle = make_learner("nmt-oracle", small)
    with pytest.raises(InputError, match="trained on a task's references; run it with mtloop bandit"):
        oracle.propose(SEGMENTS[0])
    with pytest.raises(InputError, match="mtloop bandit --task FILE"):
        refuse_informed(oracle, "nmt-oracle")
    with pytest.raises(InputError, match="epochs is 0"):
        make_learner("nmt-oracle", small, {"epochs": 0})


def test_a_task_at_home_tells_it_every_reference_once(small: Marian, tmp_path: Path) -> None:
    path = tmp_path / "task.tsv"
    path.write_text("source\ttarget\n" + "".join(f"{s}\t{t}\n" for s, t in PAIRS), encoding="utf-8")
    task = BanditTask(str(path), held_out=2, blocks=2)
    learner, _ = Entrant("nmt-oracle", str(small.folder)).made(task)
    assert isinstance(learner, Oracle)
    assert learner.pairs_ == PAIRS
