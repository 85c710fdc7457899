"""`python -m mtloop.nmt.training JOB.toml`: `mtloop train` on a machine that has only torch, transformers,
sentencepiece and pydantic. The sentence pairs are read from plain tab-separated files. All keys are optional except
`data`, `out` and the training budget (`minutes` or `steps`):

    data = ["train.tsv"]
    valid = "dev.tsv"
    out = "model"
    vocabularies = ["source.spm", "target.spm"]
    shard_mb = 15
    [tests]
    manuals = "manuals.tsv"
    [recipe]
    minutes = 20
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError, MtloopError
from mtloop.nmt.training.job import TrainingJob
from mtloop.nmt.training.recipe import Recipe
from mtloop.nmt.training.sentencepiece_model import SentencePieceModel
from mtloop.text.settings_files import read_settings


@dataclass(frozen=True)
class JobFile:
    """The keys of a job file."""

    data: tuple[str, ...]
    out: Path
    valid: str | None = None
    tests: Mapping[str, str] = field(default_factory=dict)
    work_dir: Path | None = None
    vocabularies: tuple[Path, Path] | None = None
    shard_mb: float | None = None
    about: Path | None = None
    resume: bool = False
    device: str | None = None
    recipe: Mapping[str, Any] = field(default_factory=dict)


def main(arguments: list[str]) -> None:
    """Read the job file and run the job."""
    if len(arguments) != 1:
        raise InputError("expected one argument, the TOML file that describes the job")
    read_job(Path(arguments[0])).run()


def read_job(path: Path) -> TrainingJob:
    """Return the job that a TOML file describes."""
    keys = read_settings(path, JobFile)
    return TrainingJob(
        pairs=_read_pairs(keys.data),
        out=keys.out,
        recipe=Recipe.of(keys.recipe, path),
        valid=list(_read_pairs([keys.valid])) if keys.valid else (),
        tests={name: list(_read_pairs([file])) for name, file in keys.tests.items()},
        vocabularies=_load_vocabularies(*keys.vocabularies) if keys.vocabularies else None,
        work_dir=keys.work_dir,
        resume=keys.resume,
        workers=os.cpu_count() or 1,
        shard_mb=keys.shard_mb,
        about=keys.about.read_text(encoding="utf-8") if keys.about else "",
        device=keys.device,
        log=lambda text: print(text, flush=True),
    )


def _load_vocabularies(source: Path, target: Path) -> tuple[SentencePieceModel, SentencePieceModel]:
    return SentencePieceModel.load(source), SentencePieceModel.load(target)


def _read_pairs(paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        try:
            with Path(path).open(encoding="utf-8", newline="\n") as lines:
                for number, line in enumerate(lines, start=1):
                    yield _parse_pair(line, path, number)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read: {error}", path=path) from error


def _parse_pair(line: str, path: str, number: int) -> tuple[str, str]:
    columns = line.rstrip("\n").split("\t")
    if len(columns) != 2:
        raise InputError(f"{len(columns)} columns; expected source and target", path=path, line=number)
    return columns[0], columns[1]


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except MtloopError as error:
        sys.exit(f"mtloop: {error}")
