"""A small valid file in every format, all with the same three pairs, and functions to build such files."""

from __future__ import annotations

import gzip
import lzma
import struct
from collections.abc import Callable, Sequence
from html import escape

import zstandard

PAIRS = [
    ("Open the file menu.", "Öffnen Sie das Menü „Datei“."),
    ('Say "yes" & save.', "Sagen Sie „ja“ & speichern Sie."),
    ("The cafe\u0301 <Mocha> is closed.", "Das Cafe\u0301 <Mokka> ist geschlossen."),
]

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": lambda content: content,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: zstandard.ZstdCompressor().compress(content),
}


def tsv(pairs: Sequence[tuple[str, str]] = PAIRS) -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in [("source", "target"), *pairs]).encode()


def csv(pairs: Sequence[tuple[str, str]] = PAIRS) -> bytes:
    cells = [[text.replace('"', '""') for text in row] for row in [("source", "target"), *pairs]]
    return "".join(f'"{source}","{target}"\r\n' for source, target in cells).encode()


def tmx(body: str | None = None, header: str = 'srclang="en"', doctype: str = "") -> bytes:
    units = "".join(tu(en=source, de=target) for source, target in PAIRS) if body is None else body
    return f'<?xml version="1.0"?>{doctype}<tmx version="1.4"><header {header}/><body>{units}</body></tmx>'.encode()


def tu(prop: str = "", **variants: str) -> str:
    """Return a translation unit with one text per language; "_" in a language code becomes "-"."""
    segments = (
        f'<tuv xml:lang="{language.replace("_", "-")}"><seg>{escape(text)}</seg></tuv>'
        for language, text in variants.items()
    )
    return f"<tu>{prop}{''.join(segments)}</tu>"


def xliff1(body: str | None = None, attributes: str = 'original="menu.html"', doctype: str = "") -> bytes:
    units = "".join(unit1(source, target) for source, target in PAIRS) if body is None else body
    file = f'<file {attributes} source-language="en" target-language="de" datatype="html"><body>{units}</body></file>'
    return f'{doctype}<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">{file}</xliff>'.encode()


def unit1(source: str, target: str) -> str:
    return f'<trans-unit id="1"><source>{escape(source)}</source><target>{escape(target)}</target></trans-unit>'


def xliff2(body: str | None = None) -> bytes:
    segments = "".join(segment2(source, target) for source, target in PAIRS)
    units = f'<unit id="u1">{segments}</unit>' if body is None else body
    root = '<xliff version="2.0" srcLang="en" trgLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0">'
    return f'{root}<file id="menu">{units}</file></xliff>'.encode()


def segment2(source: str, target: str) -> str:
    return f"<segment><source>{escape(source)}</source><target>{escape(target)}</target></segment>"


def sdlxliff() -> bytes:
    """Return a file as Trados writes it: a unit whose segments are the pairs."""
    sides = [
        " ".join(f'<mrk mtype="seg" mid="{number}">{escape(pair[side])}</mrk>' for number, pair in enumerate(PAIRS))
        for side in (0, 1)
    ]
    states = "".join(f'<sdl:seg id="{number}" conf="Translated"/>' for number in range(len(PAIRS)))
    whole = f"<source>all</source><seg-source>{sides[0]}</seg-source><target>{sides[1]}</target>"
    unit = f'<trans-unit id="a">{whole}<sdl:seg-defs>{states}</sdl:seg-defs></trans-unit>'
    namespace = 'xmlns:sdl="http://sdl.com/FileTypes/SdlXliff/1.0" '
    return xliff1(unit).replace(b"<xliff ", b"<xliff " + namespace.encode())


def mqxliff() -> bytes:
    """Return a file as memoQ writes it: confirmed units."""
    units = (
        f'<trans-unit id="{number}" mq:status="ManuallyConfirmed"><source xml:space="preserve">{escape(source)}'
        f'</source><target xml:space="preserve">{escape(target)}</target></trans-unit>'
        for number, (source, target) in enumerate(PAIRS)
    )
    return xliff1("".join(units)).replace(b"<xliff ", b'<xliff xmlns:mq="MQXliff" ')


def ts() -> bytes:
    messages = "".join(
        f"<message><source>{escape(source)}</source><translation>{escape(target)}</translation></message>"
        for source, target in PAIRS
    )
    context = f"<context><name>Menu</name>{messages}</context>"
    return f'<TS version="2.1" language="de" sourcelanguage="en">{context}</TS>'.encode()


def po(entries: str | None = None, charset: str = "UTF-8", header: str = "") -> bytes:
    if entries is None:
        entries = "".join(f"msgid {quoted(source)}\nmsgstr {quoted(target)}\n\n" for source, target in PAIRS)
    head = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={charset}\\n"\n{header}\n'
    return (head + entries).encode("utf-8" if charset == "CHARSET" else charset)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def mo(messages: Sequence[tuple[str, str]] = PAIRS, order: str = "<", header: str = "") -> bytes:
    head = ("", f"Content-Type: text/plain; charset=UTF-8\n{header}")
    columns = [[text.encode() for text in column] for column in zip(head, *sorted(messages), strict=True)]
    count = len(columns[0])
    begin = 28 + 16 * count
    tables, texts = b"", b""
    for column in columns:
        for text in column:
            tables += struct.pack(f"{order}ii", len(text), begin + len(texts))
            texts += text + b"\0"
    return struct.pack(f"{order}Iiiiiii", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, 0) + tables + texts


SAMPLES: dict[str, bytes] = {
    ".tsv": tsv(),
    ".csv": csv(),
    ".tmx": tmx(),
    ".xlf": xliff1(),
    ".xliff": xliff2(),
    ".sdlxliff": sdlxliff(),
    ".mqxliff": mqxliff(),
    ".ts": ts(),
    ".po": po(),
    ".mo": mo(),
}


def bomb(levels: int = 12) -> str:
    """Return the "billion laughs" DOCTYPE: every entity contains the previous one ten times."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, levels))
    return f'<!DOCTYPE tmx [<!ENTITY e0 "ha">{entities}]>'
