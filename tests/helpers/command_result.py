"""The result of a command: exit code, standard output and standard error."""

from dataclasses import dataclass


@dataclass
class CommandResult:
    code: int
    out: str
    err: str
