"""Read files as streams of `(Segment, Truth)` pairs, and reorder or filter such streams."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mtloop.data.corpus_checks import check_corpus
from mtloop.data.formats.corpus import Corpus, Pair, Reader, ReadRequest
from mtloop.data.formats.delimited import parse_columns
from mtloop.data.formats.plain_text import pairs, read_aligned, read_parallel
from mtloop.data.formats.readers import READERS, declared_languages, read, stream
from mtloop.data.ratings.rankings import is_human, read_ranking
from mtloop.data.streams import by_blocks, by_document, repeated, shuffled, subset, take, without_repeats
from mtloop.text.files import read_lines

if TYPE_CHECKING:
    from mtloop.data.ratings.grid import Ratings
    from mtloop.data.ratings.rating_files import read_ratings

# These modules import numpy, which takes longer to import than the rest of the package together.
_LAZY = {"Ratings": "mtloop.data.ratings.grid", "read_ratings": "mtloop.data.ratings.rating_files"}

__all__ = [
    "READERS",
    "Corpus",
    "Pair",
    "Ratings",
    "ReadRequest",
    "Reader",
    "by_blocks",
    "by_document",
    "check_corpus",
    "declared_languages",
    "is_human",
    "pairs",
    "parse_columns",
    "read",
    "read_aligned",
    "read_lines",
    "read_parallel",
    "read_ranking",
    "read_ratings",
    "repeated",
    "shuffled",
    "stream",
    "subset",
    "take",
    "without_repeats",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
