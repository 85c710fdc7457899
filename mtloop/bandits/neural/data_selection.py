"""Which general sentences look like a domain: the difference of two cross-entropies (Axelrod et al., 2011).

The paper adds the same difference of the target side; where only sources of the domain are seen, there is none.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from mtloop.smt.foreground import WittenBell
from mtloop.text.reversible import split

Words = Sequence[str]


def differences(domain: Sequence[Words], general: Sequence[Words], seed: int = 1) -> list[float]:
    """H_domain(s) - H_general(s) a word, for each general sentence: the lower, the more it looks like the domain.

    A general model is of as many sentences as the domain has: models of unlike sizes would differ in how surprised
    they are by anything. There are two, of sentences drawn apart, since none may judge a sentence it was made of.

    >>> general = [cut(text) for text in ("Save the page.", "It rained.", "It snowed.", "Open the file.")]
    >>> found = differences([cut("Save the file."), cut("Open the page.")], general)
    >>> [place for place, value in enumerate(found) if value < 0]
    [0, 3]
    """
    inside, drawn = model_of(domain), list(range(len(general)))
    random.Random(seed).shuffle(drawn)
    size = min(len(domain), len(general) // 2)
    one, other = (model_of(general[place] for place in part) for part in (drawn[:size], drawn[size : 2 * size]))
    judged = set(drawn[:size])
    outside = (other if place in judged else one for place in range(len(general)))
    return [
        (model.score(words) - inside.score(words)) / (len(words) + 1)
        for model, words in zip(outside, general, strict=True)
    ]


def model_of(sentences: Iterable[Words]) -> WittenBell:
    """A 3-gram model."""
    model = WittenBell()
    for words in sentences:
        model.add(words)
    return model


def cut(text: str) -> tuple[str, ...]:
    """The words that are counted, without their case."""
    return tuple(split(text.lower()))
