"""Forget what metrics keep in memory about the texts that they scored.

sacreBLEU keeps the last 65,536 texts of each tokeniser, however long they are, and a text that comes again is cut into
words faster. A service that scores texts of others forgets them after each score: its memory has a bound, and a time
does not tell which texts it has seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from mtloop.metrics.ter import forget_beams

_BASE = "sacrebleu.tokenizers.tokenizer_base"


def forget_texts() -> None:
    """Forget the texts that sacreBLEU's tokenisers have cut into words, and the tables of TER."""
    for cache in tokeniser_caches():
        cache.cache_clear()
    forget_beams()


def tokeniser_caches() -> Iterator[Any]:
    """Yield the caches of the tokenisers that this process has loaded: functions with `functools.lru_cache`."""
    base = sys.modules.get(_BASE)
    classes: list[type] = [] if base is None else [base.BaseTokenizer]
    for tokeniser in classes:
        classes += tokeniser.__subclasses__()
        found = (getattr(tokeniser, name, None) for name in vars(tokeniser))
        yield from (one for one in found if hasattr(one, "cache_clear"))
