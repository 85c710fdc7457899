"""Find placeholders and other word-like texts that are never translated: formats, variables, addresses, paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_EXTENSIONS = (  # of files that texts name; none of them is a word after a full stop
    "7z avi bak bat bmp bz2 cfg conf cpp css csv dat deb dll dmg doc docx dtd epub exe gif gz htm html ico ini ipynb "
    "iso jar java jpeg jpg js json jsx log md mkv mo mov mp3 mp4 msi odp ods odt otf pdf php png po pot ppt pptx "
    "properties ps1 py pyc rar rpm rst rtf sh sql sqlite svg tar tbx tgz tif tiff tmp tmx toml ts tsv tsx ttf txt wav "
    "webm webp whl woff xlf xliff xls xlsx xml xsd xsl xz yaml yml zip"
)
_CLIENTS = r"\[X\d+X\]|@@PH\d+@@"  # [X7X], @@PH7@@: Weblate puts them in place of what must stay
_STYLE = r"\x1b\[[0-9:;?]*[ -/]*[@-~]"  # ESC[1m, by which a terminal writes in bold
_CONTROL = rf"{_STYLE}|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
_NAME = r"[^\s\x00-\x1f<>\"|?*:\\`“”„«»]"  # of a folder of Windows; a word after a space begins with a capital letter
_FOLDER = rf"{_NAME}++(?: (?:and(?= )|[A-Z0-9(&]{_NAME}*+))*+\\"
_WINDOWS = rf"(?:{_FOLDER})*+(?:\*[\w.*]*+|{_NAME}*+)"
_QUOTED_PATH = r"(?<=[\"'`“„»])[A-Za-z]:\\[^\s<>\"'`|?*:“”„«»](?:[^\r\n\t\x00-\x1f<>\"'`|?:“”„«»]*\w)?(?=[\"'`”“«])"
_PATTERNS = (
    r"(?P<url>\b(?:https?|ftps?|sftp|ssh|git|file|irc|ldap)://[^\s\x00-\x1f\x7f<>\"'`{}|\\^]+"
    r"|\bmailto:[^\s\x00-\x1f\x7f<>\"']+|\bwww\.[\w-]+\.[^\s\x00-\x1f\x7f<>\"']+)",
    _CONTROL,
    r"(?<![\w.+&-])[\w.+&-]+@[\w-]+(?:\.[\w-]+)+",  # e-mail address
    r"\{\{\s*[^\s{}][^{}]*?\}\}",  # {{ name }}
    r"\{%[^{}%]*%\}",  # {% tag %}
    r"[$#%@]\{[^\s{}]+\}",  # ${name}, #{name}, %{name}
    r"\{\s*[\w.]+\s*,\s*(?:number|date|time|spellout|ordinal|duration)\s*(?:,[^{}]*)?\}",  # {size, number, integer}
    r"\{[A-Za-z_]?[\w.\[\]-]*(?:![rsa])?(?::[^{}\s]*)?\}",  # {}, {0}, {name!r:>10}
    _CLIENTS,
    r"``[^`\r\n]+``",  # ``code``, as Sphinx writes it
    # --option, --jobs=2; the name of a value in capital letters, as in --color[=WHEN], is a word
    r"(?<![\w/-])--(?:\[no-\])?[A-Za-z](?:\w|-(?![A-ZÄÖÜ][a-zäöü]))*+(?:\[?=(?=[A-Z]{2}|[A-Z]\b)|\[=[\w.-]+\]|=[^\s<>\"'`“”„»«,;()\[\]{}%$]*)?",
    r"(?<![^\s(\[\"'`“„»«‚‘|,=])-[A-Za-z](?!\w|-(?![A-ZÄÖÜ][a-zäöü])|['’]\w)",  # -x, also in German -x-Option
    rf"%[A-Z_][A-Z0-9_]+(?:\([A-Z0-9]+\))?%(?:\\{_WINDOWS})?",  # %APPDATA%, %TEMP%\*.*
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
    _QUOTED_PATH,  # "C:\my folder"
    rf"\b[A-Za-z]:\\{_WINDOWS}",  # C:\folder, C:\Program Files\folder
    rf"\bHK(?:EY_[A-Z_]+|LM|CU|CR)\\{_WINDOWS}",  # HKEY_LOCAL_MACHINE\Software
    rf"(?<!\w)\\\\[\w.$-]+\\(?=[^\s<>\"|?*]){_WINDOWS}",  # \\server\share
)
_PLACEHOLDER = re.compile("|".join(_PATTERNS))
_CONTROLS = re.compile(_CONTROL)
_STYLE_END = re.compile(r"\x1b\[[0;]*m")
_BLOCK = re.compile(r"\{%[-+]?\s*(?P<end>end)?(?P<name>\w*)[^{}%]*%\}")
_BLOCK_RUN = re.compile(r"(?:\{%[^{}%]*%\})+")
_CLIENT = re.compile(_CLIENTS)
_CLIENT_RUN = re.compile(f"(?:{_CLIENTS})+")
_WORD_BEFORE, _WORD_AFTER = re.compile(r"[^\W\d_]*\Z"), re.compile(r"[^\W\d_]*")
_ENDINGS = ".,;:!?…)]'\"”’»"  # what may stand between the last word of a pair of tags and its end
MAX_OPEN = 100  # tags of a template inside one another
MIN_WORD = 3  # letters; what is shorter may be a suffix or a unit: [X0X]s, [X0X]px
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
    text = found[0]
    if (client := _CLIENT.search(text)) and not found["url"]:  # itself, or a path that touches one
        text = text[: client.start() or None]
    elif not found["url"] and not text.startswith("--") and not any(sign in text for sign in "/@\\"):
        return found.end()
    length, surplus = len(text.rstrip(_TRAILING)), text.count(")") - text.count("(")
    while surplus > 0 and text[length - 1] in _TRAILING + ")":
        surplus -= text[length - 1] == ")"
        length -= 1
    return found.start() + len(text[:length].rstrip(_TRAILING))


@dataclass(frozen=True)
class ClientMarkup:
    """A placeholder that stands for markup. `pair` is the same number for its opening and closing one."""

    pair: int = -1
    divides: bool = False
    """Whether it stands between two words, as a line break does."""


def client_markup(text: str) -> dict[int, ClientMarkup]:
    """Find placeholders that stand for tags and other markup, by where they start.

    These are control characters, and a client's own placeholders that touch words. So are the tags of a template, such
    as `{% if x %}`, that touch words or have an end.

    Weblate sends `<b>Open</b> it` as `[X0X]Open[X7X] it`: the word must be seen as a word. A placeholder between spaces
    or next to punctuation stands for a word of the sentence, and is not returned.

    >>> client_markup("[X0X]Open[X7X] the [X12X] now.")
    {0: ClientMarkup(pair=0, divides=False), 9: ClientMarkup(pair=0, divides=False)}
    """
    found = _control_markup(text)
    _add_blocks(text, found)
    opened, pairs = list[int](), _next_pair(found)
    for run in _CLIENT_RUN.finditer(text):
        before, after = _letters_around(text, *run.span())
        last, next_one = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
        starts = [one.start() for one in _CLIENT.finditer(run[0])]
        starts = [run.start() + start for start in starts]
        touches = max(before, after) >= MIN_WORD
        if after and not last.isalnum():
            opened += starts
            touches = after >= MIN_WORD
        elif opened and not next_one.isalnum() and (last.isalnum() or (last and last in _ENDINGS)):
            while opened and starts:
                found[opened.pop()] = found[starts.pop(0)] = ClientMarkup(pairs)
                pairs += 1
        if touches:
            divides = last.isalnum() and after > 0 and (not before or min(before, after) >= MIN_WORD)
            found.update(dict.fromkeys(starts, ClientMarkup(divides=divides)))
    return dict(sorted(found.items()))


def _control_markup(text: str) -> dict[int, ClientMarkup]:
    """Find control characters. ESC[0m ends the last style of a terminal that began before it."""
    found, opened, pairs = dict[int, ClientMarkup](), list[int](), 0
    for control in _CONTROLS.finditer(text):
        start, end = control.span()
        if not control[0].endswith("m"):
            divides = control[0].isspace() and text[max(0, start - 1) : start].isalnum()
            found[start] = ClientMarkup(divides=divides and text[end : end + 1].isalnum())
        elif not _STYLE_END.fullmatch(control[0]):
            opened.append(start)
            found[start] = ClientMarkup()
        else:
            found[start] = ClientMarkup(pairs if opened else -1)
            if opened:
                found[opened.pop()] = ClientMarkup(pairs)
                pairs += 1
    return found


def _add_blocks(text: str, found: dict[int, ClientMarkup]) -> None:
    """Add the tags of a template that touch words, and those with an end."""
    opened, pair = list[tuple[str, int]](), _next_pair(found)
    for run in _BLOCK_RUN.finditer(text):
        if max(_letters_around(text, *run.span())) >= MIN_WORD:
            found |= {block.start(): ClientMarkup() for block in _BLOCK.finditer(text, *run.span())}
    for block in _BLOCK.finditer(text):
        if not block["end"]:
            opened.append((block["name"], block.start()))
        elif (place := _last(opened, block["name"])) >= 0:
            found[opened[place][1]] = found[block.start()] = ClientMarkup(pair)
            del opened[place:]
            pair += 1


def _last(opened: Sequence[tuple[str, int]], name: str) -> int:
    """Return the place of the last tag of this name among the last ones that are open, -1 if there is none."""
    first = max(0, len(opened) - MAX_OPEN)
    return next((place for place in range(len(opened) - 1, first - 1, -1) if opened[place][0] == name), -1)


def _next_pair(found: Mapping[int, ClientMarkup]) -> int:
    return 1 + max((markup.pair for markup in found.values()), default=-1)


def _letters_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the number of letters right before and right after a part of a text."""
    before = _WORD_BEFORE.search(text, max(0, start - MIN_WORD), start)
    after = _WORD_AFTER.match(text, end, end + MIN_WORD)
    return len(before[0]) if before else 0, len(after[0]) if after else 0
