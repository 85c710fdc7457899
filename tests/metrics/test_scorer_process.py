from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
import sacrebleu
from helpers.samples import noisy_steps
from helpers.steps import make_steps

from mtloop.core import InputError, Step
from mtloop.metrics.scorer_process import Scorer

PAGE = Path(__file__).parents[2] / "docs/how-to/learned-metrics.md"


def scorer(tmp_path: Path, code: str, timeout: float = 60) -> Scorer:
    """A scorer whose program is in a folder with a space in its name."""
    folder = tmp_path / "my scorers"
    folder.mkdir()
    (folder / "scorer.py").write_text(code, encoding="utf-8")
    return Scorer("mine", shlex.join([sys.executable, str(folder / "scorer.py")]), timeout)


def program_of_the_docs() -> str:
    found = re.search(r"```python\n(# chrf_scorer\.py\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_the_scorer_of_the_docs_gives_the_chrf_of_sacrebleu(tmp_path: Path) -> None:
    steps = [*noisy_steps(200), *make_steps(["Öffnen „Sie“ 保存"], ["Öffnen Sie 保存 😀"])]
    chrf = sacrebleu.CHRF()
    expected = [chrf.sentence_score(step.proposal.text, list(step.references)).score for step in steps]
    assert scorer(tmp_path, program_of_the_docs())(steps) == pytest.approx(expected, abs=1e-9)


ECHO = "import json, sys\nfor line in sys.stdin:\n    print(json.dumps({'score': len(json.loads(line)[%r] or '')}))\n"


@pytest.mark.parametrize(("key", "expected"), [("src", [6, 0]), ("mt", [1, 2]), ("ref", [3, 4])])
def test_a_scorer_gets_source_translation_and_reference(tmp_path: Path, key: str, expected: list[int]) -> None:
    steps = make_steps(["ü", "ab"], ["abc", "a\nbc"], ["„save“", ""])
    assert scorer(tmp_path, ECHO % key)(steps) == expected


def test_a_segment_without_a_reference_has_null(tmp_path: Path) -> None:
    code = "import json, sys\nfor line in sys.stdin:\n    print(float(json.loads(line)['ref'] is None))\n"
    (step,) = make_steps(["a"], ["b"])
    assert scorer(tmp_path, code)([Step(0, step.proposal)]) == [1.0]


def test_a_scorer_may_read_everything_before_it_answers(tmp_path: Path) -> None:
    code = "import sys\nlines = sys.stdin.readlines()\nfor number, _ in enumerate(lines):\n    print(number)\n"
    assert scorer(tmp_path, code)(noisy_steps(5000)) == list(range(5000))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys\nfor line in sys.stdin: print('good')", "answered 'good' to segment '1'; expected a number or"),
        ("import sys\nfor line in sys.stdin: print('NaN')", "answered 'NaN' to segment '1'"),
        ("import sys\nfor line in sys.stdin: print('{\"value\": 1}')", "to segment '1'"),
        ("import sys\nfor line in sys.stdin: print()", "answered .* to segment '1'"),
        ("print(0.5)\nprint(0.25)", r"ended after 2 answers, before segment '3' \(exit code 0\)"),
        ("print(0.5, flush=True)\nraise ValueError('no GPU')", r"before segment '2' \(ValueError: no GPU\)"),
        ("import sys\nsys.exit('no model')", r"ended after 0 answers, before segment '1' \(no model\)"),
        ("import sys\nfor line in sys.stdin: print(1)\nprint(2)", "wrote a line too many: '2'"),
    ],
)
def test_a_scorer_that_fails_is_one_line_with_command_and_segment(tmp_path: Path, code: str, message: str) -> None:
    broken = scorer(tmp_path, code)
    with pytest.raises(InputError, match=message) as error:
        broken(noisy_steps(4))
    assert f"scorer mine ({broken.command}) " in str(error.value)
    assert "\n" not in str(error.value)


def test_the_system_of_a_segment_is_named_if_there_are_several(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ended after 1 answer, before segment '2' of system 'b' \("):
        scorer(tmp_path, "print(0.5)")(noisy_steps(2), ["a", "b"])


def test_a_scorer_that_hangs_is_stopped(tmp_path: Path) -> None:
    code = "import time\nprint(1, flush=True)\ntime.sleep(600)\n"
    with pytest.raises(InputError, match=r"no answer for segment '2' in 1 seconds; allow more .* --scorer-timeout"):
        scorer(tmp_path, code, timeout=1)(noisy_steps(4))


def test_a_program_that_does_not_exist() -> None:
    with pytest.raises(InputError, match=r"scorer mine \(no-such-program\) cannot be started: No such file"):
        Scorer("mine", "no-such-program")(noisy_steps(1))


@pytest.mark.parametrize("text", ["mine", "mine=", "mine= ", "=cat", "my name=cat", "mine='cat"])
def test_a_wrong_option(text: str) -> None:
    with pytest.raises(InputError, match=r"NAME=COMMAND|is not a name|open quote"):
        Scorer.parse(text)


def test_the_command_is_not_run_by_a_shell(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ended after 0 answers"):
        Scorer("mine", f"{sys.executable} -c pass; touch {tmp_path / 'made'}")(noisy_steps(1))
    assert not (tmp_path / "made").exists()
