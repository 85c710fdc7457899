"""ICU MessageFormat: plural, select and selectordinal arguments, whose branches are texts of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mtloop.text.protected.placeholders import find_placeholders
from mtloop.text.protected.tags import find_tags

_LOOKS_LIKE_ICU = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,")
_HEAD = re.compile(r"\{\s*([\w.-]+)\s*,\s*(plural|select|selectordinal)\s*,\s*(offset\s*:\s*\d+\s*)?")
_SELECTOR = re.compile(r"\s*(=\d+|[\w-]+)\s*\{")
_QUOTED = re.compile(r"'[{}#|](?:[^']|'')*+'?")
NUMBER, ARGUMENT, QUOTE = "{mtloop_number}", "{{mtloop_argument_{}}}", "{{mtloop_quote_{}}}"
"""Placeholders for the number sign in a plural, for arguments with branches, and for texts that stay as they are."""
_APOSTROPHES = re.compile(r"(?:\{mtloop_quote_(?P<quote>\d+)\})?(?P<run>'+)(?=(?P<next>[{}#|]|\Z)?)")
MAX_DEPTH = 30  # branches inside branches; no real message has as many


class IcuError(ValueError):
    """The text looks like an ICU message and is not one."""


@dataclass(frozen=True)
class IcuArgument:
    """An argument with branches: its name and type, the text before each branch, the branches, and the end."""

    name: str
    kind: str
    heads: tuple[str, ...]
    selectors: tuple[str, ...]
    branches: tuple[IcuMessage, ...]
    end: str

    def write(self, branches: list[str]) -> str:
        parts = (part for head, branch in zip(self.heads, branches, strict=True) for part in (head, branch))
        return "".join([*parts, self.end])


@dataclass(frozen=True)
class IcuMessage:
    """A message: its text with a placeholder for each argument that has branches, and these arguments.

    `quotes` are quoted braces and other arguments; they stay as they are.
    """

    text: str
    arguments: tuple[IcuArgument, ...] = ()
    quotes: tuple[str, ...] = ()
    doubled: bool = False
    """Whether apostrophes are written twice."""
    is_branch: bool = False

    def write(self, text: str, arguments: list[str]) -> str:
        """Return the message for a translation of its text and of its arguments."""
        text = text.replace("'", "''") if self.doubled else _APOSTROPHES.sub(self._apostrophes, text)
        for number, argument in enumerate(arguments):
            text = text.replace(ARGUMENT.format(number), argument)
        for number, quote in enumerate(self.quotes):
            text = text.replace(QUOTE.format(number), quote)
        return text.replace(NUMBER, "#")

    def _apostrophes(self, found: re.Match[str]) -> str:
        """Write apostrophes twice where one would start a quotation or go on with one: before and after braces."""
        run, following = found["run"], found["next"]
        after_quote = found["quote"] is not None and self.quotes[int(found["quote"])].startswith("'")
        before_brace = bool(following) or (following is not None and self.is_branch)
        return found[0] + (run if after_quote or before_brace or len(run) > 1 else "")


def parse_icu(text: str, *, xml: bool = False) -> IcuMessage | None:
    """Parse a message; None if it has no argument with branches. Raise IcuError if it does not parse.

    What stands in a tag, such as the `equiv-text` of an <x> in XLIFF, is no argument; the tag stands for words.

    >>> message = parse_icu("{n, plural, one {# file} other {# files}} left")
    >>> message.text, [branch.text for branch in message.arguments[0].branches]
    ('{mtloop_argument_0} left', ['{mtloop_number} file', '{mtloop_number} files'])
    """
    if not _LOOKS_LIKE_ICU.search(text):
        return None
    tags = {one.start: one.end for one in find_tags(text, xml=xml) if _LOOKS_LIKE_ICU.search(text, one.start, one.end)}
    if tags and not _LOOKS_LIKE_ICU.search(_without(text, tags)):
        return None
    message, end = _message(text, 0, tags, depth=0, plural=False)
    if end < len(text):
        raise IcuError(f"a closing brace too many at character {end + 1}")
    return message


def _without(text: str, spans: Mapping[int, int]) -> str:
    for start, end in spans.items():
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _message(text: str, position: int, tags: Mapping[int, int], *, depth: int, plural: bool) -> tuple[IcuMessage, int]:
    """Parse a message up to its end, or up to the closing brace of its branch. `tags`: the ends of tags that stay."""
    if depth > MAX_DEPTH:
        raise IcuError(f"more than {MAX_DEPTH} branches inside one another")
    out, arguments, quotes, doubled = list[str](), list[IcuArgument](), list[str](), False
    while position < len(text) and text[position] != "}":
        if text.startswith("''", position):
            out.append("'")
            position, doubled = position + 2, True
        elif position in tags:
            out.append(QUOTE.format(len(quotes)))
            quotes.append(text[position : tags[position]])
            position = tags[position]
        elif quoted := _QUOTED.match(text, position):
            out.append(QUOTE.format(len(quotes)))
            quotes.append(quoted[0])
            position = quoted.end()
        elif head := _HEAD.match(text, position):
            argument, position = _argument(text, head, tags, depth)
            out.append(ARGUMENT.format(len(arguments)))
            arguments.append(argument)
        elif text[position] == "{":
            end = _simple_argument_end(text, position)
            out.append(_protected(text[position:end], quotes))
            position = end
        else:
            out.append(NUMBER if plural and text[position] == "#" else text[position])
            position += 1
    if depth and position == len(text):
        raise IcuError("a closing brace is missing")
    return IcuMessage("".join(out), tuple(arguments), tuple(quotes), doubled, depth > 0), position


def _argument(text: str, head: re.Match[str], tags: Mapping[int, int], depth: int) -> tuple[IcuArgument, int]:
    heads, selectors, branches, start, position = list[str](), list[str](), list[IcuMessage](), head.start(), head.end()
    while selector := _SELECTOR.match(text, position):
        branch, end = _message(text, selector.end(), tags, depth=depth + 1, plural=head[2] != "select")
        heads.append(text[start : selector.end()])
        selectors.append(selector[1])
        branches.append(branch)
        start, position = end, end + 1
    closing = re.compile(r"\s*\}").match(text, position)
    if closing is None:
        raise IcuError(f"argument {head[1]!r} does not end with a brace")
    if "other" not in selectors:
        raise IcuError(f"argument {head[1]!r} has no branch 'other'")
    rest = text[start : closing.end()]
    return IcuArgument(head[1], head[2], tuple(heads), tuple(selectors), tuple(branches), rest), closing.end()


def _protected(argument: str, quotes: list[str]) -> str:
    """Return a simple argument, or a placeholder for it if nothing else would protect it."""
    if next(find_placeholders(argument), None) == (0, len(argument)):
        return argument
    quotes.append(argument)
    return QUOTE.format(len(quotes) - 1)


def _simple_argument_end(text: str, position: int) -> int:
    """Return the end of a simple argument; its braces balance."""
    depth = 0
    for index in range(position, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    raise IcuError(f"the brace at character {position + 1} is not closed")
