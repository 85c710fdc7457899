"""What a command said."""

from dataclasses import dataclass


@dataclass
class Said:
    code: int
    out: str
    err: str
