"""Statistics of a text: how long it is, how much of it repeats, and how much of it another text does not have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from mtloop.core.types import Score
from mtloop.metrics.repetition import RepetitionRate
from mtloop.text.sentence_cutting import cut_sentences


@dataclass(frozen=True)
class WordSplitter:
    """Splits a text into words with `tokenise`, whose name is `name`; then changes them to lower case if `lowercase`.

    >>> WordSplitter(lowercase=True)("Save  it")
    ['save', 'it']
    """

    tokenise: Callable[[str], list[str]] = str.split
    name: str = "whitespace"
    lowercase: bool = False

    def __call__(self, text: str) -> list[str]:
        return [word.lower() for word in self.tokenise(text)] if self.lowercase else self.tokenise(text)

    def compared(self, text: str) -> str:
        """Return a segment as it is compared with others: with single spaces, in lower case if words are."""
        text = " ".join(text.split())
        return text.lower() if self.lowercase else text


@dataclass(frozen=True)
class KnownText:
    """The segments and words of a text with which others are compared."""

    segments: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[str], split: WordSplitter) -> KnownText:
        distinct = set(texts)
        words = frozenset(word for text in distinct for word in split(text))
        return cls(frozenset(map(split.compared, distinct)), words)


@dataclass(frozen=True)
class TextStatistics:
    """What was counted in a text.

    Attributes:
        segments: Number of segments.
        sentences: Number of sentences. A segment may have several.
        words: Number of words: the tokens, punctuation included.
        types: Number of different words.
        longest: Number of words of the longest segment.
        duplicates: Number of segments that occurred before.
        repetition_rate: The repetition rate (metric `rr`) of the words.
        unknown_words: Number of words that do not occur in the text to compare with (None: there is none).
        known_segments: Number of segments that occur in that text (None: there is none).
    """

    segments: int
    sentences: int
    words: int
    types: int
    longest: int
    duplicates: int
    repetition_rate: Score
    unknown_words: int | None = None
    known_segments: int | None = None

    @classmethod
    def of(cls, texts: Sequence[str], split: WordSplitter, known: KnownText | None = None) -> TextStatistics:
        """Count the words into which `split` splits the segments.

        >>> found = TextStatistics.of(["Save it. Undo it.", "Undo it."], WordSplitter())
        >>> found.segments, found.sentences, found.words, found.types, found.longest
        (2, 3, 6, 3, 4)
        """
        split_once = _Words(split)
        words = [split_once(text) for text in texts]
        segments = [split.compared(text) for text in texts]
        return cls(
            segments=len(texts),
            sentences=sum(len(cut_sentences(text.strip())) for text in texts),
            words=sum(map(len, words)),
            types=len(split_once.types),
            longest=max(map(len, words), default=0),
            duplicates=count_duplicates(segments),
            repetition_rate=RepetitionRate().of_sentences(words),
            unknown_words=None if known is None else sum(word not in known.words for one in words for word in one),
            known_segments=None if known is None else count_known(segments, known.segments),
        )

    @property
    def mean_length(self) -> float | None:
        """Number of words per segment; None without segments."""
        return self.words / self.segments if self.segments else None

    @property
    def oov(self) -> float | None:
        """Percentage of the words that are unknown; None without words, or if there is nothing to compare with."""
        return percentage(self.unknown_words, self.words)

    @property
    def overlap(self) -> float | None:
        """Percentage of the segments that are known; None without segments, or if there is nothing to compare with."""
        return percentage(self.known_segments, self.segments)


@dataclass(frozen=True)
class _Words:
    """The words of texts. Equal words are one object, which saves memory, and equal texts are split once."""

    split: WordSplitter
    types: dict[str, str] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def __call__(self, text: str) -> list[str]:
        if text not in self.texts:
            self.texts[text] = [self.types.setdefault(word, word) for word in self.split(text)]
        return self.texts[text]


def count_duplicates(items: Sequence[Hashable]) -> int:
    """Return how many items are equal to an earlier one.

    >>> count_duplicates(["a", "b", "a", "a"])
    2
    """
    return len(items) - len(set(items))


def count_known(items: Iterable[Hashable], known: Collection[Hashable]) -> int:
    """Return how many items are among the known ones.

    >>> count_known(["a", "b", "a"], {"a"})
    2
    """
    return sum(item in known for item in items)


def percentage(part: int | None, whole: int) -> float | None:
    """Return a part in per cent of the whole; None if the whole is 0, or if there is no part.

    >>> percentage(1, 4), percentage(0, 0)
    (25.0, None)
    """
    return None if part is None or not whole else 100 * part / whole
