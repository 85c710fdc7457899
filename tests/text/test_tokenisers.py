from __future__ import annotations

import pickle
import sys

import pytest
from helpers.many_scripts import REFERENCES

from mtloop.core import InputError, UnknownName
from mtloop.core.errors import MissingExtra
from mtloop.text.tokenisers import (
    FAIR_SHARE,
    Tokeniser,
    lacks_spaces,
    load_tokeniser,
    tokeniser_name,
    word_tokeniser_name,
)


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        *[(tag, "zh") for tag in ("zh", "zh-TW", "ZH_cn", "zho_Hans", "cmn", "yue")],
        *[(tag, "ja-mecab") for tag in ("ja", "ja-JP", "jpn_Jpan")],
        *[(tag, "ko-mecab") for tag in ("ko", "ko_KR", "kor")],
        *[(tag, "char") for tag in ("th", "th-TH", "km", "lo", "my", "bo", "tha_Thai")],
        *[(tag, "13a") for tag in ("de", "en-US", "vi", "hi", "", None)],
    ],
)
def test_the_tokeniser_of_a_language(language: str | None, expected: str) -> None:
    assert tokeniser_name(language) == expected


def test_a_chosen_tokeniser_comes_first() -> None:
    assert tokeniser_name("ja", "char") == "char"
    assert tokeniser_name("de", "intl") == "intl"


def test_words_of_text_without_spaces_are_found_whatever_tokeniser_bleu_uses() -> None:
    assert word_tokeniser_name("zh", "intl") == "zh"
    assert word_tokeniser_name(None, "char") == "char"
    assert word_tokeniser_name("ko", "ko-mecab") == "13a"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("ja-mecab", "ファイルは自動的に保存されます。", "ファイル は 自動的 に 保存 さ れ ます 。"),
        ("zh", "打开 2 个 PDF 文件。", "打 开 2 个 PDF 文 件 。"),
        ("ko-mecab", "파일을 저장하십시오.", "파일 을 저장 하 십시오 ."),
        ("char", "ลบไฟล", "ล บ ไ ฟ ล"),
    ],
)
def test_words_of_four_languages(name: str, text: str, words: str) -> None:
    assert Tokeniser(name)(text) == words.split()


def test_a_tokeniser_can_be_sent_to_another_process() -> None:
    tokeniser = Tokeniser("ja-mecab")
    words = tokeniser("保存します")
    assert pickle.loads(pickle.dumps(tokeniser))("保存します") == words


@pytest.mark.parametrize(("name", "module", "extra"), [("ja-mecab", "ipadic", "ja"), ("ko-mecab", "mecab_ko", "ko")])
def test_a_missing_package_is_one_line_with_its_extra(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_tokeniser.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"^{module} is not installed; run: pip install 'mtloop\[{extra}\]'$"):
        load_tokeniser(name)


def test_an_unknown_tokeniser_lists_those_of_sacrebleu() -> None:
    with pytest.raises(UnknownName, match="did you mean 'ja-mecab'"):
        load_tokeniser("ja-mecap")


@pytest.mark.parametrize("name", ["flores200", "flores101", "spBLEU-1K"])
def test_a_tokeniser_that_would_download_a_model_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", "/nowhere")
    with pytest.raises(InputError, match=f"run once: sacrebleu REF.txt -i HYP.txt -tok {name}"):
        load_tokeniser(name)


@pytest.mark.parametrize("language", REFERENCES)
def test_texts_without_spaces_are_recognised(language: str) -> None:
    texts = REFERENCES[language]
    assert lacks_spaces(texts) == (language != "ko")
    assert not lacks_spaces([" ".join(Tokeniser(tokeniser_name(language))(text)) for text in texts])


@pytest.mark.parametrize(
    "texts",
    [
        ["ファイル", "編集", "保存"],
        ["REST API の access_token を config.json に追加します。"],
        ["OK", "設定"],
        ["เปิดเมนู แล้วเลือก ตั้งค่า"],
    ],
)
def test_everyday_texts_without_spaces(texts: list[str]) -> None:
    assert lacks_spaces(texts, FAIR_SHARE)


@pytest.mark.parametrize("texts", [[], [""], ["Save the file."], ["Klicken Sie auf 文件, dann auf „OK“."], ["123"]])
def test_other_texts_have_spaces(texts: list[str]) -> None:
    assert not lacks_spaces(texts, FAIR_SHARE)
