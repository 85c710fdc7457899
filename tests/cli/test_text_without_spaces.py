"""Languages without spaces in `mtloop score` and `mtloop report`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.command_result import CommandResult
from helpers.many_scripts import REFERENCES, TRANSLATIONS

Call = Callable[..., CommandResult]


@pytest.fixture
def texts(tmp_path: Path) -> Callable[[str], list[object]]:
    def write(language: str) -> list[object]:
        for name, lines in (("ref.txt", REFERENCES[language]), ("hyp.txt", TRANSLATIONS[language])):
            (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return ["--ref", tmp_path / "ref.txt", "--hyp", tmp_path / "hyp.txt"]

    return write


@pytest.mark.parametrize("tag", ["ja", "ja-JP"])
def test_japanese(mtloop: Call, texts: Callable[[str], list[object]], tag: str) -> None:
    result = mtloop("score", *texts("ja"), "--target-lang", tag, "--format", "json")
    values = {row["name"]: row["value"] for row in json.loads(result.out)}
    assert values["bleu"] == pytest.approx(69.0793816369)
    assert set(values) == {"bleu", "chrf", "ter", "sbleu"}
    assert result.err == ""


@pytest.mark.parametrize("command", ["score", "report"])
def test_a_warning_without_a_fitting_tokeniser(
    mtloop: Call, texts: Callable[[str], list[object]], tmp_path: Path, command: str
) -> None:
    out = ["--out", tmp_path / "r.html", "--pictures", "none"] if command == "report" else []
    result = mtloop(command, *texts("th"), "--metrics", "bleu", *out)
    warnings = [line for line in result.err.splitlines() if "these scores mean little: bleu" in line]
    assert len(warnings) == 1
    assert warnings[0].startswith("mtloop: the references have text without spaces between words")
    assert result.code == 0


def test_a_report_without_the_language_leaves_out_the_slopes_and_says_so(
    mtloop: Call, texts: Callable[[str], list[object]], tmp_path: Path
) -> None:
    options = ["--metrics", "chrf", "--pictures", "none", "--out", tmp_path / "r.html"]
    result = mtloop("report", *texts("zh"), *options)
    assert result.err.startswith("mtloop: the slopes are left out: the references have no spaces between words")
    assert (result.code, "slope-ca" in (tmp_path / "r.html").read_text(encoding="utf-8")) == (0, False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lang", "ja", "--metrics", "r1"], "--spm FILE"),
        (["--lang", "zh", "--metrics", "rer"], "--spm FILE"),
        (["--lang", "th", "--metrics", "wpa"], "leave out wpa"),
        (["--metrics", "slope-ca"], "such as --target-lang ja"),
        (["--tokenize", "mecab"], "there is no tokeniser 'mecab'"),
        (["--tokenize", "flores200"], "run once: sacrebleu"),
    ],
)
def test_a_mistake_is_one_line(
    mtloop: Call,
    texts: Callable[[str], list[object]],
    options: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", "/nowhere")
    result = mtloop("score", *texts("ja"), *options)
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert message in result.err


BLOCKED = """
import sys
sys.modules["MeCab"] = None
from mtloop.cli import main
main(sys.argv[1:])
"""


def test_a_missing_package_is_named_before_work_begins() -> None:
    arguments = ["score", "--ref", "none.txt", "--hyp", "none.txt", "--lang", "ja"]
    done = subprocess.run([sys.executable, "-c", BLOCKED, *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mtloop: MeCab is not installed; run: pip install 'mtloop[ja]'\n"
