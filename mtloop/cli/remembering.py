"""Backward reliability of an adapting method, measured once and kept beside the traces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mtloop.core.files import write_text
from mtloop.core.types import Proposal, Segment, Step, Truth
from mtloop.core.wire import dumps

if TYPE_CHECKING:
    from mtloop.config.experiment import Experiment
    from mtloop.metrics.reliability import Reliability

Document: TypeAlias = list[tuple[Segment, Truth]]
SHORTEST = 30  # segments a document must have: a third of less says little
STANDS = ("baseline", "ada", "final")


def documents_of(stream: Iterable[tuple[Segment, Truth]], most: int) -> list[Document]:
    """The first documents that are long enough; none if the data names no documents."""
    from mtloop.data.streams import by_document

    long = [document for document in by_document(stream) if len(document) >= SHORTEST and document[0][0].document]
    return long[:most] if len(long) > 1 else []


def measured(experiment: Experiment, most: int, path: Path) -> Reliability | None:
    """`experiment`'s method on its documents in order; what an earlier try left at `path` is taken up."""
    from dataclasses import replace

    from mtloop.judges import PostEditor
    from mtloop.metrics.reliability import reliability

    in_order = replace(experiment, shuffle=0, limit=0, skip=0)
    documents = documents_of(in_order.stream(), most)
    if not documents:
        return None
    model = in_order.load()
    key = dumps(in_order.header(model)).decode() + f" {most}"
    if (known := _read(path, key, documents)) is not None:
        return known
    found = reliability(documents, lambda: in_order.learner(model), PostEditor(), schedule=in_order.when())
    texts = [{stand: [s.proposal.text for s in getattr(held, stand)] for stand in STANDS} for held in found.documents]
    write_text(path, json.dumps({"of": key, "texts": texts}, ensure_ascii=False))
    return found


def _read(path: Path, key: str, documents: Sequence[Document]) -> Reliability | None:
    from mtloop.metrics.reliability import HeldOut, Reliability

    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if table.get("of") != key:
        return None
    rests = [document[len(document) * 2 // 3 :] for document in documents]
    return Reliability(
        tuple(
            HeldOut(rest[0][0].document, *(_steps(rest, texts[stand]) for stand in STANDS))
            for rest, texts in zip(rests, table["texts"], strict=True)
        )
    )


def _steps(rest: Document, texts: Sequence[str]) -> list[Step]:
    pairs = zip(rest, texts, strict=True)
    return [Step(i, Proposal(segment, text), truth=truth) for i, ((segment, truth), text) in enumerate(pairs)]
