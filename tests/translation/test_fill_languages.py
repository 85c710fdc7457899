"""Which files of which languages are filled in, and which files belong to a template."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.filling import po, targets, write_engine

from mtloop.core.errors import InputError
from mtloop.translation import unit_translation
from mtloop.translation.fill_files import EngineChoice, fill_files, plan_filling
from mtloop.translation.fill_units import FillOptions
from mtloop.translation.quality_checks import FailedCheck

TS = '<!DOCTYPE TS><TS version="2.1"{}><context><name>A</name><message><source>Open</source>{}</message></context></TS>'
XLIFF = '<xliff version="1.2"><file source-language="en" original="a"{}><body>{}</body></file></xliff>'
UNIT = '<trans-unit id="1"><source>Open</source></trans-unit>'
XLIFF2 = '<xliff version="2.0" srcLang="en"><file id="f"><unit id="u"><segment><source>Open</source></segment></unit>'


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineChoice:
    """An engine from English to German; the current folder is an empty one."""
    monkeypatch.setattr(EngineChoice, "languages", lambda self: ("en", "de"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return write_engine(tmp_path)


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def translation(text: str = "") -> str:
    return f"<translation>{text}</translation>" if text else '<translation type="unfinished"></translation>'


@pytest.mark.parametrize("language", ["udm", "ast", "ckb", "dsb", "hsb", "nds", "fr_CA", "nb", "sr@latin", "zh_Hans"])
def test_a_declared_language_that_is_not_the_model_s(language: str, engine: EngineChoice) -> None:
    known, new = ("Open it.", "Nicht Deutsch."), ("Close it.", "")
    write(f"in/{language}/LC_MESSAGES/a.po", po(known, new, language=language))
    write("in/de/LC_MESSAGES/a.po", po(new))
    with pytest.raises(InputError, match=r"the texts are .*, but the model translates en -> de"):
        fill_files([Path(f"in/{language}/LC_MESSAGES/a.po")], Path("out.po"), engine=engine)
    report = fill_files([Path("in")], Path("out"), engine=engine)
    assert [path.parts[1] for path in Path("out").rglob("*.po")] == ["de"]
    assert report.candidates == 0  # nothing is learned from the other language


@pytest.mark.parametrize("language", ["de", "deu", "ger", "de_AT", "de-Latn", "de_DE.UTF-8", "DE"])
def test_spellings_of_the_model_s_language(language: str, engine: EngineChoice) -> None:
    write("a.po", po(("Open it.", ""), language=language))
    assert fill_files([Path("a.po")], Path("out.po"), engine=engine).files[0].filled == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("locale/fr/LC_MESSAGES/django.po", po(("Open", ""), language="")),
        ("locale/udm/LC_MESSAGES/docs/intro.po", po(("Open", ""), language="")),
        ("locale/en/LC_MESSAGES/django.po", po(("Open", ""), language="")),
        ("po/fr.po", po(("Open", ""), language="")),
        ("po/app.pt_BR.po", po(("Open", ""), language="")),
        ("fr/app.po", po(("Open", ""), language="")),
        ("app_fr.ts", TS.format("", translation())),
        ("app.ts", TS.format(' language="fr_FR"', translation())),
        ("messages.fr.xlf", XLIFF.format("", UNIT)),
        ("messages.fr.xliff", f"{XLIFF2}</file></xliff>"),
        ("messages.xlf", XLIFF.format(' target-language="ast"', UNIT)),
    ],
)
def test_the_file_or_else_its_path_names_the_language(name: str, text: str, engine: EngineChoice) -> None:
    path = write(name, text)
    with pytest.raises(InputError, match="but the model translates en -> de"):
        fill_files([path], Path("out") / path.name, engine=engine)
    if name not in ("app.ts", "messages.xlf"):  # what the user says goes before the path
        said = plan_filling([path], engine=engine, options=FillOptions(target_lang="de"))
        assert said.files[0].filled == 1


@pytest.mark.parametrize(
    "name", ["fr.json", "fr/translation.json", "messages_udm.properties", "values-ast/strings.xml"]
)
def test_one_language_in_a_file(name: str, engine: EngineChoice) -> None:
    texts = {".json": '{"a": "Open"}', ".properties": "a=Open\n", ".xml": '<resources><string name="a">Open</string>'}
    source = texts[Path(name).suffix] + ("</resources>" if name.endswith("xml") else "")
    names = {".json": "en.json", ".properties": "messages.properties", ".xml": "strings.xml"}
    template = write(f"source/{names[Path(name).suffix]}", source)
    with pytest.raises(InputError, match="but the model translates en -> de"):
        fill_files([Path(name)], Path(name), engine=engine, template=template)


def test_the_current_folder_names_the_language(engine: EngineChoice, monkeypatch: pytest.MonkeyPatch) -> None:
    write("fr/LC_MESSAGES/a.po", po(("Open", ""), language=""))
    write("values/strings.xml", '<resources><string name="a">Open</string></resources>')
    write("values-fr/strings.xml", "<resources/>")
    start = Path.cwd()
    for folder, name, template in (
        ("fr/LC_MESSAGES", "a.po", None),
        ("values-fr", "strings.xml", "../values/strings.xml"),
    ):
        monkeypatch.chdir(start / folder)
        with pytest.raises(InputError, match="-> fr, but the model translates en -> de"):
            plan_filling([Path(name)], engine=engine, template=Path(template) if template else None)


def test_a_declared_locale_goes_before_the_path(engine: EngineChoice) -> None:
    template = write("app_en.arb", '{"@@locale": "en", "a": "Open", "b": "Close"}')
    write("app_de.arb", '{"@@locale": "fr", "a": "Ouvrir"}')
    with pytest.raises(InputError, match="the texts are en -> fr"):
        fill_files([Path("app_de.arb")], Path("out.arb"), engine=engine, template=template)
    strings = '<resources xmlns:tools="http://schemas.android.com/tools"{}><string name="a">Open</string></resources>'
    write("en.xml", strings.format(""))
    write("new.xml", strings.format(' tools:locale="fr-rCA"'))
    with pytest.raises(InputError, match="-> fr-CA"):
        fill_files([Path("new.xml")], Path("out.xml"), engine=engine, template=Path("en.xml"))


def test_an_assumed_language_is_said_once(engine: EngineChoice) -> None:
    for name in ("django.po", "other.po"):
        write(f"in/{name}", po(("Open", ""), language=""))
    write("in/de.po", po(("Open", ""), language=""))
    lines = list(plan_filling([Path("in")], engine=engine).messages())
    note = "in/django.po and 1 more: no target language is named; de is assumed; choose with --target-lang"
    assert lines == [note]


def test_other_languages_are_one_line(engine: EngineChoice) -> None:
    languages = ("af", "ar", "ast", "bg", "bn", "br", "ca", "cs", "da", "fr")
    for language in languages:
        write(f"in/{language}.po", po(("Open", ""), language=language))
    write("in/de.po", po(("Open", "")))
    lines = list(plan_filling([Path("in")], engine=engine).messages())
    assert lines == ["skipped 10 files in other languages (af, ar, ast, bg, bn, br, ca, cs, ...)"]
    named = plan_filling([Path("in")], engine=engine, options=FillOptions(target_lang="de"))
    assert list(named.messages()) == lines


def test_a_folder_with_a_template_fills_its_translations_only(engine: EngineChoice) -> None:
    template = write("app/en.json", '{"open": "Open", "close": "Close"}')
    write("app/package.json", '{"name": "app", "version": "1"}')
    write("app/deep/tsconfig.json", "{}")
    write("app/german.json", '{"open": "Öffnen"}')
    write("app/de.json", "{}")
    write("app/notes.txt", "one line\n")
    report = fill_files([Path("app")], Path("out"), engine=engine, template=template)
    assert sorted(path.name for path in Path("out").rglob("*.*")) == ["de.json", "german.json"]
    (line,) = (line for line in report.messages() if "without a key" in line)
    assert line.startswith("skipped 3 files without a key of the template, and without the name of a translation (")
    assert "app/package.json" in line


def test_resources_and_properties_of_a_folder(engine: EngineChoice) -> None:
    template = write("res/values/strings.xml", '<resources><string name="a">Open</string></resources>')
    write("res/values-de/strings.xml", "<resources/>")
    write("res/values-de/colors.xml", '<resources><color name="red">#f00</color></resources>')
    report = fill_files([Path("res")], Path("out"), engine=engine, template=template)
    assert [file.path for file in report.files] == ["res/values-de/strings.xml"]
    template = write("java/messages.properties", "a=Open\nb=Close\n")
    write("java/messages_de.properties", "")
    write("java/application.properties", "port=80\n")
    report = fill_files([Path("java")], Path("out2"), engine=engine, template=template)
    assert [file.path for file in report.files] == ["java/messages_de.properties"]


def test_a_choice_of_java_is_left_as_it_is(engine: EngineChoice) -> None:
    choice = "{0,choice,0#no files|1#one file|1<{0} files}"
    template = write("messages.properties", f"a={choice}\nb=Open {{0}}\n")
    report = fill_files([Path("messages_de.properties")], Path("out.properties"), engine=engine, template=template)
    assert "a=" not in Path("out.properties").read_text()
    assert (report.files[0].filled, report.files[0].skipped) == (1, {"with a choice of Java": 1})
    (line,) = (line for line in report.messages() if line.startswith("left as it is"))
    assert line.endswith("the choice format of Java is not translated; write a plural")


def test_what_would_break_a_program_is_not_written_without_a_mark(
    engine: EngineChoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = (FailedCheck("placeholders", "%s is missing"),)
    monkeypatch.setattr(
        unit_translation, "failed_checks", lambda source, text, **more: failed if "Lose" in source else ()
    )
    template = write("en.json", '{"a": "Lose it", "b": "Keep it"}')
    report = fill_files([Path("de.json")], Path("out.json"), engine=engine, template=template)
    assert '"b"' in Path("out.json").read_text()
    assert '"a"' not in Path("out.json").read_text()
    assert report.files[0].skipped == {"placeholders or tags are wrong": 1}
    assert any('unit a: "Lose it": placeholders or tags are wrong' in line for line in report.messages())
    write("de.po", po(("Lose it", "")))
    fill_files([Path("de.po")], Path("out.po"), engine=engine)
    assert targets(Path("out.po"))["Lose it"][1] == "fuzzy"  # a PO file has a mark


def test_messages_about_units_name_the_line(engine: EngineChoice) -> None:
    broken = "{n, plural, one {# file}"
    write("de.po", po((broken, "")))
    write("de.ts", TS.format("", translation()).replace("<message>", "\n<message>").replace("Open", broken))
    write("de.xlf", XLIFF.format("", "\n\n" + UNIT).replace("Open", broken))
    for name, line in (("de.po", 6), ("de.ts", 2), ("de.xlf", 3)):
        (message,) = plan_filling([Path(name)], engine=engine).files[0].problems
        assert message.startswith(f'{name}:{line}: "{broken}": not a valid ICU message')
