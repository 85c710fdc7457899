"""Backward reliability of methods that learn from post-edits, measured once and saved beside their traces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.protocols import DeclaresFeedback, Learner
from mtloop.core.serialisation import dumps
from mtloop.core.types import PostEdit, Proposal, Segment, Step, Truth

if TYPE_CHECKING:
    from mtloop.experiments.experiment import Experiment
    from mtloop.metrics.reliability import Reliability

Document: TypeAlias = list[tuple[Segment, Truth]]
MIN_SEGMENTS = 20  # of a document; a third of a shorter document is too small a sample
STAGES = ("baseline", "ada", "final")


def long_documents(stream: Iterable[tuple[Segment, Truth]], limit: int) -> list[Document]:
    """The first `limit` documents with at least MIN_SEGMENTS segments; empty if there are fewer than two."""
    from mtloop.data.streams import by_document

    long = [document for document in by_document(stream) if len(document) >= MIN_SEGMENTS and document[0][0].document]
    return long[:limit] if len(long) > 1 else []


def on_whole_documents(experiment: Experiment) -> Experiment:
    """The same experiment on all segments in their original order."""
    return replace(experiment, shuffle=0, limit=0, skip=0)


def check_documents(experiment: Experiment, limit: int) -> None:
    """Raise InputError if the data has no documents to measure on. Call it before the runs."""
    if not long_documents(on_whole_documents(experiment).stream(), limit):
        message = f"--reliability needs two documents of {MIN_SEGMENTS} segments or more, named in the data"
        raise InputError(f"{message}; leave it out, or add a column `document`", path=Path(experiment.data))


def measure_reliability(experiments: Mapping[str, Experiment], limit: int, folder: Path) -> dict[str, Reliability]:
    """The reliability of each method that learns from post-edits, by name; empty if the data has no documents."""
    fair = {
        method: experiment
        for method, experiment in experiments.items()
        if not experiment.learner_config.method.schedule(experiment.schedule).endswith(
            ":unfair"
        )  # it would learn the held-out segments
    }
    found = {
        method: _measure(
            on_whole_documents(experiment),
            limit,
            folder / f"{experiment.learner_config.method.file_name}.reliability.json",
        )
        for method, experiment in fair.items()
    }
    return {method: reliability for method, reliability in found.items() if reliability is not None}


def _measure(experiment: Experiment, limit: int, path: Path) -> Reliability | None:
    """Measure the method of the experiment on its documents, or read an earlier result from `path`."""
    from mtloop.judges import PostEditor
    from mtloop.metrics.reliability import reliability

    documents = long_documents(experiment.stream(), limit)
    if not documents:
        return None
    model = experiment.load()
    key = dumps(experiment.header(model)).decode() + f" {limit}"
    if (saved := _read(path, key, documents)) is not None:
        return saved
    if not _learns_from_post_edits(experiment.learner(model)):
        return None
    found = reliability(documents, lambda: experiment.learner(model), PostEditor(), schedule=experiment.make_schedule())
    texts = [{stage: [s.proposal.text for s in getattr(third, stage)] for stage in STAGES} for third in found.documents]
    write_text(path, json.dumps({"of": key, "texts": texts}, ensure_ascii=False))
    return found


def _learns_from_post_edits(learner: Learner) -> bool:
    return PostEdit in learner.learns_from if isinstance(learner, DeclaresFeedback) else True


def _read(path: Path, key: str, documents: Sequence[Document]) -> Reliability | None:
    from mtloop.metrics.reliability import HeldOutThird, Reliability

    with json_errors(path, "a record of reliability"):
        table = parse_json(path.read_bytes()) if path.exists() else {}
        if table.get("of") != key:
            return None
        thirds = [document[len(document) * 2 // 3 :] for document in documents]
        return Reliability(
            tuple(
                HeldOutThird(third[0][0].document, *(_steps(third, texts[stage]) for stage in STAGES))
                for third, texts in zip(thirds, table["texts"], strict=True)
            )
        )


def _steps(third: Document, texts: Sequence[str]) -> list[Step]:
    pairs = zip(third, texts, strict=True)
    return [Step(i, Proposal(segment, text), truth=truth) for i, ((segment, truth), text) in enumerate(pairs)]
