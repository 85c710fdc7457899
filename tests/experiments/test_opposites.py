"""Opposites: the pairs of the package, before-teach-after with learners that flip and that do not, and the result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mtloop
from mtloop.core import Feedback, Learned, PostEdit, Proposal, Segment
from mtloop.core.errors import InputError
from mtloop.experiments.opposite_pairs import PACKAGED, TEXTS, OppositePair, read_pairs
from mtloop.experiments.opposites import OppositesJob, ask
from mtloop.experiments.opposites_result import OppositeAnswer, OppositesResult
from mtloop.experiments.worker import job_from_json
from mtloop.methods.learner_config import LearnerConfig
from mtloop.report.result_file import ResultFile

HEADER = "\t".join(TEXTS)
LOG_IN = OppositePair("Log in", "Anmelden", "Log out", "Abmelden", "particle", "report")
PAIRS = [
    LOG_IN,
    OppositePair("Save it", "Sichern", "Do not save it", "Nicht sichern", "negation", "report"),
    OppositePair("Zoom in", "Vergrößern", "Zoom out", "Verkleinern", "particle", "report"),
]
KNOWN = {"Log out": "Abmelden", "Do not save it": "Nicht speichern", "Zoom out": "Zoomen"}
ENGINE = """
from mtloop.core import Learned, Proposal

class Flipping:
    def __init__(self, *, seed: int = 7):
        self.taught = None
    def propose(self, segment):
        return Proposal(segment, self.taught or "Abmelden")
    def learn(self, proposal, feedback):
        assert self.taught is None, "each pair gets a new learner"
        self.taught = feedback.text
        return Learned(updates=1)
"""


class Translations:
    """Knows some translations; learns lessons by heart. If `flips`, all sentences get the last lesson."""

    def __init__(self, *, flips: bool = False, learns: bool = True) -> None:
        self.flips, self.learns, self.known, self.last = flips, learns, dict(KNOWN), ""

    def propose(self, segment: Segment) -> Proposal:
        return Proposal(segment, self.last or self.known.get(segment.source, "?"))

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        assert isinstance(feedback, PostEdit)
        if not self.learns:
            return Learned(rejected="length")
        self.known[proposal.segment.source] = feedback.text
        self.last = feedback.text if self.flips else ""
        return Learned(updates=1)


@pytest.fixture
def result() -> OppositesResult:
    """The answers of three learners: one that learns nothing, one that learns by heart, and one that flips."""
    learners: dict[str, Callable[[], Translations]] = {
        "baseline": lambda: Translations(learns=False),
        "by-heart": Translations,
        "flipping": lambda: Translations(flips=True),
    }
    return OppositesResult({name: [ask(make(), pair) for pair in PAIRS] for name, make in learners.items()})


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a table of pairs."""

    def write(*rows: str, header: str = HEADER, name: str = "pairs.tsv") -> Path:
        (tmp_path / name).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return tmp_path / name

    return write


def test_the_package_has_two_hundred_pairs_in_two_parts_that_share_no_sentence() -> None:
    pairs = read_pairs()
    parts = {part: read_pairs(part=part) for part in ("development", "report")}
    assert [len(found) for found in parts.values()] == [120, 120]
    sources = {
        part: {s for one in found for s in (one.lesson_source, one.opposite_source)} for part, found in parts.items()
    }
    assert not sources["development"] & sources["report"]
    assert len(sources["development"] | sources["report"]) == 2 * len(pairs), "no sentence occurs twice"
    kinds = {"negation", "antonym", "particle", "number", "name", "direction", "switch"}
    for found in parts.values():
        assert Counter(one.kind for one in found).keys() == kinds
        assert min(Counter(one.kind for one in found).values()) >= 17


def test_a_lesson_that_takes_its_opposite_over_is_counted(result: OppositesResult) -> None:
    counts = {
        row["method"]: [row[name] for name in ("pairs", "known_at_once", "flipped")] for row in result.table.records
    }
    assert counts == {"baseline": [3, 0, 0], "by-heart": [3, 3, 0], "flipping": [3, 3, 3]}
    rights = {
        row["method"]: [row[name] for name in ("right_before", "right_after", "spoiled", "changed")]
        for row in result.table.records
    }
    assert rights == {"baseline": [1, 1, 0, 0], "by-heart": [1, 1, 0, 0], "flipping": [1, 0, 1, 3]}
    assert str(result).splitlines()[4].split("  ")[0] == "flipping"
    assert "3 (44-100 %)" in str(result)
    assert result.answers["baseline"][0].rejected == "length"


def test_an_opposite_that_had_the_lessons_translation_before_is_no_flip() -> None:
    learner = Translations(flips=True)
    learner.known["Log out"] = "Anmelden"
    answer = ask(learner, LOG_IN)
    assert (answer.before, answer.after, answer.flipped, answer.changed) == ("Anmelden", "Anmelden", False, False)


@pytest.mark.parametrize(
    ("before", "after", "flipped"),
    [
        ("Das Fenster wird geöffnet", "Das Fenster öffnen", True),  # all of it, though a word of it was there before
        ("Das Fenster", "Das Fenster öffnen", True),
        ("Das Fenster öffnen", "das Fenster öffnen", False),
        ("Das Fenster", "Fenster nicht öffnen", False),
        ("Fenster", "Das Fenster nicht öffnen", True),
    ],
)
def test_a_whole_translation_or_a_word_of_it_that_is_taken_over_is_a_flip(
    before: str, after: str, flipped: bool
) -> None:
    pair = OppositePair("Open the window", "Das Fenster öffnen", "Do not open the window", "Fenster nicht öffnen")
    assert OppositeAnswer(pair, before, after, "", pair.lesson_target).flipped is flipped


def test_a_lesson_and_an_opposite_with_the_same_words_have_no_flip() -> None:
    """A translation that becomes right takes nothing over, if the targets differ in case and spaces only."""
    pair = OppositePair("File", "Die Datei", "file", "die  datei")
    assert not OppositeAnswer(pair, "Die Akte", "die  datei", "", "Die Datei").flipped


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ("Abmelden", "Anmelden", True),
        ("Jetzt abmelden", "Jetzt", True),
        ("Abmelden", "Bitte abmelden", False),
        ("Ausloggen", "Anmelden", False),
    ],
)
def test_what_only_the_opposite_says_is_lost(before: str, after: str, lost: bool) -> None:
    """Also where nothing of the lesson is taken over; not where it was missing before."""
    assert OppositeAnswer(LOG_IN, before, after, "Anmelden", "Anmelden").lost == lost


def test_counts_by_kind_and_the_flipped_pairs(result: OppositesResult) -> None:
    rows = {(row["method"], row["kind"]): (row["pairs"], row["flipped"]) for row in result.kinds.records}
    assert rows["flipping", "particle"] == (2, 2)
    assert rows["flipping", "negation"] == (1, 1)
    assert rows["by-heart", "particle"] == (2, 0)
    assert {method: len(found) for method, found in result.flips.items()} == {
        "baseline": 0,
        "by-heart": 0,
        "flipping": 3,
    }
    text = "\n".join(result.text())
    assert (
        "Flipped by flipping:\n  Log in -> Anmelden (particle)\n    opposite  Log out\n    before    Abmelden\n" in text
    )
    assert "Flipped by by-heart" not in text


def test_the_charts_count_flips_and_right_opposites_in_the_order_of_kinds(result: OppositesResult) -> None:
    chart, right = result.saved_charts()
    assert {one.label: one.y.tolist() for one in chart.series} == {
        "baseline: 0 of 3": [0, 0, 0],
        "by-heart: 0 of 3": [0, 0, 0],
        "flipping: 3 of 3": [1, 2, 3],
    }
    assert [one.style_number for one in chart.series] == [0, 1, 2]
    assert chart.vertical_lines == (3.0,)
    assert chart.caption.endswith("The kinds: particle, negation.")
    assert {one.label: one.y.tolist() for one in right.series} == {
        "baseline: 1 of 3": [1, 1, 1],
        "by-heart: 1 of 3": [1, 1, 1],
        "flipping: 0 of 3": [0, 0, 0],
    }


def test_own_pairs_need_neither_kind_nor_part(table: Callable[..., Path]) -> None:
    (pair,) = read_pairs(table("Log in\tAnmelden\tLog out\tAbmelden"))
    assert pair == OppositePair("Log in", "Anmelden", "Log out", "Abmelden")
    header = "part,opposite_target,kind,opposite_source,lesson_target,lesson_source,note"
    path = table("a,Abmelden,verb,Log out,Anmelden,Log in,x", header=header, name="pairs.csv")
    assert read_pairs(path, "a") == [OppositePair("Log in", "Anmelden", "Log out", "Abmelden", "verb", "a")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "pairs.tsv: the table has no pairs"),
        (["a\tb\tc\t"], "pairs.tsv:2: opposite_target is empty"),
        (["a\tb\tc"], "pairs.tsv:2: expected 4 cells"),
        (["a\tb\tc\td", "a\tb\tc\td"], "pairs.tsv:3: the same pair is on line 2; remove one"),
        (["Log in\tb\tlog in\td"], "lesson_source and opposite_source have the same words"),
        (["a\tAn\tc\tan"], "lesson_target and opposite_target have the same words"),
    ],
)
def test_a_wrong_table_is_one_line(table: Callable[..., Path], rows: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        read_pairs(table(*rows))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wrong_column_part_or_kind_of_file_is_one_line(table: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pairs\.tsv:1: no column 'lesson_target'; the file has: lesson_source, x"):
        read_pairs(table(header="lesson_source\tx"))
    with pytest.raises(InputError, match="the table has no column 'part'; leave out --part"):
        read_pairs(table("a\tb\tc\td"), "report")
    with pytest.raises(
        InputError, match="there is no part 'reprot'; did you mean 'report'\\? known: development, report"
    ):
        read_pairs(part="reprot")
    with pytest.raises(InputError, match=r"expected a table, \.tsv or \.csv, with the columns lesson_source"):
        read_pairs(tmp_path / "pairs.tmx")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_own_engine_on_own_pairs(table: Callable[..., Path], tmp_path: Path, jobs: int) -> None:
    """Also in child processes: the answers are the same."""
    (tmp_path / "mine.py").write_text(ENGINE)
    method = f"{tmp_path}/mine.py:Flipping"
    rows = ("Log in\tAnmelden\tLog out\tAbmelden", "Sign in\tEinloggen\tSign out\tAbmelden")
    result = mtloop.opposites(table(*rows), ["copy-source", method], out=tmp_path / "out", jobs=jobs)
    assert [row["flipped"] for row in result.table.records] == [0, 2]
    lines = [
        json.loads(line) for line in (tmp_path / "out" / "opposites.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [(line["method"], line["after"]) for line in lines] == [
        ("copy-source", "Log out"),
        ("copy-source", "Sign out"),
        (method, "Anmelden"),
        (method, "Einloggen"),
    ]
    assert {"lesson_source", "before", "lesson_after", "flipped", "known_at_once", "kind", "part"} <= lines[0].keys()
    saved = ResultFile.read(result.save(tmp_path / "out" / "result.json"))
    assert (saved.origin.experiment, saved.origin.data[0].segments) == ("opposites", 2)
    assert saved.origin.seed == {"mine.py:Flipping": 7}
    assert saved.origin.settings["copy-source"]["threads"] == 1  # type: ignore[index, call-overload]
    assert (list(saved.tables), list(saved.charts)) == (["methods", "kinds"], ["flips", "right"])
    text = (tmp_path / "out" / "result.json").read_text(encoding="utf-8")
    assert not [word for word in ("Anmelden", "Log in", str(tmp_path)) if word in text], "no sentences, no folders"
    assert result.to_pandas()["flipped"].tolist() == [0, 2]


def test_a_job_is_the_same_after_json(tmp_path: Path) -> None:
    job = OppositesJob(tuple(PAIRS), LearnerConfig.create("copy-source"), tmp_path / "a.json")
    assert job_from_json(json.loads(json.dumps({"kind": job.kind, **job.to_json()}))) == job


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": "lore"}, "there is no method 'lore'; did you mean 'lora'?"),
        ({"methods": "nmt-el"}, "method nmt-el learns from rewards"),
        ({"methods": "nmt-oracle"}, "method nmt-oracle is trained on the references"),
        ({"methods": []}, "no method is named"),
        ({"methods": "copy-source", "model": "en-de"}, "none of the methods uses a model; leave out --model"),
        ({"methods": "copy-source", "settings": {"rank": 3}}, "none of the methods has a setting 'rank'"),
        ({"methods": "copy-source", "threads": 0}, "threads is 0; expected 1 or more"),
        ({"methods": "copy-source", "jobs": 0}, "jobs is 0; expected 1 or more"),
        ({"methods": "copy-source", "part": "raport"}, "there is no part 'raport'; did you mean 'report'?"),
        ({"methods": "copy-source", "target_lang": "it"}, "describe your own pairs; give these with --data FILE"),
        ({"methods": "copy-source", "data": "none.tsv"}, "none.tsv: no such file"),
        (
            {"methods": "baseline", "data": PACKAGED, "source_lang": "en", "target_lang": "it"},
            "the pairs are en -> it, but the model translates en -> de; give pairs in its languages with --data FILE",
        ),
    ],
)
def test_a_mistake_is_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        mtloop.opposites(**options)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
