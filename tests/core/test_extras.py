from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from mtloop.core.errors import CPU_HINT, MissingExtra, need
from mtloop.core.extras import EXTRAS, extra_of, need_extras

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {"sil-thot": "thot"}  # the others have the name of their distribution
NOT_IMPORTED = {"uvloop"}  # uvicorn uses it where it exists


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_extras_are_those_of_the_project(extra: str) -> None:
    names = [re.split(r"[\[><=;]", line)[0] for line in PROJECT["optional-dependencies"][extra]]
    modules = {MODULES.get(name, name.replace("-", "_")) for name in names} - NOT_IMPORTED
    assert set(EXTRAS[extra]) == modules


def test_all_missing_packages_are_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("torch", "jinja2"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as caught:
        need_extras("nmt", "report", "smt")
    command = "torch and jinja2 are not installed; run: pip install 'mtloop[nmt,report]'"
    assert str(caught.value) == command + CPU_HINT


def test_an_absent_extra_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [*EXTRAS["nmt"], *EXTRAS["service"], "thot"]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra) as caught:
        need_extras("service", "nmt", "smt", "")
    problem = "mtloop[service], mtloop[nmt] and thot are not installed"
    assert str(caught.value) == f"{problem}; run: pip install 'mtloop[service,nmt,smt]'{CPU_HINT}"


def test_many_missing_packages_of_an_extra_are_named_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in EXTRAS["service"][:4]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"^mtloop\[service\] is not installed; run: pip install 'mtl"):
        need_extras("service")


def test_the_hint_about_the_gpu_is_for_torch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"pip install 'mtloop\[nmt\]'; without a GPU, .* pytorch\.org/get-started$"):
        need("torch", "nmt")
    with pytest.raises(MissingExtra, match=r"^absent is not installed; run: pip install 'mtloop\[nmt\]'$"):
        need("absent", "nmt")


def test_a_failed_import_of_a_part_names_the_extra() -> None:
    found = extra_of(ModuleNotFoundError("", name="matplotlib.figure"))
    assert str(found) == "matplotlib is not installed; run: pip install 'mtloop[report]'"
    assert extra_of(ModuleNotFoundError("", name="somebody_else")) is None
    assert extra_of(ModuleNotFoundError("")) is None
