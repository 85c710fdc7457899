"""Backward reliability of methods that learn from post-edits, measured once and kept beside their traces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.protocols import DeclaresFeedback, Learner
from mtloop.core.serialisation import dumps
from mtloop.core.types import PostEdit, Proposal, Segment, Step, Truth

if TYPE_CHECKING:
    from mtloop.experiments.experiment import Experiment
    from mtloop.metrics.reliability import Reliability

Document: TypeAlias = list[tuple[Segment, Truth]]
SHORTEST = 30  # segments a document must have: a third of less says little
STANDS = ("baseline", "ada", "final")


def documents_of(stream: Iterable[tuple[Segment, Truth]], most: int) -> list[Document]:
    """The first documents that are long enough; none if the data names no documents."""
    from mtloop.data.streams import by_document

    long = [document for document in by_document(stream) if len(document) >= SHORTEST and document[0][0].document]
    return long[:most] if len(long) > 1 else []


def in_order(experiment: Experiment) -> Experiment:
    """The same on whole documents, one after the other."""
    return replace(experiment, shuffle=0, limit=0, skip=0)


def need_documents(experiment: Experiment, most: int) -> None:
    """Who asks for documents that are not there is told before anything is run."""
    if not documents_of(in_order(experiment).stream(), most):
        message = f"--reliability needs two documents of {SHORTEST} segments or more, named in the data"
        raise InputError(f"{message}; leave it out, or name them (column: document)", path=Path(experiment.data))


def measured(experiments: Mapping[str, Experiment], most: int, folder: Path) -> dict[str, Reliability]:
    """Those of the methods that learn from post-edits, by name; none if the data has no documents."""
    from mtloop.methods.engines import schedule_of

    fair = {
        method: experiment
        for method, experiment in experiments.items()
        if not schedule_of(method, experiment.schedule).endswith(":unfair")  # nobody may learn what is held out
    }
    found = {
        method: _measured(in_order(experiment), most, folder / f"{method}.reliability.json")
        for method, experiment in fair.items()
    }
    return {method: one for method, one in found.items() if one is not None}


def _measured(experiment: Experiment, most: int, path: Path) -> Reliability | None:
    """`experiment`'s method on its documents; what an earlier try left at `path` is taken up."""
    from mtloop.judges import PostEditor
    from mtloop.metrics.reliability import reliability

    documents = documents_of(experiment.stream(), most)
    if not documents:
        return None
    model = experiment.load()
    key = dumps(experiment.header(model)).decode() + f" {most}"
    if (known := _read(path, key, documents)) is not None:
        return known
    if not _learns(experiment.learner(model)):
        return None
    found = reliability(documents, lambda: experiment.learner(model), PostEditor(), schedule=experiment.when())
    texts = [{stand: [s.proposal.text for s in getattr(held, stand)] for stand in STANDS} for held in found.documents]
    write_text(path, json.dumps({"of": key, "texts": texts}, ensure_ascii=False))
    return found


def _learns(learner: Learner) -> bool:
    return PostEdit in learner.learns_from if isinstance(learner, DeclaresFeedback) else True


def _read(path: Path, key: str, documents: Sequence[Document]) -> Reliability | None:
    from mtloop.metrics.reliability import HeldOutThird, Reliability

    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if table.get("of") != key:
        return None
    rests = [document[len(document) * 2 // 3 :] for document in documents]
    return Reliability(
        tuple(
            HeldOutThird(rest[0][0].document, *(_steps(rest, texts[stand]) for stand in STANDS))
            for rest, texts in zip(rests, table["texts"], strict=True)
        )
    )


def _steps(rest: Document, texts: Sequence[str]) -> list[Step]:
    pairs = zip(rest, texts, strict=True)
    return [Step(i, Proposal(segment, text), truth=truth) for i, ((segment, truth), text) in enumerate(pairs)]
