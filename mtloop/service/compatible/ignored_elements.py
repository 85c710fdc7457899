"""Elements of a text that a client does not want translated, such as `<keep>Save as</keep>` with `ignore_tags` keep."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

BEFORE, AFTER = '<xliff:g id="ignored">', "</xliff:g>"
"""The engine copies this element with its content, and a word stands for it in what the model translates."""
_ATTRIBUTES = r"(?P<attributes>(?:\s(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+)?)"


@dataclass(frozen=True)
class HiddenElements:
    """A text in which some elements stand inside another one, which is not translated.

    >>> hidden = HiddenElements.of("Press <keep>Save as</keep> now.", element_edges(["keep"]))
    >>> hidden.text
    'Press <xliff:g id="ignored"><keep>Save as</keep></xliff:g> now.'
    >>> hidden.shown('Jetzt <xliff:g id="ignored"><keep>Save as</keep></xliff:g>')
    'Jetzt <keep>Save as</keep>'
    """

    text: str
    elements: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str, edges: re.Pattern[str] | None) -> HiddenElements:
        """Hide the elements with these opening and closing tags."""
        parts, elements, end = list[str](), list[str](), 0
        for start, stop in _elements(text, edges) if edges else ():
            elements.append(text[start:stop])
            parts += [text[end:start], BEFORE, text[start:stop], AFTER]
            end = stop
        return cls("".join([*parts, text[end:]]), tuple(elements))

    def shown(self, translation: str) -> str:
        """The translation with the elements as the client wrote them."""
        for element in self.elements:
            translation = translation.replace(f"{BEFORE}{element}{AFTER}", element, 1)
        return translation


def element_edges(names: Sequence[str], ignore_case: bool = False) -> re.Pattern[str] | None:
    """A pattern for the opening and closing tags of elements. None: there are no names."""
    if not names:
        return None
    either = "|".join(map(re.escape, names))
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    return re.compile(rf"<(?P<close>/)?(?P<name>{either}){_ATTRIBUTES}>", flags)


def _elements(text: str, edges: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where the outermost elements begin and end. One that is not closed is none."""
    name, start, depth = "", 0, 0
    for edge in edges.finditer(text):
        if edge["attributes"].endswith("/") or (depth and edge["name"] != name):
            continue
        if not edge["close"]:
            name, start = (name, start) if depth else (edge["name"], edge.start())
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, edge.end()
