"""A class or function of the user as a method: finding it, its settings, its errors, and resuming."""

from __future__ import annotations

import pickle
import re
import sys
from importlib.metadata import EntryPoint
from itertools import islice
from pathlib import Path

import pytest
from helpers.own_engines import COUNTING_CLASS
from helpers.stream import STREAM, post_editor

from mtloop.checks.learner_contract import check_learner
from mtloop.core import Header, InputError, Learned, PostEdit, Proposal, Segment, Stateful, UnknownName, record
from mtloop.experiments.experiment import Experiment
from mtloop.methods.own import (
    EngineError,
    load_class,
    method_of_maker,
    method_of_plugin,
    own_method,
    refuse_engine_from_file,
)
from mtloop.methods.registry import find_method

SEGMENT = Segment("7", "Save the file.")
HEAD = "from mtloop.core import *\n"
FITTING = """
    def propose(self, segment): return Proposal(segment, segment.source)
    def learn(self, proposal, feedback): return Learned()
"""
PLACE = r"\(toy.py, line 5\)"


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file `toy.py` in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "toy.py"
    path.write_text(COUNTING_CLASS)
    return path


def write_class(path: Path, body: str) -> None:
    path.write_text(f"{HEAD}class Toy:{FITTING}    {body}\n")


@pytest.mark.parametrize(
    "name", ["toy.py:Saving", "./toy.py:Saving", "{folder}/toy.py:Saving", "../{last}/toy.py:Saving"]
)
def test_a_class_is_found_by_any_path(name: str, tmp_path: Path) -> None:
    found = load_class(name.format(folder=tmp_path, last=tmp_path.name))
    assert found is load_class("toy.py:Saving"), "the same file is imported once"


def test_the_last_colon_separates_the_class(tmp_path: Path) -> None:
    folder = tmp_path / "C:" / "engines"
    folder.mkdir(parents=True)
    (folder / "toy.py").write_text(COUNTING_CLASS)
    assert load_class("C:/engines/toy.py:Saving").__name__ == "Saving"
    assert load_class(f"{folder}/toy.py:Counting").__name__ == "Counting"


def test_a_changed_file_is_imported_again_and_has_another_fingerprint(engine: Path) -> None:
    first = own_method("toy.py:Saving")
    engine.write_text(COUNTING_CLASS.replace('mark: str = "!"', 'mark: str = "?"'))
    second = own_method("toy.py:Saving")
    assert (first.defaults, second.defaults) == ({"mark": "!"}, {"mark": "?"})
    assert first.fingerprint != second.fingerprint
    assert first.fingerprint.startswith("toy.py ")


def test_modules_beside_the_file_are_imported_and_sys_path_is_restored(engine: Path) -> None:
    (engine.parent / "beside_toy.py").write_text("MARK = 'beside'")
    engine.write_text("import beside_toy\n" + COUNTING_CLASS.replace('"!"', "beside_toy.MARK"))
    before = list(sys.path)
    assert own_method("toy.py:Saving").defaults == {"mark": "beside"}
    assert sys.path == before


def test_the_file_that_defines_an_imported_class_counts_too(engine: Path) -> None:
    (engine.parent / "defines_toy.py").write_text(COUNTING_CLASS)
    engine.write_text("from defines_toy import Saving")
    assert re.fullmatch(r"toy\.py \w+, defines_toy\.py \w+", find_method("toy.py:Saving").fingerprint)


def test_annotations_of_a_file_are_those_that_it_wrote(engine: Path) -> None:
    write_class(engine, "def __init__(self, *, size: int = 1): assert Toy.__init__.__annotations__['size'] is int")
    assert find_method("toy.py:Toy").make(), "the constructor found its annotation"


def test_a_module_of_the_current_folder_or_an_installed_one_is_found(tmp_path: Path) -> None:
    (tmp_path / "package_of_toys").mkdir()
    (tmp_path / "package_of_toys" / "__init__.py").touch()
    (tmp_path / "package_of_toys" / "inner.py").write_text(COUNTING_CLASS)
    method = find_method("package_of_toys.inner:Saving")
    assert method.fingerprint.startswith("inner.py ")
    assert find_method("mtloop.methods.copy_source:CopySource").make().propose(SEGMENT).text == SEGMENT.source


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no.py:Toy", r"^no\.py: the engine cannot be read: No such file or directory; expected FILE\.py:CLASS or"),
        ("toy.py:Savin", r"^toy\.py has no class 'Savin'; did you mean 'Saving'\? known: Counting, Saving$"),
        ("toy.py:saving", r"^toy\.py has no class 'saving'; did you mean 'Saving'\? known: Counting, Saving$"),
        ("toy.py", r"^engine 'toy\.py' names no class; expected FILE\.py:CLASS or MODULE:CLASS$"),
        ("toy.py:", r"^engine 'toy\.py:' names no class"),
        (":Toy", "^engine ':Toy' names no class"),
        (r"C:\toys\toy.py", "names no class"),
        ("no_such_module.inner:Toy", "^there is no module 'no_such_module' for the engine 'no_such_module.inner'"),
        ("json.inner:Toy", "^there is no module 'json.inner' for the engine"),
        ("..:Toy", r"^the engine's module \.\. cannot be imported: "),
        ("toy.py:time", r"^engine toy\.py:time is module; expected a class, or a function that returns a learner$"),
        ("math:hypot", r"^engine math:hypot has no signature that Python can read"),
        ("toy.py:Path", r"^engine toy\.py:Path: the class has no method propose and no method learn$"),
    ],
)  # fmt: skip
def test_a_name_that_leads_nowhere_is_one_line(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        find_method(name)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\nx = = 2\n", "2: .* SyntaxError: invalid syntax"),
        ("x = 1\n\nx / 0\n", "3: .* ZeroDivisionError: division by zero$"),
        ("import no_such_library\n", "1: .* ModuleNotFoundError: No module named 'no_such_library'$"),
        ("import sys\nsys.exit('usage:\\n toy')", "2: .* SystemExit: usage: toy$"),
        ("def f():\n    import json\n    json.loads('')\nf()", "3: .* JSONDecodeError"),
        ("raise GeneratorExit", "1: .* GeneratorExit"),
    ],
)
def test_an_exception_during_the_import_is_named_with_its_line(engine: Path, code: str, message: str) -> None:
    engine.write_text(code)
    with pytest.raises(InputError, match=rf"^toy\.py:{message}") as raised:
        find_method("toy.py:Toy")
    assert "the engine cannot be imported: " in str(raised.value)
    engine.write_text(COUNTING_CLASS)
    assert find_method("toy.py:Saving").settings


def test_an_exception_during_the_import_of_a_module_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken_module_of_toys.py").write_text("import no_such_library")
    with pytest.raises(
        InputError, match=r"^the engine's module broken_module_of_toys cannot be imported: ModuleNotFound.*library'$"
    ):
        find_method("broken_module_of_toys:Toy")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def __init__(self, *, size): pass", "the setting size has no default value; give it one"),
        ("def __init__(self, *, sizes=()): pass", "the default of sizes is tuple; expected text, a number or a bool"),
        ("def __init__(self, size=1): pass", "the parameter size is positional; one positional parameter gets"),
        ("def __init__(self, model, size): pass", r"has 2 positional parameters \(model, size\); one"),
        ("learns_from = ('post_edit',)", "learns_from must be a tuple of PostEdit, Scores, Preference or Reward"),
        ("learns_from = PostEdit", r"learns_from must be a tuple .*, for example \(PostEdit,\); it is PostEdit$"),
        ("learns_from = 'post_edit'", r"learns_from must be a tuple .*, for example \(PostEdit,\); it is 'post_edit'$"),
        ("learns_from = [PostEdit]", "learns_from must be a tuple of PostEdit, Scores, Preference or Reward"),
        ("learns_from = None", "learns_from must be a tuple of PostEdit, Scores, Preference or Reward"),
        ("def save(self, folder): pass", "it has save but no load; add load, or remove save$"),
        ("def load(self, folder): pass", "it has load but no save; add save, or remove load$"),
        ("propose = None", "the class has no method propose$"),
    ],
)  # fmt: skip
def test_a_class_that_cannot_be_used_is_refused(engine: Path, body: str, message: str) -> None:
    write_class(engine, body)
    with pytest.raises(InputError, match=rf"^engine toy\.py:Toy.* ?{message}"):
        find_method("toy.py:Toy")


def test_the_record_describes_the_class(engine: Path) -> None:
    engine.write_text(
        "from typing import Annotated, Literal\n"
        + COUNTING_CLASS.replace(
            'mark: str = "!"', 'mark: Annotated[Literal["!", "?"], "The mark."] = "!", size: int = 1'
        )
    )
    method = find_method("toy.py:Saving")
    assert (method.name, method.summary) == ("toy.py:Saving", "Shows its lessons in every translation; can be saved.")
    assert method.learns_from == (PostEdit,)
    assert (method.settings["mark"].help, method.settings["mark"].choices) == ("The mark.", ("!", "?"))
    assert method.settings_with({"size": "3"}) == {"mark": "!", "size": 3}
    with pytest.raises(InputError, match="setting size is 'x'; expected a whole number"):
        method.settings_with({"size": "x"})
    with pytest.raises(UnknownName, match=r"^method toy\.py:Saving has no setting 'sise'; did you mean 'size'"):
        method.settings_with({"sise": 1})


@pytest.mark.parametrize(
    ("parameters", "takes_model"),
    [
        ("self", False),
        ("self, *, size=1", False),
        ("self, *args, **keywords", False),
        ("self, model", True),
        ("self, model=None, *, size=1", True),
        ("self, model, /", True),
    ],
)
def test_a_positional_parameter_gets_the_model(engine: Path, parameters: str, takes_model: bool) -> None:
    write_class(engine, f"def __init__({parameters}): self.got = locals().get('model')")
    method = find_method("toy.py:Toy")
    assert method.engine.loads_model is takes_model
    assert getattr(method.make("the model"), "got") == ("the model" if takes_model else None)  # noqa: B009


def test_a_function_that_returns_a_learner_is_a_method(engine: Path) -> None:
    engine.write_text(
        COUNTING_CLASS + "\ndef make(*, size: int = 2):\n    'Many marks.'\n    return Saving(mark='!' * size)\n"
        "\ndef wrong():\n    return 5\n"
    )
    method = find_method("toy.py:make")
    assert (method.summary, method.learns_from) == ("Many marks.", None)
    assert method.make(settings={"size": 3}).propose(SEGMENT).text == "Save the file. !!!"
    message = r"^engine toy\.py:wrong failed in construction: expected a learner with propose and learn, got int$"
    with pytest.raises(EngineError, match=message):
        find_method("toy.py:wrong").make()
    with pytest.raises(UnknownName, match=r"known: Counting, Saving, make, wrong$"):
        find_method("toy.py:other")


@pytest.mark.parametrize("name", ["Counting", "Saving"])
def test_a_learner_keeps_its_class_and_the_contract(name: str) -> None:
    method = find_method(f"toy.py:{name}")
    check_learner(method.make, [segment for segment, _ in STREAM[:6]])
    learner = method.make()
    assert isinstance(learner, load_class(f"toy.py:{name}"))  # type: ignore[arg-type]
    assert isinstance(learner, Stateful) is (name == "Saving")
    assert type(learner).__name__ == name


def test_a_record_can_be_sent_to_another_process() -> None:
    method = pickle.loads(pickle.dumps(find_method("toy.py:Saving").maker))
    assert method(mark="?").propose(SEGMENT).text == "Save the file. ?"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def propose(self, segment): 1 / 0", f"propose at segment '7': ZeroDivisionError: division by zero {PLACE}"),
        ("def propose(self, segment): Learned(**5)", f"propose at segment '7': TypeError: .* {PLACE}"),
        ("def propose(self, _): import json; json.loads('')", f"propose at segment '7': JSONDecodeError: .* {PLACE}"),
        ("def propose(self, segment): raise KeyError", f"propose at segment '7': KeyError {PLACE}"),
        ("def propose(self, _): return 'text'", "propose at segment '7': expected Proposal from mtloop.core, got str"),
        ("def learn(self, _, feedback): pass", "learn at segment '7': expected Learned from mtloop.core, got None"),
        ("def learn(self, _, feedback): feedback.value", f"learn at segment '7': AttributeError: .*'value' {PLACE}"),
        ("def propose(self, segment): raise SystemExit(3)", f"propose at segment '7': SystemExit: 3 {PLACE}"),
        ("def propose(self, _): import sys; sys.exit()", f"propose at segment '7': SystemExit {PLACE}"),
        ("def learn(self, _, feedback): raise SystemExit('bye')", f"learn at segment '7': SystemExit: bye {PLACE}"),
        ("def learn(self, _, feedback): raise GeneratorExit", f"learn at segment '7': GeneratorExit {PLACE}"),
        ("class S(KeyboardInterrupt): pass\n    def propose(self, _): raise self.S", "propose at segment '7': S "),
        ("def __init__(self): raise SystemExit(0)", f"construction: SystemExit: 0 {PLACE}"),
        ("def __init__(self): 1 / 0", f"construction: ZeroDivisionError: division by zero {PLACE}"),
        ("__slots__ = ()\n    def propose(self, segment): return 1 / 0", r"propose at segment '7': ZeroDivisionError"),
    ],
)  # fmt: skip
def test_an_exception_names_engine_segment_and_line(engine: Path, body: str, message: str) -> None:
    def step() -> None:
        learner = find_method("toy.py:Toy").make()
        learner.learn(learner.propose(SEGMENT), PostEdit("Speichern."))

    write_class(engine, body)
    with pytest.raises(EngineError, match=rf"^engine toy\.py:Toy failed in {message}"):
        step()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("Proposal(segment, 5)", "field text is 5: expected str, found 5"),
        ("Proposal(segment, None)", "field text is None: expected str, found None"),
        ("Proposal(segment, '\\ud800')", "field text is .*: cannot be written as JSON"),
        ("Proposal(segment, 'a', system=3)", "field system is 3: expected str"),
        ("Proposal(segment, 'a', memo={'n': {1}})", r"field memo is {'n': \{1\}}: set has no JSON form"),
        ("Proposal(segment, 'a', memo={'n': float('nan')})", "field memo is .*: cannot be written as JSON"),
        ("Proposal(segment, 'a', memo=[1])", r"field memo is \[1\]: expected dict, found \[1\]"),
        ("Proposal(segment, 'a', memo={1: 2})", "field memo is .* from JSON: expected text as keys, and lists instead"),
        ("Proposal(segment, 'a', memo={'x': (1,)})", "field memo is .* from JSON: expected text as keys, and lists"),
        ("Proposal(segment, 'a', probability=2)", "field probability is 2; expected a number from 0 to 1, or None"),
        ("Proposal(segment, 'a', probability='x')", "field probability is 'x': expected int or float"),
        ("Proposal(Segment('8', segment.source), 'a')", "the proposal belongs to another segment: id '8', source 'Sav"),
        ("Proposal(Segment('7', 'other'), 'a')", "the proposal belongs to another segment: id '7', source 'other'"),
        ("Proposal('7', 'a')", "field segment is '7': "),
    ],
)
def test_rubbish_from_propose_is_refused(engine: Path, result: str, message: str) -> None:
    write_class(engine, f"def propose(self, segment): return {result}")
    with pytest.raises(
        EngineError, match=rf"^engine toy\.py:Toy failed in propose at segment '7': {message}"
    ) as raised:
        find_method("toy.py:Toy").make().propose(SEGMENT)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("Learned(updates='many')", "field updates is 'many': expected int, found 'many'"),
        ("Learned(updates=True)", "field updates is True: expected int, found True"),
        ("Learned(updates=1.5)", "field updates is 1.5: expected int, found 1.5"),
        ("Learned(rejected=False)", "field rejected is False: expected str, found False"),
        ("Learned(info={'x': object})", "field info is .*: type has no JSON form"),
        ("(info := {}, info.update(x=info), Learned(info=info))[2]", "field info contains itself"),
    ],
)
def test_rubbish_from_learn_is_refused(engine: Path, result: str, message: str) -> None:
    write_class(engine, f"def learn(self, proposal, feedback): return {result}")
    learner = find_method("toy.py:Toy").make()
    with pytest.raises(EngineError, match=rf"^engine toy\.py:Toy failed in learn at segment '7': {message}"):
        learner.learn(learner.propose(SEGMENT), PostEdit("a"))


@pytest.mark.parametrize("result", ["Learned()", "Learned(3, 'no', {'x': [1, None, (2, 'a')]})"])
def test_a_complete_result_is_passed_on(engine: Path, result: str) -> None:
    proposal = "Proposal(segment, 'a', 'toy', 0.5, {'toy': 1}, ('a', 'b'), '', {'x': {'y': [1, 2.5, None, True]}})"
    write_class(engine, f"def propose(self, segment): return {proposal}")
    engine.write_text(engine.read_text() + f"    def learn(self, proposal, feedback): return {result}\n")
    learner = find_method("toy.py:Toy").make()
    assert learner.propose(SEGMENT).memo == {"x": {"y": [1, 2.5, None, True]}}
    assert learner.learn(learner.propose(SEGMENT), PostEdit("a")) == eval(result)


def test_what_only_the_learner_declares_is_checked_when_it_is_made(engine: Path) -> None:
    write_class(engine, "learns_from = property(lambda self: 'post_edit')")
    with pytest.raises(
        EngineError, match=r"^engine toy\.py:Toy failed in construction: learns_from must be a tuple of"
    ):
        find_method("toy.py:Toy").make()
    write_class(engine, "learns_from = property(lambda self: (PostEdit,))")
    find_method("toy.py:Toy").make()


def test_a_whole_number_as_the_default_of_a_float_is_a_number(engine: Path) -> None:
    write_class(engine, "def __init__(self, *, rate: float = 1, size: int = 1, any=None): self.rate = rate")
    method = find_method("toy.py:Toy")
    assert method.settings["rate"].expected == "a number"
    assert method.settings_with({"rate": "0.5", "any": "x"}) == {"rate": 0.5, "size": 1, "any": "x"}
    assert isinstance(method.defaults["rate"], float)
    assert isinstance(method.defaults["size"], int)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (Learned, r"^method is <class 'mtloop\.core\.types\.Learned'>; expected its name, or 'FILE\.py:Learned' for a"),
        (3, r"^method is 3; expected its name, or 'FILE\.py:CLASS' for a class of your own$"),
        (None, "^method is None; expected its name"),
    ],
)
def test_a_method_that_is_not_text_is_refused(name: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_method(name)  # type: ignore[arg-type]
    if name is not None:
        with pytest.raises(InputError, match=message):
            Experiment.create("data.tsv", method=name)


def test_an_interrupt_by_the_user_stays_one(engine: Path) -> None:
    write_class(engine, "def propose(self, segment): raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        find_method("toy.py:Toy").make().propose(SEGMENT)


@pytest.mark.parametrize(
    ("verb", "body"), [("save", "1 / 0"), ("load", "raise SystemExit('no')"), ("load", "open('state.txt')")]
)
def test_an_exception_in_save_or_load_names_engine_and_folder(engine: Path, verb: str, body: str) -> None:
    other = {"save": "load", "load": "save"}[verb]
    write_class(engine, f"def {verb}(self, folder): {body}\n    def {other}(self, folder): pass")
    learner = find_method("toy.py:Toy").make()
    assert isinstance(learner, Stateful)
    kind = {"1 / 0": "ZeroDivisionError", "raise SystemExit('no')": "SystemExit: no"}.get(body, "FileNotFoundError")
    with pytest.raises(EngineError, match=rf"^engine toy\.py:Toy failed in {verb} \(folder x\): {kind}.*{PLACE}"):
        getattr(learner, verb)(Path("x"))


def test_an_exception_in_close_names_the_engine(engine: Path) -> None:
    write_class(engine, "def close(self): raise OSError('busy')")
    learner = find_method("toy.py:Toy").make()
    with pytest.raises(EngineError, match=rf"^engine toy\.py:Toy failed in close: OSError: busy {PLACE}"):
        learner.close()  # type: ignore[attr-defined]


def test_an_error_of_mtloop_stays_as_it_is(engine: Path) -> None:
    write_class(engine, "def propose(self, segment): raise InputError('no such language')")
    with pytest.raises(InputError, match=r"^no such language$"):
        find_method("toy.py:Toy").make().propose(SEGMENT)


@pytest.mark.parametrize("name", ["Counting", "Saving"])
def test_a_run_goes_on_after_an_exception(engine: Path, tmp_path: Path, name: str) -> None:
    def complete(path: Path) -> bytes:
        list(record(path, Header(), STREAM, find_method(f"toy.py:{name}").make(), post_editor, snapshot_every=4))
        return path.read_bytes()

    whole, part = complete(tmp_path / "whole.jsonl"), tmp_path / "part.jsonl"
    engine.write_text(COUNTING_CLASS.replace("lesson = f", "lesson = 1 / (proposal.segment.id != '6') and f"))
    with pytest.raises(EngineError, match="failed in learn at segment '6': ZeroDivisionError"):
        complete(part)
    assert part.read_bytes() == b"".join(islice(whole.splitlines(keepends=True), 7))
    engine.write_text(COUNTING_CLASS)
    assert complete(part) == whole


def test_the_fingerprint_of_a_plugin_has_the_file_that_defines_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(".")
    Path("record_of_toys.py").write_text(
        "from functools import partial\nfrom class_of_toys import Saving\n"
        "from mtloop.methods.engines import NO_ENGINE\n"
        "from mtloop.methods.method import Method\npart = partial(Saving, mark='?')\n"
        "record = Method.of('toy', Saving, NO_ENGINE)\n"
    )
    Path("class_of_toys.py").write_text(COUNTING_CLASS)
    for name in ("Saving", "part", "record"):
        method = method_of_plugin(EntryPoint("toy", f"record_of_toys:{name}", "mtloop.methods"))
        assert re.fullmatch(r"record_of_toys\.py \w{16}, class_of_toys\.py \w{16}", method.fingerprint), name


def test_a_plugin_is_checked_like_a_class() -> None:
    class Shout:
        """Shouts."""

        def propose(self, segment: Segment) -> Proposal:
            return Proposal(segment, segment.source.upper())

        def learn(self, proposal: Proposal, feedback: object) -> Learned:
            raise ValueError("deaf")

    method = method_of_maker("shout", Shout)
    assert method_of_maker("shout", method) is method
    learner = method.make()
    with pytest.raises(
        EngineError, match=r"^engine shout failed in learn at segment '7': ValueError: deaf \(test_own_classes"
    ):
        learner.learn(learner.propose(SEGMENT), PostEdit(""))


@pytest.mark.parametrize("name", ["toy.py:Toy", "toy:Toy", "exec:touch stolen", "toy.py"])
def test_a_data_file_must_not_name_an_engine(name: str) -> None:
    with pytest.raises(
        InputError, match=r"^run.delta: names the engine '.*', but a data file must not start an engine"
    ):
        refuse_engine_from_file(name, "run.delta")
    assert refuse_engine_from_file("lasso+memory", "run.delta") == "lasso+memory"
