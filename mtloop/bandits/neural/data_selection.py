"""Selection of general sentences similar to a domain, by cross-entropy difference (Axelrod et al., 2011).

The paper adds the same difference for the target side; here only the sources of the domain are known.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from mtloop.smt.foreground import WittenBell
from mtloop.text.reversible import tokenise_reversibly

Words = Sequence[str]


def cross_entropy_differences(domain: Sequence[Words], general: Sequence[Words], seed: int = 1) -> list[float]:
    """Return H_domain(s) - H_general(s) per word for each general sentence: lower means more similar to the domain.

    A general model is trained on as many sentences as the domain has: models of different sizes have different
    cross-entropies on any text. There are two, trained on disjoint samples: no model scores its own training data.

    >>> general = [words_of(text) for text in ("Save the page.", "It rained.", "It snowed.", "Open the file.")]
    >>> found = cross_entropy_differences([words_of("Save the file."), words_of("Open the page.")], general)
    >>> [index for index, value in enumerate(found) if value < 0]
    [0, 3]
    """
    domain_model, order = train_trigrams(domain), list(range(len(general)))
    random.Random(seed).shuffle(order)
    size = min(len(domain), len(general) // 2)
    parts = order[:size], order[size : 2 * size]
    first, second = (train_trigrams(general[index] for index in part) for part in parts)
    in_first = set(order[:size])
    general_models = (second if index in in_first else first for index in range(len(general)))
    return [
        (model.score(words) - domain_model.score(words)) / (len(words) + 1)
        for model, words in zip(general_models, general, strict=True)
    ]


def train_trigrams(sentences: Iterable[Words]) -> WittenBell:
    """Return a 3-gram model."""
    model = WittenBell()
    for words in sentences:
        model.add(words)
    return model


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, in lower case."""
    return tuple(tokenise_reversibly(text.lower()))
