"""The Python example of docs/how-to/translate-with-a-server.md, unchanged. Its commands run in tests/test_docs.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.served_projects import serving_projects

from mtloop.client import Project

PAGE = (Path(__file__).parents[2] / "docs/how-to/translate-with-a-server.md").read_text(encoding="utf-8")
ADDRESS = "http://localhost:8021/manual"


@pytest.mark.slow
def test_the_python_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert ADDRESS in example
    with serving_projects(tmp_path) as served:
        address = served.create("manual")
        exec(example.replace(ADDRESS, address))
        with Project(address) as project:
            states = [one.state for one in project.corrections()]
    assert states == ["undone"]
    assert capsys.readouterr().out.startswith("2 ")
