"""The state of a command that fills in files, beside its output: the same command goes on after a kill.

The folder `OUT.mtloop` holds:

- `header.json`: the inputs, the model, the method and all options; another command is refused
- `lessons.jsonl`: the translated units that are learned first
- `delta`: the delta to start from, if the command overwrites it
- `learned.state/`: snapshots of the learner
- `file-0001.jsonl` and so on: the filled units of each file, then the digest of its output

A filled unit has a name, by which it is found again if another program has changed the file meanwhile.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any, NamedTuple

from mtloop.core.atomic import atomic, write_text
from mtloop.core.errors import InputError, SerialisationError
from mtloop.core.json_files import json_errors, parse_json
from mtloop.core.locks import FileLock, try_lock
from mtloop.core.protocols import Learner
from mtloop.core.record import Snapshots
from mtloop.core.serialisation import decode, dumps, loads
from mtloop.core.types import JSON, Segment
from mtloop.translation.file_plan import STATE_SUFFIX, FilePlan
from mtloop.translation.lesson_choice import TranslatedUnit
from mtloop.translation.quality_checks import FailedCheck

FORMAT = 2  # of the state; one of another format cannot be gone on with
VERSIONS = "versions of inputs"  # field of a header; the same command goes on with other ones
RETRY = "nothing is lost: correct this and run the same command again"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the system while writing into one line that says what to do."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}; {RETRY}", path=path) from error


@dataclass(frozen=True)
class FilledUnit:
    """The translation of one unit of a file. `repaired`: protected texts that the model lost and that were put back.

    `name`: of the unit, in each version of the file.
    """

    index: int
    text: str
    repaired: tuple[str, ...] = ()
    failed: tuple[FailedCheck, ...] = ()
    name: str = ""

    def to_json(self) -> dict[str, JSON]:
        failed: JSON = [[one.name, one.message] for one in self.failed]
        fields: dict[str, JSON] = {"index": self.index, "name": self.name, "text": self.text}
        return fields | {"repaired": list(self.repaired), "failed": failed}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FilledUnit:
        failed = tuple(FailedCheck(*one) for one in fields["failed"])
        return cls(fields["index"], fields["text"], tuple(fields["repaired"]), failed, fields.get("name", ""))


class FileVersions(NamedTuple):
    """The digests of an input, its template and its output; "" for a file that does not exist."""

    path: str = ""
    template: str = ""
    out: str = ""

    @classmethod
    def of(cls, plan: FilePlan) -> FileVersions:
        """Return the versions that are on the disk now."""
        template, out = digest_of(plan.template), digest_of(plan.out)
        return cls(out if plan.in_place else digest_of(plan.path), template, out)

    @property
    def inputs(self) -> list[JSON]:
        """The versions of what the output is made of."""
        return [self.path, self.template]


@dataclass
class FileProgress:
    """The state of one file: its filled units by name, and the digest of the output once all are filled.

    `inputs` are the versions of the input and its template that the output was made of. `is_written`: the output was
    written completely, and what it holds now is a matter of the user.
    """

    path: Path
    units: dict[str, FilledUnit] = field(default_factory=dict)
    digest: str = ""
    inputs: Sequence[JSON] = ()
    is_written: bool = False
    report: Mapping[str, JSON] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> FileProgress:
        """Read the state of a file. An incomplete last line is removed: the process was killed while writing it."""
        progress = cls(path)
        if not path.exists():
            return progress
        content = path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        if complete != content:
            with path.open("r+b") as file:
                file.truncate(len(complete))
        for line in complete.splitlines():
            progress._apply(loads(line))
        return progress

    def add(self, units: Iterable[FilledUnit]) -> None:
        """Add filled units and write them to the disk."""
        self._append({"units": [unit.to_json() for unit in units]})

    def finish(self, digest: str, inputs: list[JSON], report: dict[str, JSON]) -> None:
        """Note the output that is about to be written, what it was made of, and the report about it."""
        self._append({"digest": digest, "inputs": inputs, "report": report})

    def mark_written(self) -> None:
        """Note that the output was written completely."""
        self._append({"written": True})

    def is_done(self, plan: FilePlan) -> bool:
        """Whether the output was written completely, from the inputs as they are now.

        The input of a file that is filled in place is gone once it was written; what differs then is the user's.
        """
        if self.is_written and plan.in_place:
            return True
        if not self.digest or plan.in_place:
            return bool(self.digest) and digest_of(plan.out) == self.digest
        now = FileVersions.of(plan)
        return now.inputs == self.inputs and (now.out == self.digest or (self.is_written and bool(now.out)))

    def _append(self, fields: dict[str, JSON]) -> None:
        with writing(self.path), self.path.open("ab") as file:
            file.write(dumps(fields) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._apply(fields)

    def _apply(self, fields: Mapping[str, Any]) -> None:
        self.is_written = bool(fields.get("written"))
        if self.is_written:
            return
        for unit in fields.get("units", ()):
            self.units[unit["name"]] = FilledUnit.from_json(unit)
        self.digest, self.inputs = fields.get("digest", ""), fields.get("inputs", ())
        self.report = fields.get("report", {})


class FillState:
    """The folder with the state. Use it in a `with` block: it is locked, and only one command writes it."""

    def __init__(self, out: Path) -> None:
        out = out.resolve()
        self.folder = out.with_name(out.name + STATE_SUFFIX)
        self._lock: FileLock | None = None

    def __enter__(self) -> FillState:
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = try_lock(self.folder / "lock")
        if self._lock is None:
            raise InputError("another process is filling in these files; wait for it, or stop it", path=self.folder)
        return self

    def __exit__(self, *error: object) -> None:
        assert self._lock is not None
        self._lock.release()
        if not self.header_path.exists():  # nothing was begun
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def header_path(self) -> Path:
        return self.folder / "header.json"

    def first_delta(self, path: Path) -> Path:
        """Return a copy of the delta as it was when the command was begun. The command itself may overwrite it."""
        copy, half = self.folder / "delta", self.folder / "delta.tmp"
        with writing(self.folder):
            for stale in (half,) if self.header_path.exists() else (half, copy):
                _remove(stale)
            if not copy.exists():
                (shutil.copytree if path.is_dir() else shutil.copyfile)(path, half)
                half.rename(copy)
        return copy

    @property
    def snapshots(self) -> Snapshots:
        return Snapshots(self.folder / "learned")

    def save_learner(self, learner: Learner, lessons: int, rejected: Mapping[str, int]) -> None:
        """Save the learner after this number of lessons, and the number of those that it did not use, by reason."""
        with writing(self.folder):
            self.snapshots.save(learner, lessons)
            write_text(self._rejected_path, json.dumps({"lessons": lessons, "rejected": rejected}))

    def rejected(self, lessons: int) -> dict[str, int]:
        """Return the number of lessons that were not used, by reason, if they were saved after this many lessons."""
        with json_errors(self._rejected_path, "a record of lessons"):
            saved = parse_json(self._rejected_path.read_bytes()) if self._rejected_path.exists() else {}
            return dict(saved["rejected"]) if saved.get("lessons") == lessons else {}

    @property
    def candidates(self) -> int:
        """The number of translated units that the lessons were chosen from."""
        return int(str(self.header()["candidates"]))

    @property
    def copies(self) -> int:
        """The number of translated units that are copies of their sources."""
        return int(str(self.header().get("copies", 0)))

    @property
    def replaced(self) -> list[str]:
        """The outputs that existed when the command was begun, without those that are filled in place."""
        found = self.header().get("replaced")
        return [str(path) for path in found] if isinstance(found, list) else []

    @property
    def _rejected_path(self) -> Path:
        return self.folder / "rejected.json"

    def header(self) -> dict[str, JSON]:
        """Return the header of the command that was begun; empty if there is none.

        Raise InputError if it is damaged, or was written by a version of mtloop with another state.
        """
        if not self.header_path.exists():
            return {}
        try:
            header = loads(self.header_path.read_bytes())
        except SerialisationError as error:
            raise InputError(f"damaged ({error}); delete the folder to start again", path=self.folder) from error
        if header.get("format") != FORMAT:
            advice = "finish it with that version, or delete the folder to start again"
            raise InputError(f"another version of mtloop began a command for this output; {advice}", path=self.folder)
        return header

    def begin(self, header: Mapping[str, JSON], lessons: Sequence[TranslatedUnit]) -> None:
        """Write the lessons and the header. Raise InputError if another command was begun."""
        if begun := self.header():
            self._check(begun, header)
            return
        with writing(self.folder):
            with atomic(self._lessons_path) as file:
                file.writelines(dumps({"segment": one.segment, "target": one.target}) + b"\n" for one in lessons)
            write_text(self.header_path, json.dumps(header, ensure_ascii=False))

    def lessons(self) -> list[TranslatedUnit]:
        """Return the lessons of the command that was begun."""
        with json_errors(self._lessons_path, "a file of lessons"):
            rows = map(loads, self._lessons_path.read_bytes().splitlines())
            return [TranslatedUnit(decode(Segment, row["segment"]), str(row["target"])) for row in rows]

    def progress_path(self, number: int) -> Path:
        """Return the file with the state of an input, counted from 1."""
        return self.folder / f"file-{number:04d}.jsonl"

    def remove(self) -> None:
        """Delete the state: the command is finished."""
        self.header_path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _lessons_path(self) -> Path:
        return self.folder / "lessons.jsonl"

    def changed(self, header: Mapping[str, JSON]) -> list[int]:
        """Return the numbers of the inputs, from 0, whose contents are others than when the command was begun."""
        begun, now = self.header().get(VERSIONS), header[VERSIONS]
        pairs = zip(begun, now, strict=True) if isinstance(begun, list) and isinstance(now, list) else ()
        return [number for number, (one, other) in enumerate(pairs) if one != other]

    def _check(self, begun: Mapping[str, JSON], header: Mapping[str, JSON]) -> None:
        wanted = json.loads(json.dumps(header))
        differing = [name for name in _differences(begun, wanted) if name != VERSIONS]
        if differing:
            message = f"another command was begun for this output (differing: {', '.join(differing)})"
            raise InputError(f"{message}; finish it with that command, or delete the folder", path=self.folder)


def _differences(begun: Mapping[str, JSON], wanted: Mapping[str, JSON]) -> Iterator[str]:
    """Yield the names of the fields that differ; of options, the options themselves."""
    for name in {**begun, **wanted}:
        one, other = begun.get(name), wanted.get(name)
        if name == "options" and isinstance(one, dict) and isinstance(other, dict):
            yield from (f"--{option.replace('_', '-')}" for option in _differences(one, other))
        elif one != other:
            yield name


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def digest_of(path: Path | None) -> str:
    """Return the digest of a file; "" if there is none, or none that can be read."""
    if path is None or not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            return file_digest(file, _new_digest).hexdigest()
    except OSError:
        return ""


def digest_of_bytes(content: bytes) -> str:
    digest = _new_digest()
    digest.update(content)
    return digest.hexdigest()


def _new_digest() -> blake2b:
    return blake2b(digest_size=16)
