"""What travels, under its names of 2017."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Sentence:
    """A source to translate."""

    id: str
    source: str


@dataclass
class Translation:
    """What became of it."""

    id: str
    translation: str


@dataclass
class TranslationResponse:
    """The reward."""

    id: str
    score: float
