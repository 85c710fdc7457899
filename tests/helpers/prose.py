"""The paragraphs of a Markdown page, and the number of sentences in a paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1 *$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
NO_PROSE = re.compile(r"#|:::|options:|\|?[ :|-]+\|?$")  # headings, generated parts, lines of tables and rules
ITEM = re.compile(r"^(?:[-*+]|\d{1,2}[.)]) +")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|cf|vs|al|approx|No|Fig|Dr|Mr|Mrs|[A-Z])\.(?!\s*$)")
LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)")
SENTENCE_END = re.compile(r"(?<![.…])[.!?][)\"'”’*_]*(?=\s|$)")


def paragraphs(page: str) -> Iterator[str]:
    """Yield paragraphs without code blocks. A list item and a cell of a table are paragraphs of their own."""
    lines: list[str] = []
    for line in [*COMMENT.sub("", FENCE.sub("", page)).splitlines(), ""]:
        text = line.strip().lstrip("> ")
        if not text or NO_PROSE.match(text) or ITEM.match(text) or text.startswith(("|", "!!!", "???")):
            yield from filter(None, [" ".join(lines)])
            lines = []
        if text.startswith("|"):
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", text) if cell.strip(" :-"))
        elif text and not NO_PROSE.match(text) and not text.startswith(("!!!", "???")):
            lines.append(ITEM.sub("", text))


def sentences(paragraph: str) -> int:
    """Return the number of sentences; text after the last full stop counts as one."""
    plain = ABBREVIATION.sub("abbreviation", LINK.sub(r"\1", re.sub(r"`+[^`]*`+", "code", paragraph)))
    return sum(re.search(r"\w", part) is not None for part in SENTENCE_END.split(plain))
