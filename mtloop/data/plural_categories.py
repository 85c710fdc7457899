"""The plural categories of languages, from the Unicode CLDR (version 47, "Language Plural Rules", cardinal numbers)."""

from __future__ import annotations

from mtloop.text.language_codes import language_of

CATEGORIES = ("zero", "one", "two", "few", "many", "other")
"""All categories, in the order of CLDR."""

_LANGUAGES = {
    "other": "bm bo dz hnj id ig ii ja jbo jv kde kea km ko lkt lo ms my nqo osa sah ses sg su th to tpi vi wo yo yue "
    "zh",
    "one other": "af ak am an as asa ast az bal bem bez bg bho bn brx ca ce ceb cgg chr ckb csw da de doi dv ee el en "
    "eo es et eu fa ff fi fil fo fr fur fy gl gsw gu ha haw hi ht hu hy ia io is it jgo jmc ka kab kaj kcg kk kkj kl "
    "kn ks ksb ku ky lb lg lij lld ln mas mg mgo mk ml mn mr nb nd ne nl nn nnh nr nso ny nyn om or os pa pap pcm ps "
    "pt rm rof rwk saq sc scn sd sdh seh si sn so sq ss ssy st sv sw syr ta te teo ti tig tk tl tn tr ts tzm ug ur uz "
    "ve vec vo vun wa wae xh xog yi zu",
    "one two other": "he iu naq sat se sma smj smn sms",
    "zero one other": "blo ksh lag lv prg",
    "one few other": "bs hr ro shi sr",
    "one few many other": "be cs lt pl ru sk uk",
    "one two few other": "dsb gd hsb sl",
    "one two few many other": "br ga gv mt",
    "zero one two few many other": "ar cy kw",
}
_BY_LANGUAGE = {
    language: tuple(categories.split())
    for categories, languages in _LANGUAGES.items()
    for language in languages.split()
}


def plural_categories(tag: str) -> tuple[str, ...]:
    """Return the categories of whole numbers in a language, () if the language is unknown.

    The category "many" of Catalan, French, Haitian, Italian, Portuguese, Spanish and their neighbours is left out. CLDR
    has it for round millions only, and without it "other" is used.

    >>> plural_categories("de"), plural_categories("pl-PL"), plural_categories("ja")
    (('one', 'other'), ('one', 'few', 'many', 'other'), ('other',))
    """
    return _BY_LANGUAGE.get(language_of(tag), ())
