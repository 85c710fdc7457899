"""Files to pairs: everything a learner can be taught from, as a stream of `(Segment, Truth)`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mtloop.data.formats.corpus import Corpus, Pair, Reader, Request
from mtloop.data.formats.delimited import parse_columns
from mtloop.data.formats.plain_text import pairs, read_aligned, read_parallel
from mtloop.data.formats.readers import READERS, read, stream
from mtloop.data.ratings.rankings import is_human, read_ranking
from mtloop.data.streams import by_blocks, by_document, cut, first, repeated, shuffled, without_repeats
from mtloop.text.files import read_lines

if TYPE_CHECKING:
    from mtloop.data.ratings.grid import Ratings
    from mtloop.data.ratings.rating_files import read_ratings

# These need numpy, which takes longer to import than all the rest together.
_LATE = {"Ratings": "mtloop.data.ratings.grid", "read_ratings": "mtloop.data.ratings.rating_files"}

__all__ = [
    "READERS",
    "Corpus",
    "Pair",
    "Ratings",
    "Reader",
    "Request",
    "by_blocks",
    "by_document",
    "cut",
    "first",
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
    "without_repeats",
]


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
