"""What the formats with a template share."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtloop.core.errors import InputError
from mtloop.data.formats.filling import open_file
from mtloop.data.formats.monolingual import is_named_translation, named_language, path_language


@pytest.mark.parametrize(
    ("path", "other", "language"),
    [
        ("de.json", "en.json", "de"),
        ("app_pt_BR.arb", "app_en.arb", "pt-BR"),
        ("messages.de.json", "messages.json", "de"),
        ("locales/de/log_in.json", "locales/en/log_in.json", "de"),
        ("locales/log_in.json", "source/log_in.json", ""),
        ("_locales/zh_CN/messages.json", "_locales/en/messages.json", "zh-CN"),
        ("res/values-b+sr+Latn/strings.xml", "res/values/strings.xml", "sr-Latn"),
        ("res/values-de-rAT-night/strings.xml", "res/values/strings.xml", "de-AT"),
        ("res/values/strings.xml", "res/values-de/strings.xml", ""),
        ("de/LC/app.properties", "en/LC/app.properties", "de"),
        ("messages.properties", "messages_de.properties", ""),
    ],
)
def test_languages_of_paths(path: str, other: str, language: str) -> None:
    assert path_language(Path(path), Path(other)) == language


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("locale/de/LC_MESSAGES/django.po", "de"),
        ("locale/udm/LC_MESSAGES/docs/intro.po", "udm"),
        ("po/de_AT.po", "de-AT"),
        ("po/app-sr@latin.po", "sr-latin"),
        ("app_fr.ts", "fr"),
        ("messages.zh-Hans.xlf", "zh-Hans"),
        ("in/my_app.po", ""),
        ("src/main_mac.ts", ""),
        ("app_in_out.po", ""),
        ("django.po", ""),
    ],
)
def test_languages_of_the_paths_of_bilingual_files(path: str, language: str) -> None:
    assert named_language(Path(path)) == language


@pytest.mark.parametrize(
    ("path", "template", "expected"),
    [
        ("de.json", "en.json", True),
        ("de.json", "messages.json", True),
        ("de/translation.json", "en/translation.json", True),
        ("messages_de_AT.properties", "messages_en.properties", True),
        ("values-de/strings.xml", "values/strings.xml", True),
        ("values-de/colors.xml", "values/strings.xml", False),
        ("other/strings.xml", "values/strings.xml", False),
        ("package.json", "en.json", False),
        ("application.properties", "messages.properties", False),
    ],
)
def test_names_of_translations(path: str, template: str, expected: bool) -> None:
    assert is_named_translation(Path(path), Path(template)) == expected


def test_what_the_user_says_goes_before_the_path(write, tmp_path) -> None:
    file = open_file(
        tmp_path / "de.json", template=write("en.json", '{"a": "A"}'), source_lang="en-GB", target_lang="de-AT"
    )
    assert file.languages == ("en-GB", "de-AT")


def test_a_compressed_file_is_refused(write) -> None:
    with pytest.raises(InputError, match="a compressed file cannot be filled in"):
        open_file(write("de.json.gz", b"x"), template=write("en.json", '{"a": "A"}'))


@pytest.mark.parametrize("suffix", ["json", "properties", "xml"])
def test_a_template_is_needed(suffix: str, tmp_path) -> None:
    with pytest.raises(InputError, match=r"the file has texts in one language; .*--template FILE"):
        open_file(tmp_path / f"de.{suffix}")
