"""Sentences about systems. The names of systems are marked, so that a page can show them in bold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

Sentence: TypeAlias = tuple[str, ...]  # its parts; joined, they are plain text


class SystemName(str):
    """The name of a system as a part of a sentence."""

    __slots__ = ()


@dataclass(frozen=True)
class Finding:
    """What was found, how sure it is, and whether it is significant; the parts are without a full stop.

    >>> "".join(Finding(("A is better",), ("The p-value is 0.01",)).sentences)
    'A is better. The p-value is 0.01.'
    """

    found: Sentence
    certainty: Sentence = ()
    significant: bool = True

    @property
    def sentences(self) -> Sentence:
        return (*self.found, ".", *((" ", *self.certainty, ".") if self.certainty else ()))


def join(sentences: Iterable[Sentence], separator: str) -> Sentence:
    """Return one sentence, with the separator between the given ones.

    >>> join([("a", SystemName("b")), ("c",)], "; ")
    ('a', 'b', '; ', 'c')
    """
    parts = chain.from_iterable((separator, *sentence) for sentence in sentences)
    return tuple(parts)[1:]


def names(systems: Iterable[str]) -> Sentence:
    """Return a list of names as part of a sentence.

    >>> "".join(names(["a", "b", "c"]))
    'a, b and c'
    """
    *first, last = map(SystemName, systems)
    return (*join(((name,) for name in first), ", "), *([" and "] if first else []), last)
