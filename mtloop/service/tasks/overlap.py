"""Which sentences of a new task another task has already.

A participant who may try a sentence often enough learns its reference from the rewards. So a sentence of a mock or dev
task must not count in another task.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from mtloop.core.errors import InputError
from mtloop.service.tasks.models import Kind, SharedTask, TaskSentence
from mtloop.service.tasks.store import TaskStore

_NO_LETTERS = re.compile(r"[\W_]+")


def fingerprint(text: str) -> int:
    """A number of 64 bits that is the same for texts that differ in case, spaces and punctuation only.

    >>> fingerprint("Don't close it!") == fingerprint("do n't close it"), fingerprint("A") == fingerprint("B")
    (True, False)
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    letters = _NO_LETTERS.sub("", folded) or folded
    return int.from_bytes(blake2b(letters.encode(), digest_size=8).digest(), "big")


class Fingerprints:
    """The sources and references of a new task, as 16 bytes for each sentence."""

    def __init__(self) -> None:
        self._sources, self._references = array("Q"), array("Q")

    def add(self, sentences: Iterable[TaskSentence]) -> None:
        for one in sentences:
            self._sources.append(fingerprint(one.source))
            self._references.append(fingerprint(one.reference))

    def overlap(self, others: Fingerprints) -> list[int]:
        """The numbers, from 1, of the sentences whose source or reference is among the others'."""
        sources = np.isin(np.array(self._sources), np.array(others._sources))
        references = np.isin(np.array(self._references), np.array(others._references))
        return [int(number) + 1 for number in np.flatnonzero(sources | references)]


@dataclass(frozen=True)
class NewTask:
    """A task that is not stored yet."""

    name: str
    kind: Kind
    max_passes: int
    max_runs: int
    blocks: int

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> NewTask:
        return cls(row["name"], row["kind"], row["max_passes"], row["max_runs"], row["blocks"])


async def check_overlap(store: TaskStore, new: NewTask, sentences: Fingerprints, tasks: Iterable[SharedTask]) -> None:
    """Raise InputError if these tasks of the store have sentences of the new task. It names all of them."""
    found: list[str] = []
    for task in tasks:
        others = Fingerprints()
        async for chunk in store.sentence_chunks(task):
            others.add(chunk)
        if numbers := sentences.overlap(others):
            first = f" (the first is number {numbers[0]})" if not found else ""
            found.append(f"{len(numbers)} also in task {task.name!r}{first}, {_danger(new, task)}")
    if found:
        raise InputError(f"of the sentences of {new.name!r}, {'; '.join(found)}. Use other data, or --allow-overlap")


def _danger(new: NewTask, other: SharedTask) -> str:
    """Whose references participants could learn through which task."""
    if _is_practice(new) and not _is_practice(other):
        return f"whose references could be learned through {new.name!r}"
    if _is_practice(other) and not _is_practice(new):
        return f"through which the references of {new.name!r} could be learned"
    return "and the references of each could be learned through the other"


def _is_practice(task: NewTask | SharedTask) -> bool:
    """Whether a participant may try a sentence more than once. 0 means no limit; each block has the held-out ones."""
    return task.max_runs != 1 or task.blocks > 1 or (task.kind != "training" and task.max_passes != 1)
