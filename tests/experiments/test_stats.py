"""`mtloop.stats`: files of every kind, and what is compared with what."""

from __future__ import annotations

import gzip
import json
import logging
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mtloop
from mtloop.core import InputError, UnknownName
from mtloop.experiments.stats_result import StatsResult, TextRow

PAIRS = (("Save the file. Close it.", "Datei speichern. Schließen."), ("Save the file.", "Datei speichern."))
SHORT = st.text("abc ", min_size=1, max_size=6).filter(str.strip)


def table(path: Path, pairs: Sequence[tuple[str, str]] = PAIRS) -> Path:
    lines = ["source\ttarget", *("\t".join(pair) for pair in pairs)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def numbers(result: StatsResult, text: str = "source") -> TextRow:
    (row,) = (row for row in result.rows if row.text == text)
    return row


def test_a_table_has_rows_for_source_target_and_pairs(tmp_path: Path) -> None:
    result = mtloop.stats(table(tmp_path / "a.tsv", [*PAIRS, PAIRS[1]]), source_lang="en", target_lang="de")
    assert [row.text for row in result.rows] == ["source", "target", "pair"]
    assert [row.tokeniser for row in result.rows] == ["moses-en", "moses-de", ""]
    source, target = (numbers(result, text).statistics for text in ("source", "target"))
    assert source is not None
    assert target is not None
    assert (source.segments, source.sentences, source.words, source.types, source.longest) == (3, 4, 15, 6, 7)
    assert (target.segments, target.sentences, target.words, target.types, target.longest) == (3, 4, 11, 4, 5)
    assert [row.duplicates for row in result.rows] == [1, 1, 1]
    assert result.table.records[0]["mean_length"] == 5
    assert result.table.headers[-1] == "RR", "nothing was compared"


def test_every_format_gives_the_same_numbers(tmp_path: Path) -> None:
    tsv = table(tmp_path / "a.tsv")
    packed = tmp_path / "b.tsv.gz"
    packed.write_bytes(gzip.compress(tsv.read_bytes()))
    renamed = tmp_path / "c.csv"
    renamed.write_text("en,de\n" + "".join(f'"{source}","{target}"\n' for source, target in PAIRS), encoding="utf-8")
    tmx = tmp_path / "d.tmx"
    units = "".join(
        f"<tu><tuv xml:lang='en'><seg>{s}</seg></tuv><tuv xml:lang='de'><seg>{t}</seg></tuv></tu>" for s, t in PAIRS
    )
    tmx.write_text(f"<tmx version='1.4'><header srclang='en'/><body>{units}</body></tmx>", encoding="utf-8")
    po = tmp_path / "e.po"
    po.write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: de\\n"\n'
        + "".join(f'\nmsgid "{source}"\nmsgstr "{target}"\n' for source, target in PAIRS),
        encoding="utf-8",
    )
    xliff = tmp_path / "f.xlf"
    body = "".join(
        f'<trans-unit id="{n}"><source>{s}</source><target>{t}</target></trans-unit>' for n, (s, t) in enumerate(PAIRS)
    )
    head = '<file source-language="en" target-language="de" original="f" datatype="plaintext">'
    xliff.write_text(
        f'<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">{head}<body>{body}</body></file></xliff>',
        encoding="utf-8",
    )
    files = [tsv, packed, renamed, tmx, po, xliff]
    result = mtloop.stats(files, source_lang="en", target_lang="de")
    expected = {text: numbers(mtloop.stats(tmx), text).to_json() for text in ("source", "target", "pair")}
    assert len(result.rows) == 18
    for row in result.rows:
        assert row.to_json() | {"file": ""} == expected[row.text] | {"file": ""}, row.file


def test_plain_text_is_one_text_in_the_language_of_its_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("text.de", "text.txt", "text"):
        (tmp_path / name).write_text("Eins.\n\nZwei drei.\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING, "mtloop"):
        rows = mtloop.stats([tmp_path / "text.de", tmp_path / "text.txt", tmp_path / "text"], source_lang="fr").rows
    assert [(row.file, row.text, row.tokeniser) for row in rows] == [
        ("text.de", "text", "moses-de"),
        ("text.txt", "text", "moses-fr"),
        ("text", "text", "moses-fr"),
    ]
    assert [row.segments for row in rows] == [2, 2, 2]
    assert "text.de: 2 segments, 1 skipped (1 empty)" in caplog.text


def test_a_trace_has_its_output_beside_source_and_references(tmp_path: Path) -> None:
    data, trace = table(tmp_path / "a.tsv"), tmp_path / "run.jsonl"
    mtloop.run(data, "copy-source", out=trace)
    result = mtloop.stats(trace, against=data)
    assert [row.text for row in result.rows] == ["source", "target", "output", "pair"]
    assert numbers(result, "source").overlap == 100
    assert numbers(result, "output").overlap == 0, "the output is a copy of the source, and compared with the target"
    output = numbers(result, "output").statistics
    assert output is not None
    assert output.unknown_words == output.words - 3, "the full stops are known"


def test_unknown_words_and_overlap_of_pairs(tmp_path: Path) -> None:
    new = table(tmp_path / "new.tsv", [*PAIRS, ("Save the file.", "Sichern.")])
    result = mtloop.stats(new, against=table(tmp_path / "old.tsv", [PAIRS[1]]))
    source, target, pair = result.rows
    assert source.statistics is not None
    assert target.statistics is not None
    assert (source.statistics.unknown_words, source.statistics.words) == (2, 15), "Close it"
    assert (target.statistics.unknown_words, target.statistics.words) == (2, 10), "Schließen, Sichern"
    assert [row.known_segments for row in result.rows] == [2, 1, 1]
    assert source.overlap == pytest.approx(200 / 3)
    assert pair.overlap == pytest.approx(100 / 3)
    assert result.table.headers[-2:] == ["OOV", "overlap"]
    assert result.table.cells[0][-2:] == ["13.33", "66.67"]
    assert result.table.notes[-1].endswith("in old.tsv")


def test_files_to_compare_with_count_as_one(tmp_path: Path) -> None:
    one, two = table(tmp_path / "1.tsv", PAIRS[:1]), table(tmp_path / "2.tsv", PAIRS[1:])
    both = mtloop.stats(table(tmp_path / "new.tsv"), against=[one, two])
    assert [row.overlap for row in both.rows] == [100, 100, 100]


def test_every_two_files_are_compared(tmp_path: Path) -> None:
    one, two = table(tmp_path / "one.tsv"), table(tmp_path / "two.tsv", [PAIRS[0], ("Save the file.", "Sichern.")])
    other = table(tmp_path / "other.tsv", [("Undo.", "Zurück.")])
    result = mtloop.stats([one, two], against=other, overlap=True)
    assert result.overlap is not None
    assert result.overlap.headers == ["file", "in", "source", "target", "pair"]
    assert [(row.file, row.other) for row in result.overlaps] == [
        ("one.tsv", "two.tsv"),
        ("one.tsv", "other.tsv"),
        ("two.tsv", "one.tsv"),
        ("two.tsv", "other.tsv"),
    ]
    assert result.overlaps[0].shares == {"source": 100, "target": 50, "pair": 50}
    assert result.overlaps[1].shares == {"source": 0, "target": 0, "pair": 0}
    assert mtloop.stats([one, two]).overlap is None, "only where it is asked for"


def test_equal_names_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    paths = [tmp_path / folder / "a.txt" for folder in ("x", "y")]
    for path in paths:
        path.parent.mkdir()
        path.write_text("Save.\n", encoding="utf-8")
    assert [row.file for row in mtloop.stats(paths).rows] == [str(path) for path in paths]
    twice = mtloop.stats([paths[0], tmp_path / "x" / ".." / "x" / "a.txt"])
    assert [row.file for row in twice.rows] == ["a.txt"], "a file that is given twice counts once"


def test_the_tokeniser_follows_the_language_or_the_option(tmp_path: Path) -> None:
    path = tmp_path / "text.zh"
    path.write_text("打开ABC文件。\n", encoding="utf-8")
    chinese = numbers(mtloop.stats(path), "text")
    assert chinese.tokeniser == "zh"
    assert chinese.statistics is not None
    assert chinese.statistics.words == 6
    assert numbers(mtloop.stats(path, tokenize="moses"), "text").tokeniser == "moses-zh"
    spaces = numbers(mtloop.stats(path, tokenize="none"), "text").statistics
    assert spaces is not None
    assert spaces.words == 1


def test_text_without_spaces_in_an_unknown_language_is_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = table(tmp_path / "a.tsv", [("Change the setting.", "設定を変更するには、メニューを開いてください。")])
    with caplog.at_level(logging.WARNING, "mtloop"):
        mtloop.stats(data)
    assert "the target has no spaces between words; give its language with --target-lang" in caplog.text
    assert "the source" not in caplog.text


def test_lower_case_finds_more_repeats(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Save it.\nsave it.\n", encoding="utf-8")
    kept, lowered = (mtloop.stats(tmp_path / "a.txt", lowercase=lower).rows[0] for lower in (False, True))
    assert (kept.duplicates, lowered.duplicates) == (0, 1)
    assert kept.statistics is not None
    assert lowered.statistics is not None
    assert (kept.statistics.types, lowered.statistics.types) == (4, 3)


def test_the_result_prints_and_gives_json(tmp_path: Path) -> None:
    result = mtloop.stats([table(tmp_path / "a.tsv"), table(tmp_path / "b.tsv", PAIRS[:1])], overlap=True)
    assert str(result) == str(result.table)
    assert result.text() == f"{result.table}\n\n{result.overlap}"
    read = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert list(read) == ["statistics", "against", "overlap"]
    assert read["statistics"][2] | {"rr": None, "words": None, "oov": None} == read["statistics"][2]
    assert read["overlap"][1] == {"file": "b.tsv", "in": "a.tsv", "source": 100, "target": 100, "pair": 100}
    assert len(result.to_pandas()) == 6


def test_torch_is_not_needed(tmp_path: Path) -> None:
    program = f"import sys, mtloop; mtloop.stats({str(table(tmp_path / 'a.tsv'))!r}); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.lists(st.tuples(SHORT, SHORT), min_size=1, max_size=6))
def test_a_file_against_itself_has_nothing_unknown(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    path = table(tmp_path / "a.tsv", pairs)
    result = mtloop.stats(path, against=path)
    for row in result.rows:
        assert (row.segments, row.overlap) == (len(pairs), 100)
        assert row.statistics is None or row.statistics.unknown_words == 0
    assert max(row.duplicates for row in result.rows[:2]) >= result.rows[2].duplicates


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "a.tsv")
    texts = {
        "empty.tsv": "",
        "blank.txt": "\n \n",
        "head.tsv": "source\ttarget\n",
        "a.docx": "a",
        "a.properties": "a=b",
    }
    texts |= {"a.en": "Save.\n", "a.de": "Sichern.\n", "a.jsonl": '{"source": "a"}\n', "a.ts": "<TS/>"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ([], {}, "no file to measure; give one or more"),
        (["empty.tsv"], {}, "empty.tsv: the file is empty"),
        (["blank.txt"], {}, "blank.txt: has only empty lines"),
        (["head.tsv"], {}, "head.tsv: "),
        (["missing.tsv"], {}, "missing.tsv: no such file"),
        (["a.docx"], {}, "a.docx: unknown file type '.docx'; known: .tsv, "),
        (["a.properties"], {}, "a.properties: unknown file type '.properties'; known: "),
        (["a.json"], {}, "a.json: unknown file type '.json'; known: "),
        (["a.jsonl"], {}, "a.jsonl: is not a trace of mtloop; for pairs use a table (.tsv)"),
        (["a.tsv"], {"overlap": True}, "a.tsv: one file has nothing to overlap with; give a second one"),
        (["a.tsv", "./a.tsv"], {"overlap": True}, "a.tsv: one file has nothing to overlap with; give a second one"),
        (["a.tsv", "a.en"], {"overlap": True}, "a.en: has text, and a.tsv has source, target; overlap needs files of"),
        (["a.en"], {"against": "a.tsv"}, "a.tsv: has no text to compare a.en with; it has: source, target"),
        (["a.de"], {"against": "a.en"}, "a.en: the text is in en, but the text of a.de is in de; compare texts of one"),
        (["a.de", "a.en"], {"overlap": True}, "a.en: the text is in en, but the text of a.de is in de; compare texts"),
        (["a.en"], {"columns": "source=a"}, "a.en: --columns names the columns of a .tsv or .csv file"),
        (["a.tsv"], {"columns": "source=x,target=y"}, "a.tsv:1: "),
    ],
)
def test_bad_input_is_one_line(samples: Path, files: list[str], options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}") as raised:
        mtloop.stats(files, **options)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_a_wrong_tokeniser_is_found_before_files_are_read() -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'moses'\? known: 13a, .*moses, none"):
        mtloop.stats("missing.tsv", tokenize="mose")
