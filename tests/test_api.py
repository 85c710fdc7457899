"""The public names: a quick import, what they are, and the notebook."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import mtloop

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorials" / "first-steps.ipynb"


def test_import_mtloop_imports_no_library() -> None:
    program = "import sys, mtloop; print(*(name for name in sys.modules if '.' not in name))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "mtloop" in loaded
    assert not {"numpy", "torch", "click", "sacrebleu", "pydantic", "lxml"} & set(loaded)


def test_every_public_name_exists_and_is_documented() -> None:
    for name in mtloop.__all__:
        assert name == "__version__" or getattr(mtloop, name).__doc__, name
    assert dir(mtloop) == mtloop.__all__


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'mtloop' has no attribute 'traslate'"):
        mtloop.traslate  # noqa: B018


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
    shown = [output.get("data", {}) for cell in outputs.values() for output in cell]
    tables = [data["text/html"] for data in shown if "text/html" in data]
    assert any("<td" in table and "55.91" in table for table in tables), "scores show as an HTML table"
    assert any("data:image/png" in table for table in tables), "curves show as pictures"
    assert {"mine.delta", "out.html"} <= {path.name for path in tmp_path.iterdir()}
