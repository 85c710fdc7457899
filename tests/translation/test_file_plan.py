"""Which files are filled in, and where the results go."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.core.errors import InputError
from mtloop.translation.file_plan import _Entry, plan_files


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.po", "in/b.po", "in/deep/c.xlf", "in/logo.png", "in/.git/d.po", "in/b.po.mtloop/e.po", "too/b.po"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path


def outputs(*inputs: str, out: str) -> dict[str, str]:
    plans, _ = plan_files([Path(name) for name in inputs], Path(out))
    return {str(plan.path): str(plan.out) for plan in plans}


def error(*inputs: str, out: str, template: Path | None = None) -> str:
    with pytest.raises(InputError) as caught:
        plan_files([Path(name) for name in inputs], Path(out), template)
    return str(caught.value)


def test_one_file_goes_to_a_file_or_into_a_folder(tree: Path) -> None:
    assert outputs("a.po", out="b.po") == {"a.po": "b.po"}
    assert outputs("a.po", out="new/b.po") == {"a.po": "new/b.po"}
    assert outputs("a.po", out="in") == {"a.po": "in/a.po"}
    assert outputs("a.po", out="a.po") == {"a.po": "a.po"}


def test_a_folder_keeps_its_tree_and_names_what_it_skips(tree: Path) -> None:
    plans, skipped = plan_files([Path("in")], Path("out"))
    assert {str(plan.path): str(plan.out) for plan in plans} == {
        "in/b.po": "out/b.po",
        "in/deep/c.xlf": "out/deep/c.xlf",
    }
    assert [str(one) for one in skipped] == ["in/logo.png: unknown file type"]
    assert outputs("in", out="in") == {"in/b.po": "in/b.po", "in/deep/c.xlf": "in/deep/c.xlf"}


def test_several_files_and_folders_go_into_a_folder(tree: Path) -> None:
    assert outputs("a.po", "in", out="out") == {
        "a.po": "out/a.po",
        "in/b.po": "out/in/b.po",
        "in/deep/c.xlf": "out/in/deep/c.xlf",
    }


def test_an_output_folder_inside_the_input_is_no_input(tree: Path) -> None:
    (tree / "in/out").mkdir()
    (tree / "in/out/b.po").write_text("x")
    assert outputs("in", out="in/out") == {"in/b.po": "in/out/b.po", "in/deep/c.xlf": "in/out/deep/c.xlf"}


def test_a_template_may_be_a_folder_with_the_same_tree(tree: Path) -> None:
    (tree / "en").mkdir()
    for name in ("en/b.po", "en/d.json", "in/d.json", "in/e.json"):
        (tree / name).write_text("x")
    plans, _ = plan_files([Path("in")], Path("out"), Path("en"))
    assert {plan.path.name: plan.template for plan in plans} == {
        "b.po": None,  # it has its own source texts
        "c.xlf": None,
        "d.json": Path("en/d.json"),
        "e.json": None,
    }
    plans, _ = plan_files([Path("new.json")], Path("new.json"), Path("en/d.json"))
    assert plans[0].template == Path("en/d.json")


def test_an_output_folder_has_not_the_name_of_a_file(tree: Path) -> None:
    message = "has the name of a file; several files need a folder: --out FOLDER"
    assert error("a.po", "in", out="x.po") == f"x.po: {message}"
    (tree / "y.po").mkdir()
    assert outputs("a.po", "in/b.po", out="y.po")["a.po"] == "y.po/a.po"


def test_a_template_that_no_file_uses_is_refused(tree: Path) -> None:
    message = "has its own source texts; leave out --template"
    assert error("a.po", out="b.po", template=Path("nothing.json")).startswith(f"a.po: {message}")
    assert error("in", out="out", template=Path("too")).startswith(f"in/b.po: {message}")


def test_the_time_grows_with_the_number_of_files(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(200):
        (tree / f"in/{number}.txt").write_text("x")
        (tree / f"in/{number}.png").write_text("x")
    compared, resolved = list[object](), list[Path]()
    resolve = Path.resolve
    monkeypatch.setattr(_Entry, "__eq__", lambda self, other: compared.append(other) or self is other)
    monkeypatch.setattr(Path, "resolve", lambda self, **more: (resolved.append(self), resolve(self, **more))[1])
    plans, skipped = plan_files([Path("in"), Path("too")], Path("out"))
    assert (len(plans), len(skipped)) == (203, 201)
    assert not compared
    assert len(resolved) < 5 * 404


@pytest.mark.parametrize(
    ("inputs", "out", "message"),
    [
        (["a.po", "in"], ".", "a.po: is an input; to fill in a file in place, name it: --out FILE"),
        (["in/b.po", "too/b.po"], "out", "out/b.po: several inputs would be written to this file"),
        (["a.po", "in"], "a.po", "a.po: is a file; several files need a folder"),
        (["a.po"], "b.xlf", "b.xlf: the output has the format of the input; name it b.po"),
        (["missing.po"], "b.po", "missing.po: no such file"),
        (["in/.git"], "out", ""),
    ],
)
def test_refused_outputs(tree: Path, inputs: list[str], out: str, message: str) -> None:
    if message:
        assert error(*inputs, out=out).startswith(message)
    else:
        assert outputs(*inputs, out=out) == {"in/.git/d.po": "out/d.po"}


def test_a_read_only_output_and_the_template_are_refused(tree: Path) -> None:
    (tree / "b.po").write_text("x")
    (tree / "b.po").chmod(0o444)
    assert error("a.po", out="b.po").startswith("b.po: is read-only")
    (tree / "en.json").write_text("{}")
    assert error("de.json", out="en.json", template=tree / "en.json").startswith("en.json: is the template")


def test_a_folder_without_known_files(tree: Path) -> None:
    (tree / "empty").mkdir()
    assert error("empty", out="out").startswith("empty: no file of a known type: .po")
