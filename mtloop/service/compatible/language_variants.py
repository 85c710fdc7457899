"""Whether a project fits the languages that a request names, and which of several projects is closest to them.

A project with another region, such as pt-PT for pt-BR, still translates if no project is closer. One with another
script does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mtloop.data.languages import EQUAL, SISTER, VARIETY, closeness, normalise_tag
from mtloop.service.project_log.models import TranslationProject
from mtloop.text.language_codes import language_of

T = TypeVar("T")
Pair = tuple[str, str]
AUTO = "auto"
MAX_TAG = 40  # characters of a tag that are looked at
_CHINESE_SCRIPTS = ("Hans", "Hant")


def fits(project: TranslationProject, source: str, target: str) -> bool:
    """Whether a project translates a pair. Regions and case do not matter, scripts do.

    An empty language is any, and so is `auto` as the source.
    """
    if target.lower() == AUTO:
        return False
    pairs = (source, project.source_language), (target, project.target_language)
    return all(_is_any(asked) or not own or is_readable(asked[:MAX_TAG], own) for asked, own in pairs)


def closest(
    candidates: Sequence[T], project_of: Callable[[T], TranslationProject], source: str, target: str
) -> list[T]:
    """Those whose projects are closest to a pair: the same tags, else more general ones. The target counts first."""
    pairs = [(project_of(one).source_language, project_of(one).target_language) for one in candidates]
    ranks = [_closeness(pair, source, target) for pair in pairs]
    best = max(ranks, default=None)
    return [one for one, rank in zip(candidates, ranks, strict=True) if rank == best]


def closest_pairs(pairs: Sequence[Pair], source: str, target: str) -> list[Pair]:
    """Those of some pairs of tags that a request for a pair means: the closest ones that fit."""
    fitting = [pair for pair in pairs if is_readable(source, pair[0]) and is_readable(target, pair[1])]
    best = max((_closeness(pair, source, target) for pair in fitting), default=None)
    return [pair for pair in fitting if _closeness(pair, source, target) == best]


def is_other_variant(asked: str, own: str) -> bool:
    """Whether both tags name a region or script, and these differ.

    >>> is_other_variant("zh-TW", "zh-Hans"), is_other_variant("pt-BR", "pt_PT"), is_other_variant("de_AT", "de")
    (True, True, False)
    """
    return closeness(asked[:MAX_TAG], own) == SISTER


def is_readable(asked: str, own: str) -> bool:
    """Whether two tags have the same language, and not two scripts."""
    scripts = {script_of(asked), script_of(own)} - {""}
    return language_of(asked) == language_of(own) and len(scripts) < 2


def script_of(tag: str) -> str:
    """The script that a tag names. That of Chinese follows from the region.

    >>> script_of("sr_latn"), script_of("zh-TW"), script_of("zh"), script_of("de-1996")
    ('Latn', 'Hant', '', '')
    """
    named = [one for one in normalise_tag(tag).split("-")[1:] if len(one) == 4 and one.isalpha()]
    chinese = [one for one in _CHINESE_SCRIPTS if closeness(f"zh-{one}", tag) == VARIETY]
    return next(iter([*named, *chinese]), "")


def _closeness(own: Pair, source: str, target: str) -> tuple[int, int]:
    ranks = [
        EQUAL if _is_any(asked) else closeness(asked[:MAX_TAG], tag)
        for asked, tag in zip((source, target), own, strict=True)
    ]
    return ranks[1], ranks[0]


def _is_any(language: str) -> bool:
    return not language or language.lower() == AUTO
