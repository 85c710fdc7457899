"""Count placeholders and tags that a translation loses, doubles or breaks.

    python benchmarks/protected_text.py                        the units below, written for this script
    python benchmarks/protected_text.py FOLDER --units 2000    the units of all files below a folder, such as PO files

Only units with a placeholder, a tag or an entity count. The patterns here are not those of the product, so they find
faults of its patterns too. A unit is broken if its placeholders and tags are not those of its source, or if the tags of
its translation do not nest. "put back" are units where the model lost something and a rule put it back. BLEU is that of
the counted units which have a translation in the file.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import sacrebleu

from mtloop.core.errors import InputError
from mtloop.core.types import Segment
from mtloop.data.formats.filling import FILES, open_file
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.threads import set_threads

TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w:-]*)(?:\s[^<>]*)?(?P<empty>/?)>")
PLACEHOLDER = re.compile(
    r"%[A-Z_]{2,}%|\b[\w-]+\.(?:txt|csv|json|pdf|py)\b(?!\.\w)|%\(\w+\)[sdifr]|%[-+0#]?\d*(?:\.\d+)?[sdifuxgc](?![\w])|%\d+(?!\d)|\{\{\s*[\w.]+\s*\}\}|\$\{\w+\}|\{\w*\}|&[a-z]+;"
)
EXAMPLES = (
    ("Delete %s?", "%s löschen?"),
    ("%(count)d files in {folder}", "%(count)d Dateien in {folder}"),
    ('Press <b>Save</b> to store the file, or <a href="x.html">read more</a>.', ""),
    ("Hello {{ name }}, you have %1 new messages &amp; one error.", ""),
    ("The path ${HOME} does not exist.", "Der Pfad ${HOME} ist nicht vorhanden."),
    ("Click <g>Save</g> to store <x/>.", ""),
    ("Do you want to overwrite file.txt in %APPDATA%?", ""),
)


@dataclass(frozen=True)
class Unit:
    source: str
    target: str
    syntax: str = "plain"


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    set_threads(options.threads)
    units = list(dict.fromkeys(read_units(options.data) if options.data else (Unit(*pair) for pair in EXAMPLES)))
    units = [unit for unit in units if protected(unit.source)]
    random.Random(options.seed).shuffle(units)
    learner = make_learner(options.method, Marian.load(find_model(options.model)), {})
    assert isinstance(learner, AdaptiveNMT)
    report(learner, units[: options.units], options.examples)


def read_units(folder: Path) -> Iterator[Unit]:
    """Yield the units of all files that can be filled in; others are left out."""
    for path in sorted(folder.rglob("*") if folder.is_dir() else [folder]):
        if path.suffix not in FILES or not path.is_file():
            continue
        try:
            found = open_file(path, source_lang="en", target_lang="de").units
        except InputError:
            continue
        for unit in found:
            if unit.source.strip():
                yield Unit(unit.source, unit.target, unit.syntax)


def protected(text: str) -> Counter[str]:
    """Return the tags and placeholders of a text."""
    return Counter(found[0] for pattern in (TAG, PLACEHOLDER) for found in pattern.finditer(text))


def nests(text: str) -> bool:
    """Return whether every closing tag closes the last open one; a tag that is never closed is accepted."""
    stack: list[str] = []
    for tag in TAG.finditer(text):
        if tag["close"]:
            if tag["name"] not in stack:
                return False
            while stack.pop() != tag["name"]:
                pass
        elif not tag["empty"]:
            stack.append(tag["name"])
    return True


def report(learner: AdaptiveNMT, units: Sequence[Unit], examples: int) -> None:
    proposals = learner.propose_many(
        [Segment(str(number), unit.source, {"syntax": unit.syntax}) for number, unit in enumerate(units)]
    )
    texts = [one.text for one in proposals]
    broken = [number for number, unit in enumerate(units) if is_broken(unit.source, texts[number])]
    repaired = sum("repaired" in one.memo for one in proposals)
    kinds = Counter(kind for unit in units for kind in ("tags",) * bool(TAG.search(unit.source)))
    print(
        f"{len(units)} units, {kinds['tags']} with tags, {sum(protected(u.source).total() for u in units)} protected\n"
    )
    print(f"lost, doubled or broken {len(broken):6}")
    print(f"put back by rule        {repaired:6}")
    scored = [(text, unit.target) for text, unit in zip(texts, units, strict=True) if unit.target]
    bleu = sacrebleu.corpus_bleu([text for text, _ in scored], [[target for _, target in scored]])
    print(f"BLEU of {len(scored):5} units     {bleu.score:6.2f}")
    for number in broken[:examples]:
        print(f"  {units[number].source!r}\n  {texts[number]!r}")


def is_broken(source: str, text: str) -> bool:
    return protected(source) != protected(text) or (nests(source) and not nests(text))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", help="a file, or a folder with files")
    parser.add_argument("--units", type=int, default=2000)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--method", default="baseline")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=20, help="number of broken units to print")
    parser.add_argument("--small", action="store_true", help="a run of seconds, to check that the script works")
    options = parser.parse_args(argv)
    if options.small:
        options.units = 6
    return options


if __name__ == "__main__":
    main()
