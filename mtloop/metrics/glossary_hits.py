"""How many terms of a glossary a translation has, compared by base form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mtloop.core.errors import InputError
from mtloop.core.types import Step
from mtloop.metrics.base import Array, Ratio
from mtloop.text.glossary import Glossary, group_matches
from mtloop.text.lemmas import load_lemmas


class GlossaryHits(Ratio):
    """The share of the terms in the source whose translation is in the hypothesis, in any inflected form.

    A term that occurs twice in the source must be translated twice. A segment without terms is 0/0 and does not change
    the score. Columns: terms found, terms in the source.
    """

    name = "terms"

    def __init__(self, glossary: Glossary) -> None:
        """Raise MissingExtra without simplemma, and InputError without the target language."""
        if not glossary.target_lang:
            raise InputError("metric terms compares base forms; give the language with --target-lang, such as de")
        self.glossary, self._lemmas = glossary, load_lemmas(glossary.target_lang)

    @property
    def signature(self) -> str:
        languages = f"{self.glossary.source_lang or '?'}-{self.glossary.target_lang}"
        return f"glossary:{len(self.glossary)}|lang:{languages}|lemmas:{self._lemmas.signature}"

    def rows(self, steps: Sequence[Step]) -> Array:
        rows = [self.count_hits(step.proposal.segment.source, step.proposal.text) for step in steps]
        return np.array(rows, dtype=float).reshape(-1, 2)

    def count_hits(self, source: str, translation: str) -> tuple[int, int]:
        """Return how many of the terms in a source a translation has, and how many there are."""
        groups = group_matches(self.glossary.find(source))
        found = [min(len(matches), self.glossary.count_targets(term, translation)) for term, matches in groups.items()]
        return sum(found), sum(map(len, groups.values()))
