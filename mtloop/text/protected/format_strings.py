"""Format strings, such as printf's: their conversions, and percent signs and braces that stand for themselves.

A program that formats a translation reads it by the rules of its language. There `50 % of %s` is not a text with a
percent sign and a conversion, but an error, or a conversion `% o`. gettext's flags say which rules apply: `c-format`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from string import Formatter
from typing import Protocol, TypeAlias

Conversion: TypeAlias = tuple[str, str]
"""The argument, by its name or number, and what it is converted to."""

_NUMBER, _WIDTH = r"(?:(?P<number>\d+)\$)?", r"(?:\*(?:\d+\$)?|\d+)?(?:\.(?:\*(?:\d+\$)?|\d*))?"
_PLAIN_WIDTH = r"\d*(?:\.\d+)?"
_C = rf"%{_NUMBER}[-+ #0'I]*{_WIDTH}(?P<size>hh|h|ll|l|L|q|j|z|t|Z|I64|I32)?"
_PERCENT_FORMATS = {
    "c": rf"{_C}(?P<type>[diouxXeEfFgGaAcsCSpnm%]|<PRI\w+>)",
    "objc": rf"{_C}(?P<type>[diouxXeEfFgGaAcsCSpnm%@]|<PRI\w+>)",
    "python": rf"%(?:\((?P<name>[^()]*)\))?[-+ #0]*{_WIDTH}[hlL]?(?P<type>[diouxXeEfFgGcrsa%])",
    "php": rf"%{_NUMBER}(?:[-+ 0]|'.)*{_PLAIN_WIDTH}(?P<type>[bcdeufFosxXeEgG%])",
    "perl": rf"%{_NUMBER}[-+ #0]*{_WIDTH}(?P<size>hh|h|ll|l|q|L|V)?(?P<type>[csduoxefgXEGbpnDUO%i])",
    "awk": rf"%{_NUMBER}[-+ #0]*{_WIDTH}(?P<type>[cdiouxXeEfFgGs%])",
    "lua": rf"%[-+ #0]*{_PLAIN_WIDTH}(?P<type>[cdiouxXeEfgGaAqs%])",
    "javascript": rf"%{_NUMBER}[-+ #0]*{_PLAIN_WIDTH}(?P<type>[bcdefosxXj%])",
}
_SAME_TYPES = {one: names[0] for names in ("di", "ouxX", "eEfFgGaA") for one in names}
_STARS = re.compile(r"\*(?!\d)")
_BRACES = re.compile(r"\{\{|\}\}|[{}]")


class FormatString(Protocol):
    """The rules of a kind of format strings."""

    def conversions(self, text: str) -> list[Conversion] | None:
        """Return the conversions of a text, sorted; None if it is not a valid format string."""
        ...

    def fitted(self, source: str, translation: str) -> str:
        """Return a translation in which only the conversions of the source are conversions."""
        ...


@dataclass(frozen=True)
class PercentFormat:
    """Conversions with a percent sign, as in C. `%%` is a percent sign.

    >>> PercentFormat(re.compile(_PERCENT_FORMATS["python"])).fitted("%(n)d percent (%%)", "%(n)d % (%%)")
    '%(n)d %% (%%)'
    """

    pattern: re.Pattern[str]

    def conversions(self, text: str) -> list[Conversion] | None:
        found, position, count = list[Conversion](), 0, 0
        while (start := text.find("%", position)) >= 0:
            match = self.pattern.match(text, start)
            if match is None:
                return None
            position = match.end()
            if match["type"] == "%":
                continue
            fields = match.groupdict()
            count += len(_STARS.findall(match[0])) + 1
            argument = fields.get("name") or fields.get("number") or str(count)
            kind = _SAME_TYPES.get(match["type"], match["type"])
            found.append((argument, f"{fields.get('size') or ''}{kind}"))
        return sorted(found)

    def fitted(self, source: str, translation: str) -> str:
        wanted, parts, position = list(self._written(source)), list[str](), 0
        while (start := translation.find("%", position)) >= 0:
            token = next((one for one in ("%%", *wanted) if translation.startswith(one, start)), "%")
            if token in wanted:
                wanted.remove(token)
            parts += [translation[position:start], "%%" if token == "%" else token]
            position = start + len(token)
        return "".join([*parts, translation[position:]])

    def _written(self, text: str) -> Iterator[str]:
        """Yield the conversions of a text as they are written, without percent signs."""
        return (match[0] for match in self.pattern.finditer(text) if match["type"] != "%")


@dataclass(frozen=True)
class BraceFormat:
    """Fields in braces, as Python's str.format has them. `{{` is a brace.

    >>> BraceFormat().fitted("Use {name}", "{name} nutzen }")
    '{name} nutzen }}'
    """

    def conversions(self, text: str) -> list[Conversion] | None:
        try:
            names = [name for _, name, _, _ in Formatter().parse(text) if name is not None]
        except ValueError:
            return None
        return sorted((name or f"{number}", "") for number, name in enumerate(names))

    def fitted(self, source: str, translation: str) -> str:
        if self.conversions(translation) is not None:
            return translation
        wanted = set(re.findall(r"(?<!\{)\{[^{}]*\}", source))
        fields = re.compile("|".join([*map(re.escape, sorted(wanted)), _BRACES.pattern]))
        return fields.sub(lambda found: found[0] * 2 if found[0] in ("{", "}") else found[0], translation)


FORMATS: dict[str, FormatString] = {
    name: PercentFormat(re.compile(pattern)) for name, pattern in _PERCENT_FORMATS.items()
}
FORMATS["python-brace"] = BraceFormat()
_FLAG = "-format"


def formats_of(flags: object, source: str) -> list[FormatString]:
    """Return the rules for a message with gettext's flags. Without rules for its source, it has none.

    >>> len(formats_of(["c-format"], "100% of %s")), len(formats_of(["c-format"], "5% (%s)")), len(formats_of([], "%s"))
    (1, 0, 0)
    """
    if not isinstance(flags, list | tuple):
        return []
    names = (str(flag).removesuffix(_FLAG) for flag in flags if str(flag).endswith(_FLAG))
    found = (FORMATS[name] for name in names if name in FORMATS)
    return [one for one in found if one.conversions(source) is not None]


def fit_formats(source: str, translation: str, flags: object) -> str:
    """Return a translation with percent signs and braces as its program needs them."""
    for one in formats_of(flags, source):
        translation = one.fitted(source, translation)
    return translation


def format_failure(source: str, translation: str, flags: object) -> str:
    """Return what is wrong with a translation that a program formats; "" if it has the conversions of the source."""
    for one in formats_of(flags, source):
        conversions = one.conversions(translation)
        if conversions is None:
            return "a percent sign or a brace is not what the program can read"
        if set(conversions) != set(one.conversions(source) or ()):
            return "the program reads other conversions in it than in the source"
    return ""
