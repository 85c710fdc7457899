"""Count placeholders, tags and addresses that a translation loses, doubles or breaks; BLEU with and without them.

    python benchmarks/protected_text.py                        the units below, written for this script
    python benchmarks/protected_text.py FOLDER --units 2000    the units of all files below a folder, such as PO files

Counted are units with something that no translator changes, by kind: `KINDS`. The patterns here are not those of the
product, so they find faults of its patterns too. A unit is broken if these texts are not those of its source, or if the
tags of its translation do not nest. "put back" are units where the model lost something and a rule put it back.

As many units without any are translated too: as the product does, and as a whole by the model alone. Their BLEU says
what protection and the cutting into sentences cost. BLEU is that of units with a translation in the file.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import sacrebleu

from mtloop.core.errors import InputError
from mtloop.core.types import Proposal, Segment
from mtloop.data.formats.filling import FILES, open_file
from mtloop.methods.registry import make_learner
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.batch_translation import BatchTranslation
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.threads import set_threads

TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w:-]*)(?:\s[^<>]*)?(?P<empty>/?)>")
SUFFIXES = "txt|csv|json|pdf|py|html|xml|po|zip|ya?ml|toml|png|svg|ini|cfg|conf|md"
KINDS = {  # what comes first goes first: a URL holds no paths
    "tag": r"</?[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>",
    "url": r"\b(?:https?|ftp)://[^\s<>\"“”„«»]*[^\s<>\"“”„«».,;:!?'’)\]}]",
    "mail": r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "path": r"(?<![\w/<.:])(?:~|\.\.?)?(?:/[\w.@-]*\w){2,}/?|\b[A-Z]:\\[\w\\.-]*\w",
    "file": rf"\b[\w-]+\.(?:{SUFFIXES})\b(?!\.\w)",
    "entity": r"&(?:[A-Za-z]+|#\d+|#x[0-9A-Fa-f]+);",
    "percent": r"%%",
    "environment": r"%[A-Z_]{2,}%",
    "printf": r"%\(\w+\)[-+0#]?\d*(?:\.\d+)?[sdifuxgcr]|%(?:\d+\$)?[-+0#]?\d*(?:\.\d+)?[sdifuxgcr](?!\w)|%L?\d+(?!\d)",
    "name": r"\{\{\s*[\w.]+\s*\}\}|\$\{\w+\}|\{\w*(?:[:!][^{}]*)?\}",
}
ICU_KINDS = {  # the branches of a message are texts
    **{kind: pattern for kind, pattern in KINDS.items() if kind != "name"},
    "icu": r"\{\s*\w+\s*,\s*(?:plural|selectordinal|select)\s*,|(?:\b(?:zero|one|two|few|many|other)|=\d+)\s*(?=\{)|#",
}
PATTERN, ICU_PATTERN = (
    re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items())) for kinds in (KINDS, ICU_KINDS)
)
ICU = re.compile(r"\{\s*\w+\s*,\s*(?:plural|selectordinal|select)\s*,")
EXAMPLES = (
    ("Delete %s?", "%s löschen?"),
    ("%(count)d files in {folder}", "%(count)d Dateien in {folder}"),
    ('Press <b>Save</b> to store the file, or <a href="x.html">read more</a>.', ""),
    ("Hello {{ name }}, you have %1 new messages &amp; one error.", ""),
    ("The path ${HOME} does not exist.", "Der Pfad ${HOME} ist nicht vorhanden."),
    ("Click <g>Save</g> to store <x/>.", ""),
    ("Do you want to overwrite file.txt in %APPDATA%?", ""),
    ("100 %% of /etc/ssh/config is at https://example.org/a?b=1, write to me@example.org.", ""),
    ("{count, plural, one {# file of {name}} other {# files of {name}}}", ""),
    ("Save the file.", "Speichern Sie die Datei."),
    ("The window is closed. Open the menu.", "Das Fenster ist geschlossen. Öffnen Sie das Menü."),
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
    random.Random(options.seed).shuffle(units)
    learner = make_learner(options.method, Marian.load(find_model(options.model)), {})
    assert isinstance(learner, AdaptiveNMT)
    report(learner, [unit for unit in units if protected(unit.source)][: options.units], options.examples)
    others = [unit for unit in units if not protected(unit.source) and unit.target]
    report_others(learner, others[: options.units])


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


def protected(text: str) -> Counter[tuple[str, str]]:
    """Return the kinds and texts of what no translator changes."""
    pattern = ICU_PATTERN if ICU.search(text) else PATTERN
    return Counter((str(found.lastgroup), found[0].strip()) for found in pattern.finditer(text))


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
    proposals = translate(learner, units)
    texts = [one.text for one in proposals]
    broken = [number for number, unit in enumerate(units) if is_broken(unit.source, texts[number])]
    repaired = sum("repaired" in one.memo for one in proposals)
    tagged = sum(TAG.search(unit.source) is not None for unit in units)
    print(f"{len(units)} units, {tagged} with tags, {sum(protected(u.source).total() for u in units)} protected\n")
    report_kinds(units, texts)
    print(f"lost, doubled or broken {len(broken):6}")
    print(f"put back by rule        {repaired:6}")
    scored = [(text, unit.target) for text, unit in zip(texts, units, strict=True) if unit.target]
    print(
        f"BLEU of {len(scored):5} units     {bleu([text for text, _ in scored], [target for _, target in scored]):6.2f}"
    )
    for number in broken[:examples]:
        print(f"  {units[number].source!r}\n  {texts[number]!r}")


def report_kinds(units: Sequence[Unit], texts: Sequence[str]) -> None:
    """Print how often each kind occurs, is lost, and comes out once too often."""
    rows = {"occurrences": Counter[str](), "lost": Counter[str](), "too many": Counter[str]()}
    for unit, text in zip(units, texts, strict=True):
        wanted, found = protected(unit.source), protected(text)
        for row, counts in zip(rows.values(), (wanted, wanted - found, found - wanted), strict=True):
            for (kind, _), count in counts.items():
                row[kind] += count
    print(f"{'kind':14}" + "".join(f"{name:>13}" for name in rows))
    for kind in (*KINDS, "icu"):
        print(f"{kind:14}" + "".join(f"{row[kind]:13}" for row in rows.values()))
    print()


def report_others(learner: AdaptiveNMT, units: Sequence[Unit]) -> None:
    """Print BLEU of units in which nothing is protected: as the product translates them, and by the model alone."""
    ours = [one.text for one in translate(learner, units)]
    alone = by_the_model_alone(learner, [unit.source for unit in units])
    targets = [unit.target for unit in units]
    differing = sum(one != other for one, other in zip(ours, alone, strict=True))
    print(f"\n{len(units)} units without any; {differing} differ from what the model alone makes of the whole text")
    print(f"BLEU as the product    {bleu(ours, targets):7.2f}")
    print(f"BLEU of the model alone{bleu(alone, targets):7.2f}")


def translate(learner: AdaptiveNMT, units: Sequence[Unit]) -> list[Proposal]:
    return learner.propose_many(
        [Segment(str(number), unit.source, {"syntax": unit.syntax}) for number, unit in enumerate(units)]
    )


def by_the_model_alone(learner: AdaptiveNMT, texts: Sequence[str]) -> list[str]:
    """Translate whole texts; only those that are too long for the model are cut."""
    pieces = [list(learner.split_source(text)) for text in texts]
    found = iter(BatchTranslation(learner.model, learner.limits)([piece for group in pieces for piece in group]))
    return [" ".join(islice(found, len(group))) for group in pieces]


def bleu(texts: Sequence[str], targets: Sequence[str]) -> float:
    return float(sacrebleu.corpus_bleu(list(texts), [list(targets)]).score)


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
