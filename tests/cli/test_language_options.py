"""--source-lang and --target-lang, and what is said about skipped units, in the commands that read files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from helpers.command_result import CommandResult
from helpers.file_samples import tmx, tu

from mtloop.cli import COMMANDS, cli

Call = Callable[..., CommandResult]
BODY = tu(en_US="Save.", de="Sichern.", it="Salva.") + tu(en="Undo.", de_AT="Zurück.") + tu(en="Close.", it="Chiudi.")


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "manual.tmx"
    path.write_bytes(tmx(BODY))
    return path


def all_commands() -> list[click.Command]:
    context = click.Context(cli)
    commands = [command for name in COMMANDS if (command := cli.get_command(context, name))]
    return [one for command in commands for one in getattr(command, "commands", {"": command}).values()]


def test_the_languages_have_one_spelling() -> None:
    for command in all_commands():
        options = {option for parameter in command.params for option in parameter.opts}
        assert not options & {"--source-language", "--target-language", "--language"}
        assert ("--lang" in options) == ("--target-lang" in options) == ("--source-lang" in options)


def test_a_language_must_be_chosen(mtloop: Call, memory: Path, model: Path, tmp_path: Path) -> None:
    choose = ["model", "choose", "--data", memory, "--model", model, "--budget", 5000, "--out", tmp_path / "a.json"]
    result = mtloop(*choose)
    assert (result.code, result.out) == (2, "")
    message = "expected one language besides en; the file has: en-US, de, it, en, de-AT; choose one with --target-lang"
    assert result.err == f"mtloop: {memory}: {message}\n"
    result = mtloop(*choose, "--lang", "de")
    assert result.code == 0
    assert f"mtloop: {memory}: 2 pairs, 1 skipped (1 in other languages)\n" in result.err


def test_texts_in_another_language_than_the_model_s_are_refused(mtloop: Call, memory: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    result = mtloop("model", "choose", "--data", memory, "--target-lang", "it", "--out", out)
    assert result.code == 2
    assert result.err.startswith(f"mtloop: {memory}: the texts are en -> it, but the model translates en -> de; give")
    assert result.err.endswith("; give another --model, or other texts (with --target-lang)\n")
    assert not out.exists()


def test_model_info_shows_the_languages(mtloop: Call) -> None:
    assert mtloop("model", "info", "en-de").out.startswith("languages    en -> de\n")


def test_a_task_has_the_languages_of_its_data(mtloop: Call, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    data = tmp_path / "manual.tmx"
    data.write_bytes(tmx(tu(en_GB="Save.", it="Salva.") + tu(en_US="Undo.", it_IT="Annulla.") + tu(en="Close.", it="")))
    result = mtloop("task", "create", "tiny", "--kind", "mock", "--data", data, "--folder", tmp_path / "d")
    assert result.code == 0
    assert f"mtloop: {data}: 2 pairs, 1 skipped (1 untranslated)\n" in result.err
    assert result.out == "tiny: mock, 2 sentences per pass, reward wmt17\n"
    refused = mtloop("task", "create", "other", "--data", data, "--lang", "de", "--folder", tmp_path / "d")
    assert refused.code == 2
    assert "the file has no de; it has: en-GB, it, en-US, it-IT, en; choose one with --target-lang" in refused.err
