"""A text to translate: the sentences that a model translates, and everything around and inside them that stays."""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TypeAlias

from mtloop.text.protected.flatten import Flat, FlatMark, depths, has_letters, raw_text, with_stand_ins
from mtloop.text.protected.icu import IcuArgument, IcuError, IcuMessage, parse_icu
from mtloop.text.protected.mnemonics import Mnemonic, take_mnemonic
from mtloop.text.protected.passage import Assembled, Passage
from mtloop.text.protected.symbols import symbols_of
from mtloop.text.protected.tags import find_tags
from mtloop.text.protected.word_links import Align
from mtloop.text.sentence_cutting import align_sentences, cut_sentences

Complete: TypeAlias = Callable[[str, str], str]
"""Translates a part with a given beginning of its translation."""


class Syntax(StrEnum):
    """What a text is: plain, a fragment of an XML file, in which every element is a tag, or HTML.

    HTML is as XML, but paragraphs, items and other block elements are texts of their own. An unknown one is plain.
    """

    PLAIN = "plain"
    XML = "xml"
    HTML = "html"

    @classmethod
    def _missing_(cls, value: object) -> Syntax:
        return cls.PLAIN


@dataclass(frozen=True)
class TextUnit:
    """One text of a user: a label, a paragraph, a message with placeholders and tags.

    `parts` are the sentences to translate. A model sees a stand-in (%1, %2, ...) for each placeholder and no tag.
    `assemble` puts the translations together with everything that was protected, each exactly once, in legal nesting.
    A `problem` says why the text cannot be translated; then it has no parts and stays as it is.

    >>> unit = TextUnit.of("Click <b>Save</b> to store {name}. Done?\\n")
    >>> unit.parts
    ('Click Save to store %1.', 'Done?')
    >>> unit.assemble(["Klicken Sie auf Save, um %1 zu speichern.", "Fertig?"]).text
    'Klicken Sie auf <b>Save</b>, um {name} zu speichern. Fertig?\\n'
    """

    source: str
    syntax: Syntax = Syntax.PLAIN
    problem: str = ""
    template: tuple[str | Passage, ...] = ()
    mnemonic: Mnemonic | None = None
    message: IcuMessage | None = None
    branches: tuple[tuple[TextUnit, ...], ...] = ()
    """For each argument of an ICU message, the texts of its branches."""

    @classmethod
    def of(
        cls,
        source: str,
        syntax: Syntax | str = Syntax.PLAIN,
        *,
        has_mnemonic: bool = False,
        symbols: Mapping[str, bool] | None = None,
    ) -> TextUnit:
        """Find what is protected, and cut the rest into sentences.

        `has_mnemonic`: the text is that of a label. `symbols`: of a translation, those of its source.
        """
        syntax = Syntax(syntax)
        try:
            message = parse_icu(source, xml=syntax is not Syntax.PLAIN) if "{" in source else None
            if message is not None:
                return cls._of_message(source, message, syntax, symbols)
            return cls._of_label(source, syntax, has_mnemonic, symbols) or cls(
                source, syntax, template=_template(source, syntax, symbols)
            )
        except (IcuError, ValueError) as error:
            return cls(source, syntax, problem=f"not a valid ICU message: {error}")

    @classmethod
    def whole(cls, source: str) -> TextUnit:
        """Return a unit of one part, in which nothing is protected."""
        return cls(source, template=(Passage(source),))

    @classmethod
    def _of_label(
        cls, source: str, syntax: Syntax, is_sure: bool, symbols: Mapping[str, bool] | None
    ) -> TextUnit | None:
        """Return the unit of a label with a mnemonic; None if the text is not one."""
        label, is_xml = source.strip(), syntax is not Syntax.PLAIN
        text, mnemonic = take_mnemonic(html.unescape(label) if is_xml else label, is_sure=is_sure)
        if mnemonic is None or find_tags(label, xml=is_xml):
            return None
        text = html.escape(text, quote=False) if is_xml else text
        template = _template(source.replace(label, text, 1), syntax, symbols)
        is_one = sum(isinstance(item, Passage) for item in template) == 1
        return cls(source, syntax, template=template, mnemonic=mnemonic) if is_one else None

    @classmethod
    def _of_message(
        cls, source: str, message: IcuMessage, syntax: Syntax, symbols: Mapping[str, bool] | None = None
    ) -> TextUnit:
        branches = tuple(
            tuple(cls._of_message(branch.text, branch, syntax, symbols) for branch in argument.branches)
            for argument in message.arguments
        )
        template = _template(message.text, syntax, symbols)
        return cls(source, syntax, template=template, message=message, branches=branches)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The sentences to translate, in order; those of branches come after those of the message around them."""
        own = [item.text for item in self.template if isinstance(item, Passage)]
        return (*own, *(part for units in self.branches for unit in units for part in unit.parts))

    @property
    def protected(self) -> tuple[str, ...]:
        """What comes out of a translation unchanged, as it is written: placeholders and tags, in order."""
        passages = [item for item in self.template if isinstance(item, Passage)]
        own = [text for one in passages for text in (*one.placeholders, *(mark.raw for mark in one.marks)) if text]
        return (*own, *(text for units in self.branches for unit in units for text in unit.protected))

    @property
    def is_protected(self) -> bool:
        """Whether the text has more than one plain sentence: anything around it or inside it that is protected."""
        return self.parts != (self.source,)

    def assemble(self, translations: Sequence[str], align: Align | None = None) -> Assembled:
        """Return the translation of the text from the translations of its parts."""
        if self.problem:
            return Assembled(self.source)
        remaining, repaired = iter(translations), list[str]()
        text = "".join(
            item if isinstance(item, str) else self._restored(item, next(remaining), align, repaired)
            for item in self.template
        )
        if self.message is not None:
            text = self.message.write(text, list(self._arguments(remaining, align, repaired)))
        return Assembled(text, tuple(repaired))

    def _restored(self, passage: Passage, translation: str, align: Align | None, repaired: list[str]) -> str:
        translation = self.mnemonic.put_into(translation) if self.mnemonic else translation
        assembled = passage.restore(translation, align)
        repaired += assembled.repaired
        return assembled.text

    def _arguments(self, remaining: Iterator[str], align: Align | None, repaired: list[str]) -> Iterator[str]:
        assert self.message is not None
        for argument, units in zip(self.message.arguments, self.branches, strict=True):
            texts = []
            for unit in units:
                assembled = unit.assemble([next(remaining) for _ in unit.parts], align)
                repaired += assembled.repaired
                texts.append(assembled.text)
            yield argument.write(texts)

    def pieces(self, most: int) -> tuple[TextUnit, ...]:
        """Cut a unit into units of at most `most` characters. Their translations in a row are that of the whole.

        They end at ends of sentences. A longer sentence is cut between words, if nothing is protected in it; else it is
        a piece of its own. Labels and ICU messages are not cut.

        >>> [unit.parts for unit in TextUnit.of("Save it. Is it saved? Close the window.").pieces(25)]
        [('Save it.', 'Is it saved?'), ('Close the window.',)]
        """
        if self.message or self.mnemonic or self.problem:
            return (self,)
        found, size = list[list[str | Passage]]([[]]), 0
        for item in self.template:
            for one in _short_items(item, most):
                length = len(one.text) if isinstance(one, Passage) else 0
                if size and length and size + length > most:
                    found.append([])
                    size = 0
                found[-1].append(one)
                size += length
        return tuple(TextUnit(self.source, self.syntax, template=tuple(one)) for one in found)

    def complete(self, prefix: str, translate: Complete, align: Align | None = None) -> str:
        """Return a translation that begins with what was typed.

        Whole sentences of the prefix belong to the first parts. `translate` gets a part and the typed beginning of its
        translation as the model sees it, and returns a translation with this beginning.

        The prefix alone means that there is no completion: an ICU message has none, and no text has one after a
        sentence more than its source has. A caller then keeps what stands after the prefix.
        """
        if not self.is_protected:
            return translate(self.source, prefix)
        places = [index for index, item in enumerate(self.template) if isinstance(item, Passage)]
        number, typed = _typed_sentences(prefix)
        if self.message or number >= len(places):
            return prefix
        passage = self.template[places[number]]
        assert isinstance(passage, Passage)
        tail = _tail(passage, typed, translate(passage.text, passage.as_seen(typed)), align)
        rest = (self._translated(item, translate, align) for item in self.template[places[number] + 1 :])
        return "".join([prefix, tail, *rest])

    def _translated(self, item: str | Passage, translate: Complete, align: Align | None) -> str:
        return item if isinstance(item, str) else item.restore(translate(item.text, ""), align).text

    def lessons(self, target: str) -> tuple[tuple[str, str], ...]:
        """Return what a correction teaches: pairs of sentences as the model sees them.

        Sentences are aligned. A pair whose sides have different placeholders teaches nothing and is left out.
        """
        if self.problem:
            return ()
        if not self.is_protected and len(cut_sentences(target)) == 1 and target.strip() == target:
            return ((self.source, target),)
        return tuple(_lessons(self, self._translation(target)))

    def _translation(self, target: str) -> TextUnit:
        symbols = symbols_of(self.source if self.syntax is Syntax.PLAIN else html.unescape(self.source))
        return TextUnit.of(target, self.syntax, has_mnemonic=self.mnemonic is not None, symbols=symbols)


def _short_items(item: str | Passage, most: int) -> Iterator[str | Passage]:
    """Cut an item of a template between words, if it is a long sentence in which nothing is protected."""
    if isinstance(item, str) or len(item.text) <= most or item.placeholders or item.marks:
        yield item
        return
    rest = item.text
    while rest:
        end = rest.rfind(" ", 1, most + 1) if len(rest) > most else len(rest)
        words, rest = (rest[:end], rest[end:]) if end > 0 else (rest[:most], rest[most:])
        yield replace(item, text=words) if has_letters(words) else item.written(words)
        yield rest[: len(rest) - len(rest.lstrip())]
        rest = rest.lstrip()


def _typed_sentences(prefix: str) -> tuple[int, str]:
    """Return the number of whole sentences in a prefix, and the rest of it."""
    sentences = cut_sentences(prefix)
    if sentences and sentences[-1].rstrip().endswith((".", "!", "?", "…")) and sentences[-1] != sentences[-1].rstrip():
        return len(sentences), ""
    return max(0, len(sentences) - 1), sentences[-1] if sentences else ""


def _tail(passage: Passage, typed: str, translation: str, align: Align | None) -> str:
    """Return what follows the typed text in the translation of a passage."""
    seen, begun = passage.as_seen(typed), typed.lstrip()
    if not translation.startswith(seen):
        return ""
    restored = passage.restore(translation, align).text
    return restored[len(begun) :] if restored.startswith(begun) else passage.written(translation[len(seen) :])


def _lessons(source: TextUnit, target: TextUnit) -> Iterator[tuple[str, str]]:
    if source.problem or target.problem:
        return
    yield from _aligned_lessons(_sentences(source), _sentences(target, with_spaces=True))
    if source.message and target.message:
        yield from _branch_lessons(source, target)


def _branch_lessons(source: TextUnit, target: TextUnit) -> Iterator[tuple[str, str]]:
    assert source.message is not None
    assert target.message is not None
    by_name = {
        (one.name, one.kind): (one, units) for one, units in zip(source.message.arguments, source.branches, strict=True)
    }
    for argument, units in zip(target.message.arguments, target.branches, strict=True):
        if (argument.name, argument.kind) in by_name:
            known, known_units = by_name[argument.name, argument.kind]
            for selector, unit in zip(argument.selectors, units, strict=True):
                yield from _lessons(known_units[_index(known, selector)], unit)


def _index(argument: IcuArgument, selector: str) -> int:
    return argument.selectors.index(selector if selector in argument.selectors else "other")


@dataclass(frozen=True)
class _Sentence:
    text: str
    placeholders: tuple[str, ...]

    @cached_property
    def pieces(self) -> list[str]:
        """The text between stand-ins."""
        return re.split(r"%\d+(?!\d)", self.text) if self.placeholders else [self.text]


def _sentences(unit: TextUnit, *, with_spaces: bool = False) -> list[_Sentence]:
    """Return the sentences of a unit, of a translation with the spaces at which no line may end."""
    passages = [item for item in unit.template if isinstance(item, Passage)]
    return [_Sentence(one.spaced if with_spaces else one.text, one.placeholders) for one in passages]


def _aligned_lessons(sources: list[_Sentence], targets: list[_Sentence]) -> Iterator[tuple[str, str]]:
    if not sources or not targets:
        return
    left, right = iter(sources), iter(targets)
    for group in align_sentences([_filled(one) for one in sources], [_filled(one) for one in targets]):
        pair = _numbered([next(left) for _ in group[0]], [next(right) for _ in group[1]])
        if pair is not None:
            yield pair


def _filled(sentence: _Sentence) -> str:
    """The sentence with its placeholders, for the alignment: equal placeholders belong together."""
    values = [*sentence.placeholders, ""]
    return "".join(text + value for text, value in zip(sentence.pieces, values, strict=True))


def _numbered(sources: list[_Sentence], targets: list[_Sentence]) -> tuple[str, str] | None:
    """Join the sentences of a group, and number equal placeholders alike; None if the placeholders differ."""
    numbers: dict[str, list[int]] = {}
    count = 0
    for one in sources:
        for placeholder in one.placeholders:
            count += 1
            numbers.setdefault(placeholder, []).append(count)
    source = _joined(sources, iter(range(1, count + 1)))
    try:
        order = [numbers[placeholder].pop(0) for one in targets for placeholder in one.placeholders]
    except (KeyError, IndexError):
        return None
    return None if any(numbers.values()) else (source, _joined(targets, iter(order)))


def _joined(sentences: list[_Sentence], numbers: Iterator[int]) -> str:
    texts = []
    for one in sentences:
        values = [*(f"%{next(numbers)}" for _ in one.placeholders), ""]
        texts.append("".join(text + value for text, value in zip(one.pieces, values, strict=True)))
    return " ".join(texts)


def _template(text: str, syntax: Syntax, symbols: Mapping[str, bool] | None) -> tuple[str | Passage, ...]:
    """Return the literal texts and the passages of a text."""
    flat = Flat.of(text, is_xml=syntax is Syntax.XML, is_html=syntax is Syntax.HTML, symbols=symbols)
    return tuple(_items(flat))


def _items(flat: Flat) -> Iterator[str | Passage]:
    position, first = 0, 0
    for number, (mark, level) in enumerate(zip(flat.marks, depths(flat.marks), strict=True)):
        if mark.separates and level == 0:
            yield from _block(flat, position, mark.offset, flat.marks[first:number])
            yield mark.raw
            position, first = mark.offset + mark.replaces_space, number + 1
    yield from _block(flat, position, len(flat.text), flat.marks[first:])


def _block(flat: Flat, start: int, end: int, marks: Sequence[FlatMark]) -> Iterator[str | Passage]:
    """Yield the literals and the sentences of a text without hard breaks."""
    block = _Block(flat, start, end, deque(marks))
    while block.take_pair() or block.take_first() or block.take_last():
        pass
    block.take_spaces()
    yield "".join(block.before)
    yield from _passages(flat, block.start, block.end, list(block.marks))
    yield "".join(block.after[::-1])


@dataclass
class _Block:
    """A text whose edges are taken off: white space, single tags, and pairs of tags around the whole text."""

    flat: Flat
    start: int
    end: int
    marks: deque[FlatMark]
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    def take_pair(self) -> bool:
        """Take off a pair of tags that encloses the text."""
        if len(self.marks) < 2 or not self._is_first() or not self._is_last():
            return False
        if self.marks[0].pair < 0 or self.marks[0].pair != self.marks[-1].pair:
            return False
        self._drop_first()
        self._drop_last()
        return True

    def take_first(self) -> bool:
        """Take off a single tag at the start."""
        if not self.marks or self.marks[0].pair >= 0 or not self._is_first():
            return False
        self._drop_first()
        return True

    def take_last(self) -> bool:
        """Take off a single tag at the end."""
        if not self.marks or self.marks[-1].pair >= 0 or not self._is_last():
            return False
        self._drop_last()
        return True

    def take_spaces(self) -> None:
        """Take off white space, as far as no tag stands before it."""
        text = self.flat.text[self.start : self.end]
        low = self.marks[0].offset if self.marks else self.end
        high = self.marks[-1].offset if self.marks else self.start
        first = min(self.start + len(text) - len(text.lstrip()), low)
        last = max(self.start + len(text.rstrip()), high, first)
        self.before.append(self.flat.text[self.start : first])
        self.after.append(self.flat.text[last : self.end])
        self.start, self.end = first, last

    def _is_first(self) -> bool:
        return not self.flat.text[self.start : self.marks[0].offset].strip()

    def _is_last(self) -> bool:
        mark = self.marks[-1]
        return not self.flat.text[mark.offset + mark.replaces_space : self.end].strip()

    def _drop_first(self) -> None:
        mark = self.marks.popleft()
        self.before.append(self.flat.text[self.start : mark.offset] + mark.raw)
        self.start = mark.offset + mark.replaces_space

    def _drop_last(self) -> None:
        mark = self.marks.pop()
        self.after.append(mark.raw + self.flat.text[mark.offset + mark.replaces_space : self.end])
        self.end = mark.offset


def _passages(flat: Flat, start: int, end: int, marks: Sequence[FlatMark]) -> Iterator[str | Passage]:
    """Yield the sentences of a text, and the white space between them. A sentence ends outside all pairs of tags."""
    sentences = cut_sentences(flat.text[start:end])
    ends = [start + length for length in accumulate(map(len, sentences))]
    offsets = [mark.offset for mark in marks]
    for low, high in pairwise([start, *_outside_pairs(ends[:-1], marks), end]):
        inside = marks[bisect_left(offsets, low) : len(marks) if high == end else bisect_left(offsets, high)]
        body = flat.text[low:high].rstrip()
        last = max([low + len(body), *(mark.offset + mark.replaces_space for mark in inside)])
        yield from _passage(flat, low, last, inside)
        yield flat.text[last:high]


def _outside_pairs(cuts: Iterable[int], marks: Sequence[FlatMark]) -> Iterator[int]:
    """Yield the cuts that are not inside a pair of tags."""
    ends = {mark.pair: mark.offset for mark in marks if mark.pair >= 0}
    waiting, covered = deque(marks), -1
    for cut in cuts:
        while waiting and waiting[0].offset < cut:
            covered = max(covered, ends.get(waiting.popleft().pair, -1))
        if covered < cut:
            yield cut


def _passage(flat: Flat, start: int, end: int, marks: Sequence[FlatMark]) -> Iterator[str | Passage]:
    """Yield a sentence, or the literal text if there is nothing to translate in it."""
    if not has_letters(flat.text[start:end]):
        yield raw_text(flat, start, end, marks)
        return
    text, numbers, moved = with_stand_ins(flat.text[start:end], marks, start)
    yield Passage(text, tuple(flat.placeholders[number] for number in numbers), moved, flat.is_xml)
