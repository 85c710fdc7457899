"""English names of languages, by code: clients show them in their lists."""

from __future__ import annotations

import re
from functools import cache

from translate.lang.data import languages

from mtloop.text.language_codes import code_of, language_of

_OWN_NAMES = {
    "nb": "Norwegian Bokmål",
    "nn": "Norwegian Nynorsk",
    "st": "Southern Sotho",
    "zh": "Chinese",
    "zh_cn": "Chinese (simplified)",
    "zh_hans": "Chinese (simplified)",
    "zh_hant": "Chinese (traditional)",
    "zh_tw": "Chinese (traditional)",
    "en_us": "English (United States)",
    "pt_pt": "Portuguese (Portugal)",
}
_ADDITION = re.compile(r" \((?:post )?\d.*\)|, Modern.*|; .*?(?= \(|$)")  # Greek, Modern (1453-); Catalan; Valencian


@cache
def language_name(tag: str) -> str:
    """The name of a language, with its region if it has a name of its own; the tag itself if it is not known.

    >>> language_name("de"), language_name("de-AT"), language_name("PT-BR"), language_name("el"), language_name("xx")
    ('German', 'German', 'Portuguese (Brazil)', 'Greek', 'xx')
    """
    names = _names()
    wanted = (tag.strip().lower().replace("-", "_"), code_of(tag), language_of(tag))
    return next((names[one] for one in wanted if one in names), tag)


@cache
def _names() -> dict[str, str]:
    """The names by code, in lower case."""
    return {code.lower(): _ADDITION.sub("", str(row[0])) for code, row in languages.items()} | _OWN_NAMES
