"""The script of texts."""

from __future__ import annotations

import pytest

from mtloop.data.writing_systems import is_language, unexpected_script

TEXTS = {
    "en": "Open the file menu and save the document.",
    "vi": "Mở tệp và lưu tài liệu của bạn trước khi đóng.",
    "ru": "Откройте меню и сохраните документ.",
    "el": "Ανοίξτε το μενού και αποθηκεύστε το έγγραφο.",
    "ja": "ファイルを開いて、文書を保存してください。もう一度。",
    "zh": "打开文件菜单并保存文档，然后关闭程序，再重新启动计算机一次。",
    "ko": "파일 메뉴를 열고 문서를 저장하십시오. 그리고 닫으세요.",
    "ar": "افتح القائمة واحفظ المستند ثم أغلق البرنامج.",
    "th": "เปิดเมนูไฟล์และบันทึกเอกสารของคุณ",
}


@pytest.mark.parametrize("language", TEXTS)
def test_each_language_has_its_own_script(language: str) -> None:
    assert unexpected_script([TEXTS[language]], language) == ""


@pytest.mark.parametrize(
    ("language", "script"),
    [
        ("ru", "Cyrillic"),
        ("el", "Greek"),
        ("zh", "Chinese"),
        ("ko", "Hangul"),
        ("ar", "Arabic"),
        ("th", "Thai"),
        ("ja", "Japanese"),
    ],
)
def test_other_scripts_are_not_english(language: str, script: str) -> None:
    assert unexpected_script([TEXTS[language]], "en-US") == script


def test_japanese_with_many_chinese_characters_is_japanese() -> None:
    assert unexpected_script(["設定変更後、再起動確認画面を表示。印刷設定画面"], "en") == "Japanese"


def test_english_is_not_russian() -> None:
    assert unexpected_script([TEXTS["en"]], "ru") == "Latin"


@pytest.mark.parametrize("texts", [[], ["Да."], ["12345 67890 12345 67890"], [TEXTS["ru"], "Save", "Open File"]])
def test_doubtful_texts_are_accepted(texts: list[str]) -> None:
    assert unexpected_script(texts, "en") == ""


@pytest.mark.parametrize("tag", ["de", "DEU", "nb-NO", "is", "sr-Latn", "zh-TW", "ko"])
def test_languages(tag: str) -> None:
    assert is_language(tag)


@pytest.mark.parametrize("name", ["src", "tgt", "ref", "pe", "xx", ""])
def test_column_names_that_are_no_languages(name: str) -> None:
    assert not is_language(name)
