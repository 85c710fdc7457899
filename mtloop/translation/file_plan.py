"""Which files are filled in, and where the results go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import FILES, TEMPLATE_FORMATS, takes_template
from mtloop.data.languages import OtherLanguage
from mtloop.text.files import format_suffix
from mtloop.text.messages import one_line

UNKNOWN_TYPE, NOT_OF_TEMPLATE = "unknown file type", "shares no key with the template"
STATE_SUFFIX = ".mtloop"
"""The state of a command that is not finished is in the folder OUT.mtloop."""


@dataclass(frozen=True)
class FilePlan:
    """A file, its output (None: nothing is written), and the file with the source texts, if its format needs one.

    `is_named`: the user named the file. Otherwise it was found in a folder. `shares_template`: it was found there, and
    the template is one file for the whole folder.
    """

    path: Path
    out: Path | None = None
    template: Path | None = None
    is_named: bool = True
    shares_template: bool = False

    @property
    def in_place(self) -> bool:
        return self.out is not None and self.out.resolve() == self.path.resolve()


@dataclass(frozen=True)
class SkippedFile:
    """A file that is not filled in, and the reason. `language`: its language, if that is the reason."""

    path: Path
    reason: str
    language: str = ""

    def __str__(self) -> str:
        return self.reason if self.reason.startswith(str(self.path)) else f"{self.path}: {self.reason}"

    @classmethod
    def because(cls, path: Path, error: InputError) -> SkippedFile:
        return cls(path, one_line(error), error.language if isinstance(error, OtherLanguage) else "")


def plan_files(
    inputs: Sequence[Path], out: Path | None, template: Path | None = None
) -> tuple[list[FilePlan], list[SkippedFile]]:
    """Return the files to fill in, with their outputs, and the files in folders that are of no known type.

    One file goes to the file `out`, or into the folder `out`. Several files and folders go into the folder `out`, and a
    folder keeps its tree. An input is overwritten only if `out` names it, or names the one folder that it is in.
    """
    if not inputs:
        raise InputError("no file given; expected mtloop translate FILE --out FILE")
    entries = [entry for path in inputs for entry in _entries(path, alone=len(inputs) == 1, template=template)]
    earlier = _output_below_inputs(inputs, out)
    found = [entry for entry in entries if entry.is_named or earlier not in entry.path.resolve().parents]
    known = [entry for entry in found if entry.is_named or is_known(entry.path)]
    skipped = [SkippedFile(one.path, UNKNOWN_TYPE) for one in found if not (one.is_named or is_known(one.path))]
    if not known:
        raise InputError(f"no file of a known type: {', '.join(FILES)}", path=inputs[0])
    if template is not None and all(is_known(one.path) and not takes_template(one.path) for one in known):
        message = "has its own source texts; leave out --template, which is for"
        raise InputError(f"{message} {', '.join(TEMPLATE_FORMATS)}", path=known[0].path)
    folder = _is_output_folder(inputs, out)
    shares = template is not None and not template.is_dir()
    plans = [
        FilePlan(
            one.path, _output(one, out, folder), _template(one, template), one.is_named, shares and not one.is_named
        )
        for one in known
    ]
    _check(plans, inputs, out)
    return plans, skipped


def is_known(path: Path) -> bool:
    """Whether a file of this name can be filled in."""
    return format_suffix(path) in FILES and path.suffix.lower() in FILES


@dataclass(frozen=True)
class _Entry:
    """A file to fill in, and its path below the output folder."""

    path: Path
    relative: Path
    is_named: bool = True


def _entries(path: Path, *, alone: bool, template: Path | None) -> Iterator[_Entry]:
    if path.is_dir():
        root = path if alone else path.parent
        yield from (_Entry(file, file.relative_to(root), is_named=False) for file in _files_in(path))
    elif path.exists() or template is not None:  # a file with a template may not exist yet
        yield _Entry(path, Path(path.name))
    else:
        raise InputError("no such file", path=path)


def _files_in(folder: Path) -> list[Path]:
    """Return all files below a folder, without hidden ones and without the state of a command."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(_is_ignored(part) for part in path.relative_to(folder).parts)
    ]


def _output_below_inputs(inputs: Sequence[Path], out: Path | None) -> Path | None:
    """Return the output folder if it is no input itself: what an earlier command wrote there is not filled in."""
    return None if out is None or out.resolve() in _resolved(inputs) else out.resolve()


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name.endswith(STATE_SUFFIX)


def _is_output_folder(inputs: Sequence[Path], out: Path | None) -> bool:
    several = len(inputs) > 1 or inputs[0].is_dir()
    if out is None:
        return several
    if several and out.is_file():
        raise InputError("is a file; several files need a folder: --out FOLDER", path=out)
    if several and is_known(out) and not out.is_dir():
        raise InputError("has the name of a file; several files need a folder: --out FOLDER", path=out)
    return several or out.is_dir()


def _output(entry: _Entry, out: Path | None, folder: bool) -> Path | None:
    if out is None:
        return None
    return out / entry.relative if folder else out


def _template(entry: _Entry, template: Path | None) -> Path | None:
    """Return the template of a file: the given file, or the file at the same place in the given folder."""
    if not takes_template(entry.path):
        return None
    if template is None or not template.is_dir():
        return template
    path = template / entry.relative
    return path if path.is_file() else None


def _check(plans: Sequence[FilePlan], inputs: Sequence[Path], out: Path | None) -> None:
    if out is None:
        return
    for path, count in Counter(plan.out for plan in plans).items():
        if count > 1:
            message = "several inputs would be written to this file; give the folder that they are in"
            raise InputError(message, path=path)
    overwritable = inputs[0].resolve() == out.resolve()  # the user named the input as the output
    others = _resolved([plan.path for plan in plans])
    for plan in plans:
        assert plan.out is not None
        _check_output(plan, plan.out)
        if plan.out.resolve() in others and not overwritable:
            raise InputError("is an input; to fill in a file in place, name it: --out FILE", path=plan.out)


def _check_output(plan: FilePlan, out: Path) -> None:
    if FILES.get(out.suffix.lower()) != FILES.get(plan.path.suffix.lower()):
        expected = out.with_suffix(plan.path.suffix).name
        raise InputError(f"the output has the format of the input; name it {expected}", path=out)
    if plan.template is not None and plan.template.resolve() == out.resolve():
        raise InputError("is the template; name another file", path=out)
    if out.exists() and not out.stat().st_mode & 0o222:
        raise InputError("is read-only; make it writable, or name another file", path=out)


def _resolved(paths: Iterable[Path]) -> set[Path]:
    return {path.resolve() for path in paths}
