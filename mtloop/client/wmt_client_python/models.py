"""The data types of the 2017 client."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Sentence:
    """A sentence to translate."""

    id: str
    source: str


@dataclass
class Translation:
    """The translation of the sentence with the same id."""

    id: str
    translation: str


@dataclass
class TranslationResponse:
    """The reward of a translation, from 0 to 1."""

    id: str
    score: float
