"""`python -m mtloop.nmt.training JOB.toml`: `mtloop train` on a machine that has only torch, transformers and
sentencepiece. The sentence pairs are read from plain tab-separated files. All keys are optional except `data`, `out`
and the training budget (`minutes` or `steps`):

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
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError, MtloopError, UnknownName
from mtloop.nmt.training.job import Job
from mtloop.nmt.training.recipe import Recipe
from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

KEYS = ("data", "valid", "tests", "out", "work_dir", "vocabularies", "shard_mb", "about", "resume", "device", "recipe")


def main(arguments: list[str]) -> None:
    """Read the job file and run the job."""
    if len(arguments) != 1:
        raise InputError("expected one argument, the TOML file that describes the job")
    read_job(Path(arguments[0])).run()


def read_job(path: Path) -> Job:
    """Return the job that a TOML file describes."""
    try:
        keys = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read a job from this file: {error}", path=path) from error
    for key in keys:
        if key not in KEYS:
            raise UnknownName("key", key, KEYS, owner="a job", path=path)
    for key in ("data", "out"):
        if key not in keys:
            raise InputError(f"the job has no key {key!r}", path=path)
    return _make_job(keys)


def _make_job(keys: dict[str, Any]) -> Job:
    about, work_dir, spm = keys.get("about"), keys.get("work_dir"), keys.get("vocabularies")
    return Job(
        pairs=_read_pairs(keys["data"]),
        out=Path(keys["out"]),
        recipe=Recipe.of(keys.get("recipe", {})),
        valid=list(_read_pairs([keys["valid"]])) if "valid" in keys else (),
        tests={name: list(_read_pairs([path])) for name, path in keys.get("tests", {}).items()},
        vocabularies=(SentencePieceModel.load(Path(spm[0])), SentencePieceModel.load(Path(spm[1]))) if spm else None,
        work_dir=Path(work_dir) if work_dir else None,
        resume=keys.get("resume", False),
        workers=os.cpu_count() or 1,
        shard_mb=keys.get("shard_mb"),
        about=Path(about).read_text(encoding="utf-8") if about else "",
        device=keys.get("device"),
        log=lambda text: print(text, flush=True),
    )


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
