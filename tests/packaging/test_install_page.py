"""The page on installation names every extra."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_table_of_extras_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs/how-to/install.md").read_text(encoding="utf-8")
    table = re.search(r"\| extra \|.*?\n\n", page, re.DOTALL)
    assert table is not None
    cells = [line.split("|")[1] for line in table[0].splitlines()[2:] if line]
    assert sorted(re.findall(r"`(.+?)`", " ".join(cells))) == sorted(project["optional-dependencies"])
