from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from helpers.collateral_samples import BASE_OUTPUTS, OUTPUTS, REFERENCES, SOURCES
from helpers.command_result import CommandResult
from helpers.file_samples import tmx, tu
from helpers.samples import noisy_steps
from helpers.tiny_model.make_spm import spm_bytes

from mtloop.core import Header, Segment, TraceWriter, Truth, run
from mtloop.data import pairs
from mtloop.judges import PostEditor
from mtloop.methods.recorded import Recorded

Call = Callable[..., CommandResult]


def test_figure_1_of_the_2019_paper(mtloop: Call, files: Path) -> None:
    """References, hypotheses and counts from the paper: R0 2/4, R1 2/2, R0+1 4/6."""
    result = mtloop(
        "score", "--ref", files / "ref.txt", "--hyp", files / "hyp.txt", "--lang", "en",
        "--stopwords", files / "stop.txt", "--metrics", "r0,r1,r01", "--format", "json",
    )  # fmt: skip
    rows = json.loads(result.out)
    assert [(row["system"], row["name"], row["value"], row["numerator"], row["denominator"]) for row in rows] == [
        ("hyp", "r0", 50.0, 2, 4),
        ("hyp", "r1", 100.0, 2, 2),
        ("hyp", "r01", pytest.approx(400 / 6), 4, 6),
    ]
    assert all(row["signature"] for row in rows)


@pytest.mark.parametrize(
    ("language", "bleu", "ter"),
    [
        ([], {}, {}),
        (["--target-lang", "de"], {}, {}),
        (["--lang", "zh-TW"], {"tokenize": "zh"}, {"normalized": True, "asian_support": True}),
        (["--target-lang", "ko"], {"tokenize": "ko-mecab"}, {}),
        (["--tokenize", "intl"], {"tokenize": "intl"}, {}),
        (["--lang", "ja", "--tokenize", "13a", "--metrics", "bleu"], {}, {}),
    ],
)
def test_quality_equals_sacrebleu_for_every_language(
    mtloop: Call, files: Path, language: list[str], bleu: dict[str, Any], ter: dict[str, Any]
) -> None:
    result = mtloop(
        "score",
        "--ref",
        files / "ref.txt",
        "--hyp",
        files / "hyp.txt",
        "--metrics",
        "bleu,chrf,ter",
        "--format",
        "json",
        *language,
    )
    refs, hyps = ((files / name).read_text().splitlines() for name in ("ref.txt", "hyp.txt"))
    metrics = (sacrebleu.BLEU(**bleu), sacrebleu.CHRF(), sacrebleu.TER(**ter))
    for row, metric in zip(json.loads(result.out), metrics, strict=False):
        assert row["value"] == metric.corpus_score(hyps, [refs]).score
        assert row["signature"] == str(metric.get_signature())


def test_systems_and_metrics_keep_the_given_order(mtloop: Call, files: Path) -> None:
    result = mtloop(
        "score",
        "--ref",
        files / "ref.txt",
        "--hyp",
        files / "hyp.txt",
        "--hyp",
        files / "ref.txt",
        "--metrics",
        "ter,bleu",
        "--format",
        "json",
    )
    assert [(row["system"], row["name"]) for row in json.loads(result.out)] == [
        ("hyp", "ter"), ("hyp", "bleu"), ("ref", "ter"), ("ref", "bleu"),
    ]  # fmt: skip


def test_a_baseline_adds_significance_marks(mtloop: Call, tmp_path: Path) -> None:
    (tmp_path / "ref.txt").write_text("".join(f"ein Satz mit Nummer {i} darin\n" for i in range(60)))
    (tmp_path / "bad.txt").write_text("".join(f"kein Satz ohne Zahl {i} hier\n" for i in range(60)))
    result = mtloop(
        "score",
        "--ref",
        tmp_path / "ref.txt",
        "--hyp",
        tmp_path / "ref.txt",
        "--baseline",
        tmp_path / "bad.txt",
        "--metrics",
        "bleu",
    )
    assert "100.00***" in result.out
    assert "against bad" in result.out


def test_zero_over_zero_is_shown_as_0_0(mtloop: Call, tmp_path: Path) -> None:
    (tmp_path / "ref.txt").write_text("eins\nzwei\n")
    arguments = [
        "score",
        "--ref",
        tmp_path / "ref.txt",
        "--hyp",
        tmp_path / "ref.txt",
        "--lang",
        "de",
        "--metrics",
        "r5",
    ]
    assert "0/0" in mtloop(*arguments).out
    [row] = json.loads(mtloop(*arguments, "--format", "json").out)
    assert (row["value"], row["numerator"], row["denominator"]) == (None, 0, 0)


def test_traces_are_scored_like_files_and_joined_with_references_by_id(mtloop: Call, files: Path) -> None:
    refs, hyps = ((files / name).read_text().splitlines() for name in ("ref.txt", "hyp.txt"))
    with TraceWriter(files / "run.jsonl", Header()) as trace, TraceWriter(files / "bare.jsonl", Header()) as bare:
        for step in run(pairs(["", ""], refs), Recorded(hyps), PostEditor()):
            trace.write(step)
        for step in run(pairs(["", ""], refs), Recorded(hyps), lambda proposal, truth: None):
            bare.write(step.public())
    plain = mtloop("score", "--ref", files / "ref.txt", "--hyp", files / "hyp.txt", "--format", "csv").out
    assert mtloop("score", files / "run.jsonl", "--format", "csv").out == plain.replace("\nhyp,", "\nrun,")
    assert mtloop("score", files / "bare.jsonl", "--ref", files / "ref.txt", "--format", "csv").out == plain.replace(
        "\nhyp,", "\nbare,"
    )
    assert "neither a reference nor a post-edit" in mtloop("score", files / "bare.jsonl").err


def test_scoring_a_table_of_post_edits(mtloop: Call, tmp_path: Path) -> None:
    (tmp_path / "pe.tsv").write_text("source\tmt\tpost_edit\nSave\tRetten\tSpeichern\nOpen\tÖffnen\tÖffnen\n")
    [row] = json.loads(mtloop("score", "--data", tmp_path / "pe.tsv", "--metrics", "ter", "--format", "json").out)
    assert (row["system"], row["numerator"], row["denominator"]) == ("mt", 1, 2)


def test_hypotheses_may_contain_lines_for_skipped_rows(mtloop: Call, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("source\ttarget\nSave\tSpeichern\nNew\t\nOpen\tÖffnen\n")
    (tmp_path / "all.txt").write_text("Speichern\nNeu\nÖffnen\n")
    (tmp_path / "kept.txt").write_text("Speichern\nÖffnen\n")
    for name in ("all.txt", "kept.txt"):
        result = mtloop(
            "score", "--data", tmp_path / "t.tsv", "--hyp", tmp_path / name, "--metrics", "ter", "--format", "json"
        )
        assert json.loads(result.out)[0]["numerator"] == 0


def test_columns_can_be_named(mtloop: Call, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("en,de\nSave,Speichern\n")
    (tmp_path / "h.txt").write_text("Speichern\n")
    result = mtloop(
        "score",
        "--data",
        tmp_path / "t.csv",
        "--columns",
        "source=en,target=de",
        "--hyp",
        tmp_path / "h.txt",
        "--metrics",
        "ter",
    )
    assert "0.00" in result.out


def test_compressed_bom_crlf_and_long_lines_are_accepted(mtloop: Call, tmp_path: Path) -> None:
    long = "Wort " * 200_000
    (tmp_path / "ref.txt.gz").write_bytes(gzip.compress(f"\ufeffeins zwei\r\n{long}\r\n".encode()))
    (tmp_path / "hyp.txt").write_text(f"eins zwei\n{long}\n")
    [row] = json.loads(
        mtloop(
            "score",
            "--ref",
            tmp_path / "ref.txt.gz",
            "--hyp",
            tmp_path / "hyp.txt",
            "--metrics",
            "bleu",
            "--format",
            "json",
        ).out
    )
    assert row["value"] == pytest.approx(100)


def test_empty_hypotheses_score_zero(mtloop: Call, files: Path) -> None:
    (files / "empty.txt").write_text("\n\n")
    result = mtloop(
        "score",
        "--ref",
        files / "ref.txt",
        "--hyp",
        files / "empty.txt",
        "--lang",
        "en",
        "--metrics",
        "bleu,chrf,sbleu,wmt17,r0",
        "--format",
        "json",
    )
    assert [row["value"] for row in json.loads(result.out)] == [0, 0, 0, 0, 0]


def test_several_references(mtloop: Call, files: Path) -> None:
    result = mtloop(
        "score",
        "--ref",
        files / "ref.txt",
        "--ref",
        files / "hyp.txt",
        "--hyp",
        files / "hyp.txt",
        "--metrics",
        "bleu,ter",
        "--format",
        "json",
    )
    bleu, ter = json.loads(result.out)
    assert bleu["value"] == pytest.approx(100)
    assert "nrefs:2" in bleu["signature"]
    assert "nrefs:2" in ter["signature"]


def test_curves_are_written_for_every_prefix(mtloop: Call, files: Path) -> None:
    mtloop(
        "score",
        "--ref",
        files / "ref.txt",
        "--hyp",
        files / "hyp.txt",
        "--lang",
        "en",
        "--metrics",
        "ter,r1",
        "--curves",
        files / "c.csv",
    )
    rows = list(csv.DictReader(io.StringIO((files / "c.csv").read_text())))
    assert [row["segment"] for row in rows] == ["1", "2"]
    assert (rows[0]["hyp:r1"], rows[1]["hyp:ter"]) == ("", "50.0")


def write(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    ("ref", "hyp", "arguments", "message"),
    [
        (b"a\nb\n", b"a\n", [], "hyp.txt: 1 line, but"),
        (b"", b"a\n", [], "ref.txt: the file is empty"),
        (b"a\n\xff\n", b"a\nb\n", [], "ref.txt:2: "),
        (b"a\n", b"a\x00\n", [], "hyp.txt:1: "),
        (b"a\n", b"a\n", ["--metrics", "blue"], "did you mean 'bleu'?"),
        (b"a\n", b"a\n", ["--metrics", ","], "no metric is named"),
        (b"a\n", b"a\n", ["--metrics", "r1"], "--target-lang"),
        (b"a\n", b"a\n", ["--lang", "tlh", "--metrics", "r1"], "no stop list for language 'tlh'"),
        (b"a\n", b"a\n", ["--metrics", "regret"], "--oracle"),
        (b"a\n", b"a\n", ["--metrics", "oov"], "--vocabulary"),
        (b"a\n", b"a\n", ["--spm", "none.model", "--metrics", "r1"], "none.model: no such SentencePiece model"),
        (b"a\n", b"a\n", ["--format", "xml"], "'xml' is not one of"),
        (b"a\n", b"a\n", ["--block-words", "0"], "block-words"),
        (b"a\n", b"a\n", ["--baseline", "none.txt"], "none.txt"),
        (b"a\n", b"a\n", ["--src", "none.txt"], "none.txt"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_exit_code_2(
    mtloop: Call, tmp_path: Path, ref: bytes, hyp: bytes, arguments: list[str], message: str
) -> None:
    files = ["--ref", write(tmp_path, "ref.txt", ref), "--hyp", write(tmp_path, "hyp.txt", hyp)]
    result = mtloop("score", *files, *arguments, "--curves", tmp_path / "curves.csv")
    assert (result.code, result.out) == (2, "")
    line, *usage = result.err.splitlines()
    assert line.startswith("mtloop: ")
    assert message in line
    assert len(usage) <= 1
    assert not (tmp_path / "curves.csv").exists()


def test_a_directory_instead_of_a_file(mtloop: Call, files: Path) -> None:
    result = mtloop("score", "--ref", files, "--hyp", files / "hyp.txt")
    assert result.code == 2
    assert str(files) in result.err
    assert len(result.err.splitlines()) == 1


def test_score_without_input_is_an_error(mtloop: Call, files: Path) -> None:
    assert "nothing to score" in mtloop("score").err
    assert "--ref FILE" in mtloop("score", "--hyp", files / "hyp.txt").err
    assert "column `mt`" in mtloop("score", "--data", write(files, "d.tsv", b"source\ttarget\na\tb\n")).err


def test_a_wrong_command_is_named(mtloop: Call) -> None:
    result = mtloop("socre")
    assert result.code == 2
    assert "socre" in result.err


BLOCK_TORCH = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "transformers", "jinja2", "matplotlib", "fastapi", "ray"}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
from mtloop.cli import main
main(sys.argv[1:])
"""


def test_scoring_needs_no_torch(files: Path) -> None:
    arguments = ["score", "--ref", files / "ref.txt", "--hyp", files / "hyp.txt", "--lang", "en"]
    run = subprocess.run([sys.executable, "-c", BLOCK_TORCH, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "BLEU" in run.stdout


def test_a_report_without_its_extra_names_the_extra(files: Path) -> None:
    arguments = ["report", "--ref", files / "ref.txt", "--hyp", files / "hyp.txt", "--out", files / "r.html"]
    run = subprocess.run([sys.executable, "-c", BLOCK_TORCH, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 2
    assert "pip install 'mtloop[report]'" in run.stderr
    assert not (files / "r.html").exists()


def test_help_loads_nothing_heavy() -> None:
    """Slow imports must not happen before a command runs."""
    code = "import sys; from mtloop.cli import main\ntry: main(['score', '--help'])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('numpy', 'sacrebleu', 'lxml', 'torch', 'jinja2', 'sacremoses', 'tabulate') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_a_closed_pipe_prints_no_traceback(files: Path) -> None:
    command = f"{sys.executable} -m mtloop score --ref {files}/ref.txt --hyp {files}/hyp.txt | true"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=os.environ)
    assert "Traceback" not in run.stderr


def recall(mtloop: Call, files: Path, *options: object) -> tuple[int, int, str]:
    result = mtloop(
        "score", "--ref", files / "ref.txt", "--hyp", files / "hyp.txt", "--metrics", "r0", "--format", "json", *options
    )
    [row] = json.loads(result.out)
    return row["numerator"], row["denominator"], row["signature"]


def test_words_of_the_training_text_can_be_left_out(mtloop: Call, files: Path) -> None:
    (files / "train.txt").write_text("A dog and a lady.\n")
    found, wanted, signature = recall(mtloop, files, "--stopwords", files / "stop.txt", "--seen", files / "train.txt")
    assert (found, wanted) == (2, 2)  # bites, man
    assert "words:novel[" in signature


def test_a_truecaser_can_be_trained_on_a_text(mtloop: Call, files: Path) -> None:
    (files / "ref.txt").write_text("Dogs bite\nit bites\n")
    (files / "hyp.txt").write_text("the dogs bite\nit bites\n")
    (files / "case.txt").write_text("All dogs bite.\nMy dogs bark.\n")
    options = ["--stopwords", files / "stop.txt"]
    kept, truecased = recall(mtloop, files, *options), recall(mtloop, files, *options, "--truecase", files / "case.txt")
    assert (kept[0], truecased[0]) == (3, 4)
    assert ("case:kept" in kept[2], "case:truecased" in truecased[2]) == (True, True)


def test_recall_of_subwords(mtloop: Call, files: Path) -> None:
    (files / "m.model").write_bytes(spm_bytes("source"))
    found, wanted, signature = recall(mtloop, files, "--spm", files / "m.model")
    assert 0 < found <= wanted
    assert "spm-m.model" in signature


def test_system_names_are_unique(mtloop: Call, files: Path) -> None:
    (files / "y").mkdir()
    text = (files / "hyp.txt").read_text()
    (files / "y" / "hyp.txt").write_text(text)
    (files / "hyp.txt.gz").write_bytes(gzip.compress(text.encode()))
    paths = [files / "hyp.txt", files / "y" / "hyp.txt", files / "hyp.txt.gz", files / "y" / ".." / "hyp.txt"]
    hyps = [word for path in paths for word in ("--hyp", path)]
    result = mtloop("score", "--ref", files / "ref.txt", *hyps, "--metrics", "ter", "--format", "json")
    assert len({row["system"] for row in json.loads(result.out)}) == 3


def test_given_ids_and_skipped_rows(mtloop: Call, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("id\tsource\ttarget\n3\ta\tA\n1\tb\tB\n2\tc\t\n4\td\tD\n\n")
    (tmp_path / "h.txt").write_text("A\nB\nC\nD\n")
    result = mtloop(
        "score", "--data", tmp_path / "t.tsv", "--hyp", tmp_path / "h.txt", "--metrics", "ter", "--format", "json"
    )
    assert json.loads(result.out)[0]["numerator"] == 0
    assert "3 pairs, 1 skipped (1 untranslated)" in result.err


def test_the_column_mt_is_compared_with_a_baseline(mtloop: Call, tmp_path: Path) -> None:
    (tmp_path / "pe.tsv").write_text("source\tmt\tpost_edit\nSave\tRetten\tSpeichern\n")
    (tmp_path / "base.txt").write_text("Sichern\n")
    result = mtloop(
        "score",
        "--data",
        tmp_path / "pe.tsv",
        "--baseline",
        tmp_path / "base.txt",
        "--metrics",
        "ter",
        "--format",
        "json",
    )
    assert [row["system"] for row in json.loads(result.out)] == ["base", "mt"]


def test_traces_of_different_streams_are_not_compared(mtloop: Call, files: Path) -> None:
    for name, number in (("a", 0), ("b", 5)):
        stream = [(Segment(str(number + i), "s"), Truth(("r",))) for i in range(3)]
        with TraceWriter(files / f"{name}.jsonl", Header()) as trace:
            for step in run(stream, Recorded({str(number + i): "r" for i in range(3)}), PostEditor()):
                trace.write(step)
    result = mtloop("score", files / "a.jsonl", "--baseline", files / "b.jsonl")
    assert result.code == 2
    assert "saw different streams" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--ref", "ref.txt", "--ref", "stop.txt", "--ref", "three.txt", "--hyp", "hyp.txt"],
            "expected the same number of lines",
        ),
        (["--ref", "ref.txt", "--hyp", "hyp.txt", "--seed", "-1"], "--seed"),
        (["--data", "d.tsv", "--ref", "ref.txt"], "leave out --ref"),
        (["--ref", "ref.txt", "--hyp", "hyp.txt", "--columns", "source=a"], "--columns names"),
        (["--src", "ref.txt", "--hyp", "hyp.txt"], "--src needs --ref"),
        (["ref.txt", "hyp.txt"], "give text files with --ref and --hyp"),
        (["--ref", "ref.txt", "--hyp", "hyp.txt", "--curves", "."], "--curves expects a file"),
        (
            ["--ref", "ref.txt", "--hyp", "hyp.txt", "--src", "ref.txt", "--metrics", "rr", "--curves", "c.csv"],
            "--curves needs an additive metric, such as bleu or r1",
        ),
        (
            ["--ref", "ref.txt", "--hyp", "hyp.txt", "--metrics", "slope-ca-rr"],
            "a slope is fitted to an additive metric; 'rr' is not additive",
        ),
    ],
)
def test_wrong_combinations_of_options_are_refused(
    mtloop: Call, files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    (files / "three.txt").write_text("a\nb\nc\n")
    (files / "d.tsv").write_text("source\ttarget\na\tb\n")
    monkeypatch.chdir(files)
    result = mtloop("score", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert not (files / "c.csv").exists()


def test_spellings_of_a_language_code_are_equivalent(mtloop: Call, files: Path) -> None:
    signatures = {recall(mtloop, files, "--lang", code) for code in ("de", "DE", "de_AT", "de-at")}
    assert len(signatures) == 1


def test_a_symbolic_link_is_not_replaced(mtloop: Call, files: Path) -> None:
    (files / "real.csv").write_text("")
    (files / "link.csv").symlink_to("real.csv")
    mtloop(
        "score",
        "--ref",
        files / "ref.txt",
        "--hyp",
        files / "hyp.txt",
        "--metrics",
        "ter",
        "--curves",
        files / "link.csv",
    )
    assert (files / "link.csv").is_symlink()
    assert (files / "real.csv").read_text().startswith("segment")


def test_the_language_of_a_run_is_that_of_its_trace(mtloop: Call, tmp_path: Path) -> None:
    for name, config in (("run", {"target_lang": "de"}), ("old", {})):
        with TraceWriter(tmp_path / f"{name}.jsonl", Header(config=config)) as trace:
            for step in noisy_steps(5):
                trace.write(step)
    assert "tok:moses-de" in mtloop("score", tmp_path / "run.jsonl", "--metrics", "r0").out
    assert "tok:moses-fr" in mtloop("score", tmp_path / "run.jsonl", "--metrics", "r0", "--lang", "fr").out
    result = mtloop("score", tmp_path / "old.jsonl", "--metrics", "r0")
    assert (result.code, "--target-lang" in result.err) == (2, True)


def test_the_number_of_lines_for_data_with_skipped_units(mtloop: Call, tmp_path: Path) -> None:
    data = write(tmp_path, "t.tsv", b"source\ttarget\na\tb\nc\t\nd\te\nf\t\n")
    hyp = write(tmp_path, "hyp.txt", b"b\n")
    result = mtloop("score", "--data", data, "--hyp", hyp)
    assert result.err == f"mtloop: {hyp}: 1 line, but {data} has 2 pairs (4 rows with the skipped ones)\n"


def test_a_language_without_a_stop_list(mtloop: Call, tmp_path: Path) -> None:
    data = write(tmp_path, "is.tmx", tmx(tu(en="Open the file", **{"is": "Opna skrána"})))
    result = mtloop("score", "--data", data, "--hyp", write(tmp_path, "hyp.txt", "Opna skrá\n".encode()))
    assert result.code == 0
    assert result.err.count("\n") == 1
    assert result.err.startswith("mtloop: r0, r1, r01 are left out: there is no stop list for language 'is'")


def test_collateral_of_a_system_and_of_its_baseline(mtloop: Call, tmp_path: Path) -> None:
    texts = {"ref": REFERENCES, "src": SOURCES, "base": BASE_OUTPUTS, "mine": OUTPUTS}
    for name, lines in texts.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ref, src, base, mine = (tmp_path / f"{name}.txt" for name in texts)
    options = ["--ref", ref, "--hyp", mine, "--metrics", "near-better,near-worse,flips", "--format", "json"]
    result = mtloop("score", *options, "--src", src, "--baseline", base)
    found = [(row["system"], row["name"], row["numerator"], row["denominator"]) for row in json.loads(result.out)]
    assert found == [
        *(("base", "near-better", 0, 4), ("base", "near-worse", 0, 4), ("base", "flips", 0, 4)),
        *(("mine", "near-better", 1, 4), ("mine", "near-worse", 1, 4), ("mine", "flips", 2, 4)),
    ]
    result = mtloop("score", *options, "--src", src)
    message = "metric near-better needs --baseline FILE, the output of a system that does not learn"
    assert (result.code, result.err) == (2, f"mtloop: {message}\n")
    result = mtloop("score", *options, "--baseline", base)
    assert (result.code, result.err) == (
        2,
        "mtloop: metric near-better needs the source text; give it with --src FILE\n",
    )
