"""Find placeholders and other word-like texts that are never translated: formats, variables, addresses, paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

_EXTENSIONS = (  # of files that texts name; none of them is a word after a full stop
    "7z avi bak bat bmp bz2 cfg conf cpp css csv dat deb dll dmg doc docx dtd epub exe gif gz htm html ico ini ipynb "
    "iso jar java jpeg jpg js json jsx log md mkv mo mov mp3 mp4 msi odp ods odt otf pdf php png po pot ppt pptx "
    "properties ps1 py pyc rar rpm rst rtf sh sql sqlite svg tar tbx tgz tif tiff tmp tmx toml ts tsv tsx ttf txt wav "
    "webm webp whl woff xlf xliff xls xlsx xml xsd xsl xz yaml yml zip"
)
_PATTERNS = (
    r"(?P<url>\b(?:https?|ftps?|sftp|ssh|git|file|irc|ldap)://[^\s<>\"'`{}|\\^]+|\bmailto:[^\s<>\"']+|\bwww\.[\w-]+\.[^\s<>\"']+)",
    r"(?<![\w.+&-])[\w.+&-]+@[\w-]+(?:\.[\w-]+)+",  # e-mail address
    r"\{\{\s*[^\s{}][^{}]*?\}\}",  # {{ name }}
    r"\{%-?\s[^{}%]*%\}",  # {% tag %}
    r"[$#%@]\{[^\s{}]+\}",  # ${name}, #{name}, %{name}
    r"\{\s*[\w.]+\s*,\s*(?:number|date|time|spellout|ordinal|duration)\s*(?:,[^{}]*)?\}",  # {size, number, integer}
    r"\{[A-Za-z_]?[\w.\[\]-]*(?:![rsa])?(?::[^{}\s]*)?\}",  # {}, {0}, {name!r:>10}
    r"\[X\d+X\]|@@PH\d+@@",  # [X7X], @@PH7@@: Weblate puts them in place of what must stay
    r"%[A-Z_][A-Z0-9_]+(?:\([A-Z0-9]+\))?%",  # %APPDATA%
    r"%\([^()\s]+\)[-#0+]*+(?:\*|\d*+)(?:\.\d+)?[hlL]?[diouxXeEfFgGcrsa]",  # %(name)s
    r"%\d+\$[-#0+' ]*+\d*+(?:\.\d+)?(?:hh|h|ll|l|q|j|z|t|L)?[diouxXeEfFgGaAcsCSp@]",  # %1$s
    r"(?<!\d)\d*+%%|%%",
    r"(?<!\d(?=%[a-z]{2}))%[-#0+']*+(?:\*|\d*+)(?:\.(?:\*|\d+))?(?:hh|h|ll|l|q|j|z|t|L|I64)?[diouxXeEfFgGaAcsCSp@]",
    r"%\d{1,2}%(?![\w({])|%L?\d++",  # %1%, %1
    r"(?<!\w)%n\b",  # Qt's number
    r"\$(?:\d{1,2}|[A-Za-z_]\w*)\b",  # $1, $HOME
    r"&(?:#\d+|#x[0-9A-Fa-f]+|[A-Za-z]\w*);",  # an entity
    r"(?<![\w/.~:])(?:~|\.{1,2})?(?:/[\w.+@-]+){2,}/?",  # /usr/share, ./a/b
    r"(?<![\w/.])(?:~|\.{1,2})/[\w.+@-]+(?:/[\w.+@-]+)*/?",  # ~/file, ../file
    r"(?<![\w.+@/\\:-])(?:[\w+-][\w.+-]*+/)*+[\w+-]++(?:\.[\w+-]++)*"
    rf"\.(?i:{_EXTENSIONS.replace(' ', '|')})(?![\w-])(?!\.\w)",  # file.txt, docs/data.csv
    r"\b[A-Za-z]:\\[^\s<>\"|?*]*",  # C:\folder
    r"(?<!\w)\\\\[\w.$-]+\\[^\s<>\"|?*]+",  # \\server\share
)
_PLACEHOLDER = re.compile("|".join(_PATTERNS))
_TRAILING = ".,;:!?…'\"”“’‘»«"
STAND_IN = re.compile(r"%(\d{1,9})(?!\d)")
"""What the model sees in place of a placeholder: %1, %2, ... It knows them from the messages it was trained on.

A text that looks like one is a placeholder itself, so a sentence has no others."""


def stand_in(number: int) -> str:
    """Return the text that the model sees in place of the placeholder with this number, counted from 1."""
    return f"%{number}"


def find_placeholders(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each placeholder, from left to right.

    >>> text = "Send %(count)d files to {name} <see https://example.org/a>."
    >>> [text[start:end] for start, end in find_placeholders(text)]
    ['%(count)d', '{name}', 'https://example.org/a']
    """
    position = 0
    while found := _PLACEHOLDER.search(text, position):
        start, end = found.start(), _end(found)
        yield start, end
        position = max(end, start + 1)


def _end(found: re.Match[str]) -> int:
    """Return the end of a match. Punctuation after an address or a path belongs to the sentence."""
    text, end = found[0], found.end()
    if found["url"] or "/" in text or "@" in text:
        length, surplus = len(text.rstrip(_TRAILING)), text.count(")") - text.count("(")
        while surplus > 0 and text[length - 1] in _TRAILING + ")":
            surplus -= text[length - 1] == ")"
            length -= 1
        end = found.start() + len(text[:length].rstrip(_TRAILING))
    return end
