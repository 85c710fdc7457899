"""Checks on the demo document that ships with the package."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from importlib import resources
from typing import NamedTuple

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.ter import TER

from mtloop.experiments.demo import BASELINE, LEARNER
from mtloop.methods.defaults import DEFAULT_METHOD

DEMO = resources.files("mtloop") / "demo"
HYPOTHESES = (BASELINE, LEARNER)
HEADER = ["source", "target", "document"]


class Segment(NamedTuple):
    source: str
    target: str
    document: str


class Term(NamedTuple):
    english: list[str]
    german: list[str]
    segments: int

    def in_source(self, text: str) -> bool:
        return any(re.search(r"(?<!\w)" + re.escape(form), text, re.IGNORECASE) for form in self.english)

    def in_german(self, text: str) -> bool:
        return any(_fold(form) in _fold(text) for form in self.german)


def _fold(text: str) -> str:
    return text.lower().translate(str.maketrans("äöü", "aou"))


def _lines(name: str) -> list[str]:
    text = (DEMO / name).read_bytes().decode("utf-8")
    assert text.endswith("\n"), f"{name}: no newline at the end"
    return text[:-1].split("\n")


def _segments() -> list[Segment]:
    header, *rows = _lines("manual.en-de.tsv")
    assert header.split("\t") == HEADER
    cells = [row.split("\t") for row in rows]
    wrong = [number for number, row in enumerate(cells, 2) if len(row) != len(HEADER)]
    assert not wrong, f"manual.en-de.tsv: expected three cells in lines {wrong}"
    return [Segment(*row) for row in cells]


def _forms(cell: str) -> list[str]:
    match = re.fullmatch(r"(.+?) \((.+)\)", cell)
    return [match[1], *match[2].split(", ")] if match else [cell]


def _glossary() -> list[Term]:
    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    table = readme.split("## Glossary", 1)[1]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("| ") and not line.startswith("| ---")
    ]
    return [Term(_forms(e), _forms(g), int(n)) for e, g, n in rows[1:]]


@pytest.fixture(scope="module")
def segments() -> list[Segment]:
    return _segments()


@pytest.fixture(scope="module")
def glossary() -> list[Term]:
    return _glossary()


def _occurrences(term: Term, segments: list[Segment]) -> list[int]:
    return [
        index
        for index, segment in enumerate(segments)
        if term.in_source(segment.source) and term.in_german(segment.target)
    ]


def test_number_of_segments_and_chapters(segments: list[Segment]) -> None:
    assert len(segments) >= 270
    chapters = [segment.document for segment in segments]
    in_order = list(dict.fromkeys(chapters))
    assert 8 <= len(in_order) <= 10
    assert in_order == sorted(in_order)
    assert chapters == sorted(chapters), "a chapter is interrupted by another one"
    assert min(Counter(chapters).values()) >= 15
    assert all(re.fullmatch(r"\d\d-[a-z]+(-[a-z]+)*", name) for name in in_order)


@pytest.mark.parametrize("name", HYPOTHESES)
def test_one_hypothesis_per_segment(name: str, segments: list[Segment]) -> None:
    assert len(_lines(f"{name}.txt")) == len(segments)


def test_cells_are_filled_and_clean() -> None:
    for number, line in enumerate(_lines("manual.en-de.tsv"), 1):
        for cell in line.split("\t"):
            where = f"line {number}: {cell!r}"
            assert cell, f"empty cell in {where}"
            assert cell == cell.strip(), where
            assert "  " not in cell, where
            assert '"' not in cell, where
            odd = [f"U+{ord(char):04X}" for char in cell if char != " " and unicodedata.category(char)[0] in "ZC"]
            assert not odd, f"{odd} in {where}"
            assert unicodedata.is_normalized("NFC", cell), where


def test_german_quotes_are_balanced(segments: list[Segment]) -> None:
    for segment in segments:
        marks = "".join(re.findall("[„“”«»‚‘]", segment.target))
        assert re.fullmatch("(„“)*", marks), segment.target
    assert sum("„" in s.target for s in segments) >= 30
    assert not any("„" in s.source for s in segments)


def test_formal_address_only(segments: list[Segment]) -> None:
    informal = re.compile(r"\b([Dd]u|[Dd]ich|[Dd]ir|[Dd]ein\w*|[Ee]uch|[Ee]uer\w*)\b")
    assert not [s.target for s in segments if informal.search(s.target)]
    assert sum(bool(re.search(r"\bSie\b", s.target)) for s in segments) >= 80


def test_menu_paths_are_kept_and_quoted(segments: list[Segment]) -> None:
    paths = [s for s in segments if " > " in s.source]
    assert len(paths) >= 8
    for segment in paths:
        quoted = re.findall("„([^“]* > [^“]*)“", segment.target)
        assert len(quoted) == 1, segment.target
        assert quoted[0].count(" > ") == segment.source.count(" > "), segment.target


def test_few_repeated_segments(segments: list[Segment]) -> None:
    counts = Counter(segment.source for segment in segments)
    assert sum(count - 1 for count in counts.values()) <= 5
    targets: dict[str, set[str]] = {}
    for segment in segments:
        targets.setdefault(segment.source, set()).add(segment.target)
    assert not [source for source, variants in targets.items() if len(variants) > 1]


def test_segments_vary_in_length(segments: list[Segment]) -> None:
    lengths = [len(segment.source.split()) for segment in segments]
    assert max(lengths) <= 35
    assert sum(length <= 4 for length in lengths) >= 30
    assert sum(length >= 15 for length in lengths) >= 30


def test_readme_counts(segments: list[Segment], glossary: list[Term]) -> None:
    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    assert f"| Segments | {len(segments)} | {len(segments)} |" in readme
    for chapter, count in Counter(segment.document for segment in segments).items():
        assert f"| `{chapter}` | {count} |" in readme
    found = {term.english[0]: len(_occurrences(term, segments)) for term in glossary}
    assert found == {term.english[0]: term.segments for term in glossary}


def test_glossary_terms_recur(segments: list[Segment], glossary: list[Term]) -> None:
    assert len(glossary) >= 40
    counts = [len(_occurrences(term, segments)) for term in glossary]
    assert min(counts) >= 2
    assert sum(2 <= count <= 8 for count in counts) > len(counts) / 2
    assert sum(count >= 15 for count in counts) >= 3
    spread = [len({segments[i].document for i in _occurrences(term, segments)}) for term in glossary]
    assert sum(chapters >= 2 for chapters in spread) > len(spread) / 2


def _known_later(name: str, segments: list[Segment], glossary: list[Term]) -> tuple[int, int]:
    """Return how many later occurrences of terms are correct, and their number; the first of a term is left out."""
    outputs = _lines(f"{name}.txt")
    known = [term.in_german(outputs[i]) for term in glossary for i in _occurrences(term, segments)[1:]]
    return sum(known), len(known)


def test_the_learner_knows_more_terms_after_the_first_correction(segments: list[Segment], glossary: list[Term]) -> None:
    static, learned = (_known_later(name, segments, glossary) for name in HYPOTHESES)
    assert learned[0] > 1.5 * static[0]
    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    assert f"correct in {learned[0]} of {learned[1]} later" in readme
    assert f"`{BASELINE}`: {static[0]})" in readme


def test_the_recorded_learner_is_the_default_method() -> None:
    assert LEARNER == DEFAULT_METHOD


def test_outputs_of_the_first_segment_are_the_same() -> None:
    """Nothing has been learned yet."""
    static, learned = (_lines(f"{name}.txt") for name in HYPOTHESES)
    assert static[0] == learned[0]
    assert static != learned


def _score_row(name: str, segments: list[Segment], part: slice) -> str:
    references = [[segment.target for segment in segments[part]]]
    outputs = [_lines(f"{system}.txt")[part] for system in HYPOTHESES]
    scores = [metric.corpus_score(one, references).score for metric in (BLEU(), TER()) for one in outputs]
    return f"| {name} | {' | '.join(f'{score:.1f}' for score in scores)} |"


def test_readme_scores(segments: list[Segment]) -> None:
    readme = (DEMO / "README.md").read_text(encoding="utf-8")
    half = len(segments) // 2
    assert _score_row("whole document", segments, slice(None)) in readme
    assert _score_row(f"segments 1–{half}", segments, slice(half)) in readme
    assert _score_row(f"segments {half + 1}–{len(segments)}", segments, slice(half, None)) in readme
