"""The languages that an API lists for the projects of a key.

Clients look into these lists before they ask, each with codes of its own: a project for zh-Hans is `zh-CN` for one and
`ZH-HANS` for another. So a list has the tags of the projects, and all codes of the API that mean one of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from mtloop.service.compatible.language_variants import Pair, closest_pairs, is_readable, script_of
from mtloop.text.language_codes import language_of

MAX_VARIANTS = 50  # pairs of tags with the same languages; of more, only these are listed


def listed_pairs(pairs: Iterable[Pair], codes: Sequence[str]) -> list[Pair]:
    """The pairs of projects, and those other pairs of an API's codes that mean one of them alone.

    >>> listed_pairs([("en", "fa")], ["pt-PT", "pes"])
    [('en', 'fa'), ('en', 'pes')]
    >>> listed_pairs([("en", "pt-BR"), ("en", "pt-PT")], ["pt-PT", "pt-BR"])  # which one is pt?
    [('en', 'pt-BR'), ('en', 'pt-PT')]
    """
    own = list(dict.fromkeys(pairs))
    return list(dict.fromkeys([*own, *_other_pairs([pair for pair in own if all(pair)], codes)]))


def _other_pairs(own: Sequence[Pair], codes: Sequence[str]) -> Iterator[Pair]:
    groups = defaultdict[Pair, list[Pair]](list)
    for source, target in own:
        groups[language_of(source), language_of(target)].append((source, target))
    for group in groups.values():
        if len(group) <= MAX_VARIANTS:
            named = [product(_codes(source, codes), _codes(target, codes)) for source, target in group]
            asked = dict.fromkeys(pair for pairs in named for pair in pairs)
            yield from (one for one in asked if one[0] != one[1] and len(closest_pairs(group, *one)) == 1)


def _codes(tag: str, codes: Sequence[str]) -> list[str]:
    """A tag, its language, and the codes that can be read as it.

    The language of a tag with a script is not among them: clients that look for another script take it instead.
    """
    known = [one for one in (language_of(tag), *codes) if is_readable(one, tag)]
    return [tag, *(one for one in known if script_of(one) or not script_of(tag))]
