"""Guess from the script of the letters whether texts can be in a language. The guess is rough, so it only warns."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from mtloop.text.language_codes import ALIASES, code_of, language_of

SAMPLE = 20_000  # characters
MIN_LETTERS = 20
MIN_SHARE = 0.1
"""A text that has a smaller share of letters in the scripts of a language is not in that language."""

SCRIPTS = {
    "LATIN": "af az bs ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it la lb lt lv ms mt nb nl nn pl pt ro sk "
    "sl so sq sv sw tl tr vi zu",
    "CYRILLIC": "be bg kk ky mk mn ru tg uk",
    "GREEK": "el",
    "ARABIC": "ar fa ps ur",
    "HEBREW": "he yi",
    "CJK": "zh ja",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "HANGUL": "ko",
    "DEVANAGARI": "hi mr ne",
    "BENGALI": "bn",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAI": "th",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
}
"""The languages that are written in a script. Languages with a choice, such as Serbian, are left out."""
JAPANESE = ("HIRAGANA", "KATAKANA")
_OTHER_LANGUAGES = """
am an ast as av ay ba bem bm bho brx ce ceb chr ckb co crh csb cv doi dsb dv ee ff fil fo frp fur fy gd gez gn gsw gu gv
haw hsb ht ia ig jbo jv kab kl kn kok ksh kw lij ln lzh mai mg mhr mi ml mni mrj my myv nan nds nn nqo nso ny oc om
or pa pap pms qu rm rn rw sa sah sat sc scn sco sd se shn si sma sn sr ss su szl tg ti tk tlh tn tok tt tyv tzm udm ug
uz vec wa wal wo xh yue za zgh
"""  # languages of software that are not in the lists above
_WORDS = {"cat", "mac", "may", "per"}  # they are other words more often than codes of three letters
LANGUAGES = frozenset(
    {*ALIASES, *ALIASES.values(), *_OTHER_LANGUAGES.split(), *" ".join(SCRIPTS.values()).split()} - _WORDS
)
"""Codes that certainly are languages."""


def unexpected_script(texts: Iterable[str], language: str) -> str:
    """Return the main script of the texts if the language is not written in it, else "".

    Nothing is returned for short texts, for languages that are not in the list, and for texts that mix scripts.

    >>> unexpected_script(["Откройте файл и сохраните его."], "en")
    'Cyrillic'
    """
    expected = {script for script, languages in SCRIPTS.items() if language_of(language) in languages.split()}
    counts = _count_scripts(texts) if expected else Counter[str]()
    letters = counts.total()
    if letters < MIN_LETTERS or sum(counts[script] for script in expected) >= MIN_SHARE * letters:
        return ""
    main = counts.most_common(1)[0][0]
    if main in JAPANESE or main == "CJK":
        return "Japanese" if any(counts[script] for script in JAPANESE) else "Chinese"
    return main.title()


def is_language(tag: str) -> bool:
    """Whether a tag has the code of a known language: other words may have two or three letters too.

    >>> is_language("it-IT"), is_language("udm"), is_language("src"), is_language("pe")
    (True, True, False, False)
    """
    return code_of(tag) in LANGUAGES


def _count_scripts(texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    seen = 0
    for text in texts:
        counts.update(_script(letter) for letter in text if letter.isalpha())
        seen += len(text)
        if seen >= SAMPLE:
            break
    return counts


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    """The first word of a letter's Unicode name, such as LATIN."""
    return unicodedata.name(letter, "UNKNOWN").partition(" ")[0].partition("-")[0]
