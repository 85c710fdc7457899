"""Headings for metrics."""

from __future__ import annotations

import re


def title(name: str) -> str:
    """Return the heading for a metric's name.

    >>> [title(name) for name in ("bleu", "r01", "r1", "r0+12", "slope-ca-bleu", "chrf")]
    ['BLEU', 'R0+1', 'R1', 'R0+12', 'S (CA, BLEU)', 'chrF']
    """
    if name.startswith("slope-"):
        return f"S ({name.removeprefix('slope-').upper().replace('-', ', ')})"
    if re.fullmatch(r"r0\d*", name):
        return "R" + "+".join(name[1:])
    return {"chrf": "chrF", "wmt17": "WMT17"}.get(name, name.upper())
