"""Quality checks of one translation: translate-toolkit's, and a few stricter ones for what must not be translated.

Checks that often fail on good translations are left out. Capital letters (startcaps, simplecaps): German nouns have
them. Quotation marks and the spaces around them (doublequoting, singlequoting, startpunc, puncspacing): every language
has its own. The number of sentences (sentencecount), acronyms (acronyms) and doubled spaces (doublespacing):
translators change them for good reasons. Spelling (spellcheck) needs a dictionary.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from xml.parsers import expat

from translate.filters.checks import CheckerConfig, FilterFailure, StandardChecker

from mtloop.text.messages import join_names, one_line
from mtloop.text.pair_filter import PairFilter
from mtloop.text.protected.format_strings import format_failure, formats_of
from mtloop.text.protected.placeholders import find_placeholders
from mtloop.text.protected.symbols import symbols_of
from mtloop.text.protected.tags import Tag, find_tags
from mtloop.text.text_unit import Syntax, TextUnit

FORMAT = "format"
"""The check of what a program formats, such as a message with the flag `c-format`. gettext refuses what fails it."""
MIN_UNCHANGED_WORDS = 3  # shorter texts are often the same in both languages: Filter, Backend URL
MIN_LENGTH = 3  # characters of a source whose translation is checked for its length: W may be Mi
SERIOUS = frozenset({"empty", "placeholders", "tags", "XML", FORMAT})
"""The checks of what breaks a program or a file."""

# The checks of translate-toolkit, by our name. A name is listed once, with the first of its checks that fails.
TOOLKIT_CHECKS = {
    "empty": ("untranslated", "blank"),
    "placeholders": ("printf", "pythonbraceformat"),
    "line breaks": ("newlines",),
    "tabs": ("tabs",),
    "escapes": ("escapes",),
    "brackets": ("brackets",),
    "punctuation": ("endpunc",),
    "length": ("short", "long"),
    "repeated word": ("doublewords",),
}
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.)")  # German has a space before it
_REPEATED = re.compile(r"\b([^\W\d_]+)\s+\1\b")  # not "Möchten Sie sie"
_WORD = re.compile(r"[^\W\d_]{2,}")
_LINE_END = re.compile(r"\r\n|\r|\n")
_NUMBER = re.compile(r"\d+")
_PERCENT = re.compile(r"\d+(?=%%$)")  # a number before %% may get a space: 100 %%
_SIGNS, _SIGN_CATEGORIES = frozenset("§¶†‡‰•"), frozenset({"Sm", "Sc", "So", "No", "Co"})
_PERCENT_SIGN = "\uff05"


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that a translation fails: its name, and what is wrong."""

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


def failed_checks(
    source: str, target: str, *, syntax: str = "plain", target_lang: str = "", flags: object = ()
) -> tuple[FailedCheck, ...]:
    """Return the checks that a translation fails, the serious ones first.

    `syntax` is "plain", "xml" for fragments of an XML file, or "html". `flags` are those of gettext: `["c-format"]`.

    >>> [str(failed) for failed in failed_checks("Delete {name}?", "Löschen?", target_lang="de")]
    ['placeholders: {name} is missing']
    """
    unit = TextUnit.of(source, syntax)
    found: dict[str, FailedCheck] = {}
    texts = (source, target)
    if formats_of(flags, source):  # its check sees them; each is one percent sign for the reader
        texts = (source.replace("%%", _PERCENT_SIGN), target.replace("%%", _PERCENT_SIGN))
    for failed in _failures(unit, *texts, target_lang):
        found.setdefault(failed.name, failed)
    if problem := format_failure(source, target, flags):
        found[FORMAT] = FailedCheck(FORMAT, problem)
    if "empty" in found:
        return (found["empty"],)
    return tuple(sorted(found.values(), key=lambda failed: failed.name not in SERIOUS))


def is_better(one: Sequence[FailedCheck], other: Sequence[FailedCheck]) -> bool:
    """Whether the first translation fails fewer serious checks than the second, or as many and fewer checks in all."""
    return _severity(one) < _severity(other)


def _severity(failed: Sequence[FailedCheck]) -> tuple[int, int]:
    return sum(one.name in SERIOUS for one in failed), len(failed)


def _failures(unit: TextUnit, source: str, target: str, language: str) -> Iterator[FailedCheck]:
    is_xml = unit.syntax is not Syntax.PLAIN
    texts = _visible_text(source, is_xml), _visible_text(target, is_xml)
    yield from _tag_failures(source, target, unit.syntax)
    if unit.message is not None and unit.message.arguments:
        yield from _icu_failures(unit, target)
        return
    yield from _differences("placeholders", *map(_placeholders, texts))
    yield from _toolkit_failures(unit, *texts, language)
    if lost := _lost_characters(*texts):
        yield FailedCheck("characters", f"{join_names(lost)} {'is' if len(lost) == 1 else 'are'} missing")
    if unit.mnemonic and not _has_mnemonic(target, unit):
        yield FailedCheck("mnemonic", f"missing mnemonic {unit.mnemonic.mark!r}")
    yield from _differences("numbers", *(Counter(_NUMBER.findall(_without_placeholders(text))) for text in texts))
    if _spaces(source) != _spaces(target):
        yield FailedCheck("spaces at the ends", "differ from those of the source")
    if number := _empty_line(*texts):
        yield FailedCheck("line breaks", f"line {number} is empty")
    if PairFilter()(*texts) == "length":
        yield FailedCheck("length", "one side is much longer than the other")
    if texts[0].lower() == texts[1].lower() and _has_words(texts[0], MIN_UNCHANGED_WORDS):
        yield FailedCheck("untranslated", "the same as the source")


def _toolkit_failures(unit: TextUnit, source: str, target: str, language: str) -> Iterator[FailedCheck]:
    mark = unit.mnemonic.mark if unit.mnemonic else ""
    checker = _checker(language, mark)
    is_repeated = _REPEATED.search(target) and not _REPEATED.search(source)
    ignored = {"length": len(source.strip()) < MIN_LENGTH, "repeated word": not is_repeated}
    normalise = {"brackets": _without_placeholders, "punctuation": _plain_ellipsis}
    for name, function in ((name, one) for name, functions in TOOLKIT_CHECKS.items() for one in functions):
        texts = [normalise[name](text) if name in normalise else text for text in (source, target)]
        if not ignored.get(name) and (message := _toolkit_failure(checker, function, *texts)):
            yield FailedCheck(name, message)


def _has_mnemonic(target: str, unit: TextUnit) -> bool:
    """Whether a translation has the mark of the source once. The toolkit refuses the mark before ö."""
    found = TextUnit.of(target, unit.syntax, has_mnemonic=True).mnemonic
    return found is not None and unit.mnemonic is not None and found.mark == unit.mnemonic.mark


def _toolkit_failure(checker: StandardChecker, function: str, source: str, target: str) -> str:
    """Return what is wrong; "" if the check passes."""
    checker.results_cache = {}
    try:
        passed = getattr(checker, function)(source, target)
    except FilterFailure as failure:
        return _plain(str(failure))
    except Exception as error:  # a fault of the toolkit must not end the work on a file
        return f"{function} of translate-toolkit could not be run ({type(error).__name__}: {one_line(error)})"
    return "" if passed else "the translation is empty"


@lru_cache(maxsize=64)
def _checker(language: str, mark: str) -> StandardChecker:
    config = CheckerConfig(targetlanguage=language.replace("-", "_") or None, accelmarkers=[mark] if mark else [])
    return StandardChecker(config)


def _plain(message: str) -> str:
    """Return a message of the toolkit in the style of our own."""
    message = message.replace("printf variable", "placeholder").strip().rstrip(".")
    return message[:1].lower() + message[1:]


def _differences(name: str, source: Counter[str], target: Counter[str]) -> Iterator[FailedCheck]:
    missing, added = source - target, target - source
    for found, what in ((missing, "missing"), (added, "added")):
        if found:
            verb = "is" if found.total() == 1 else "are"
            yield FailedCheck(name, f"{join_names(found.elements())} {verb} {what}")


def _tag_failures(source: str, target: str, syntax: Syntax) -> Iterator[FailedCheck]:
    """Compare the tags, and then their pairs: each pair of the source is a pair in the translation too."""
    texts, is_xml = (source, target), syntax is not Syntax.PLAIN
    tags = [find_tags(text, xml=is_xml) for text in texts]
    different = list(_differences("tags", *map(_written, texts, tags)))
    yield from different
    if syntax is Syntax.XML and (error := xml_error(target)):
        yield FailedCheck("XML", f"not well-formed: {error}")
        return
    paired, found = map(_written, texts, ([tag for tag in one if tag.pair >= 0] for one in tags))
    if not different and (lost := paired - found):
        names = join_names(lost.elements())
        yield FailedCheck("tags", f"{names} do not nest: a closing tag comes after its opening tag, and none cross")


def _written(text: str, tags: Sequence[Tag]) -> Counter[str]:
    return Counter(text[tag.start : tag.end] for tag in tags)


def _visible_text(text: str, is_xml: bool) -> str:
    """Return a text without tags; of an XML fragment, with its entities as characters.

    A tag that stands alone may be a word of the sentence, so a letter is written in its place.
    """
    pieces, end = [], 0
    for tag in find_tags(text, xml=is_xml):
        pieces += [text[end : tag.start], "" if tag.pair >= 0 else "X"]
        end = tag.end
    visible = "".join([*pieces, text[end:]])
    return html.unescape(visible) if is_xml else visible


def _placeholders(text: str) -> Counter[str]:
    return Counter(text[start:end] for start, end in _spans(text))


def _without_placeholders(text: str) -> str:
    for start, end in reversed(list(_spans(text))):
        text = f"{text[:start]} {text[end:]}"
    return text


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the placeholders are, without the number before a percent sign."""
    for start, end in find_placeholders(text):
        number = _PERCENT.match(text, start, end)
        yield number.end() if number else start, end


def _empty_line(source: str, target: str) -> int:
    """Return the number of the first line with words whose translation is empty; 0 if there is none."""
    lines = zip_longest(*(_LINE_END.split(text) for text in (source, target)), fillvalue="")
    empty = (number for number, (one, other) in enumerate(lines, start=1) if _WORD.search(one) and not other.strip())
    return next(empty, 0)


def _lost_characters(source: str, target: str) -> list[str]:
    """Return the signs and the words in another script that a translation lacks. A small model spells them wrongly."""
    if source.isascii():
        return []
    words = [word for word in symbols_of(source) if word[:1].isalpha() and word not in target]
    return [*words, *(_signs(source) - _signs(target)).elements()]


def _signs(text: str) -> Counter[str]:
    return Counter(
        sign for sign in text if sign > "\x7f" and (sign in _SIGNS or unicodedata.category(sign) in _SIGN_CATEGORIES)
    )


def _plain_ellipsis(text: str) -> str:
    return _ELLIPSIS.sub("...", text)


def _has_words(text: str, number: int) -> bool:
    return len(_WORD.findall(_without_placeholders(text))) >= number


def _spaces(text: str) -> tuple[str, str]:
    """Return the white space at the start and at the end of a text."""
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def _icu_failures(unit: TextUnit, target: str) -> Iterator[FailedCheck]:
    """Check that the translation of an ICU message has the same arguments; its branches may differ."""
    translated = TextUnit.of(target, unit.syntax)
    if translated.problem:
        yield FailedCheck("placeholders", translated.problem)
        return
    yield from _differences("placeholders", _arguments(unit), _arguments(translated))


def _arguments(unit: TextUnit) -> Counter[str]:
    arguments = unit.message.arguments if unit.message else ()
    return Counter(f"{{{one.name}, {one.kind}}}" for one in arguments)


def xml_error(fragment: str) -> str:
    """Return why a fragment is not well-formed; prefixes need no declaration. "" if it is well-formed."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<unit>{_ENTITY.sub('', fragment)}</unit>", True)
    except expat.ExpatError as error:
        return expat.ErrorString(error.code)
    return ""


_ENTITY = re.compile(r"&[A-Za-z]\w*;")  # defined elsewhere, in the file or its format
