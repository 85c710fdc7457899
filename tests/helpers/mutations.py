"""Small valid files in every format, and mutations of them: bytes that are flipped, cut, doubled or mixed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from helpers.file_samples import SAMPLES, xliff1, xliff2

ANDROID = (
    b'<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2"><string name="a">Save <b>now</b> \\u0041 "x"'
    b"</string>"
    b'<plurals name="p"><item quantity="one">One</item><item quantity="other">%d</item></plurals>'
    b'<string-array name="l"><item>@string/a</item><item><![CDATA[<i>x</i>]]></item></string-array></resources>'
)
QT = (
    b'<!DOCTYPE TS><TS version="2.1" language="de" sourcelanguage="en"><context><name>M</name><message numerus="yes">'
    b"<source>%n file(s)</source><translation><numerusform>a</numerusform><numerusform/></translation></message>"
    b'<message><source>Save</source><translation type="unfinished"></translation></message></context></TS>'
)
TBX = (
    b'<tbx type="TBX-Basic" style="dca"><text><body><conceptEntry id="c1"><langSec xml:lang="en"><termSec>'
    b"<term>valve</term><termNote type='administrativeStatus'>preferredTerm-admn-sts</termNote></termSec></langSec>"
    b'<langSec xml:lang="de"><termSec><term>Ventil</term></termSec></langSec></conceptEntry></body></text></tbx>'
)
JSON = (
    b'{"title": "Save \\u00e4", "menu": {"item_one": "{{count}} x", "item_other": "{{count}} y", "list": ["a", 1]}}\n'
)
ARB = b'{"@@locale": "en", "hello": "Hi {name}", "@hello": {"description": "greeting", "placeholders": {"name": {}}}}'
PROPERTIES = b"# greeting\nhello = Hi \\u00e4 \\\n  there\nempty=\n! note\nkey\\ a: {0} it''s\n"
TEXT = "Save the file.\nÖffnen.\n\n".encode()

TO_FILL: dict[str, bytes] = {name: content for name, content in SAMPLES.items() if name != ".mo"} | {
    ".pot": SAMPLES[".po"],
    ".sdlxliff": xliff1(),
    ".mqxliff": xliff1(),
    ".ts": QT,
    ".txt": TEXT,
    ".json": JSON,
    ".arb": ARB,
    ".xml": ANDROID,
    ".properties": PROPERTIES,
    ".xliff": xliff2(),
}
GLOSSARIES: dict[str, bytes] = {
    ".tsv": b"source\ttarget\nvalve\tVentil\n",
    ".csv": b"en;de\nvalve;Ventil\n",
    ".tbx": TBX,
}
RATINGS = {
    "direct.txt": b"SYS SID RAW.SCR Z.SCR N\na 1 70.5 0.1 1\nb 1 60 -0.1 1\na doc_2 50 0.0 2\n",
    "mqm.txt": b"system\tmqm_avg_score\tseg_id\na\t-1.5\t1\nb\tNone\t1\n",
    "long.tsv": b"system\tsegment\tscore\tsource\tbleu\na\t1\t0.5\tSave\t30\nb\t1\t0.7\tSave\t31\n",
    "long.csv": b'system,segment,score,lp\na,1,0.5,en-de\n"b",1,0.7,en-de\n',
    "metric.txt": b"bleu\ten-de\tnews\tnews\ta\tdoc\t1\t0.5\nbleu\ten-de\tnews\tnews\tb\tdoc\t1\t0.6\n",
}
TINY = (
    b"",
    b"\n",
    b"\r\n",
    b"\t\n",
    b"\n\n\n",
    b"\xef\xbb\xbf",
    b"\xef\xbb\xbf\n",
    b" ",
    b"\0",
    b'"',
    b"<",
    b"{",
    b"#",
    b"\\",
)
INSERTED = (
    *(b"\0", b"\xff", b"\n", b"\t", b'"', b"'", b"<", b">", b"&#0;", b"&x;", b"]]>", b"\\u", b"\\", b"{", b"[", b","),
    *(b"-1", b"9" * 30, b"\xed\xa0\x80", b"\xe2\x80\xae"),
)


def mutations(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield files that are nearly valid. The same seed gives the same files."""
    random = Random(seed)
    for _ in range(count):
        changed = bytearray(content)
        for _ in range(random.randint(1, 4)):
            _mutate(changed, random)
        yield bytes(changed)


def _mutate(content: bytearray, random: Random) -> None:
    place, length = random.randrange(len(content) + 1), random.randint(1, 12)
    kind = random.randrange(6)
    if kind == 0 and content:
        content[place % len(content)] ^= 1 << random.randrange(8)
    elif kind == 1:
        del content[place : place + length]
    elif kind == 2:
        content[place:place] = random.choice(INSERTED) * random.choice((1, 1, 3))
    elif kind == 3:
        content[place:place] = content[place : place + 4 * length]
    elif kind == 4 and random.random() < 0.2:
        del content[place:]
    else:
        other = random.randrange(len(content) + 1)
        content[place : place + length] = content[other : other + length]
