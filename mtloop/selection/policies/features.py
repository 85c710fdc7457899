"""Features of a source segment for contextual policies; no translation is needed."""

from __future__ import annotations

import re

import numpy as np

from mtloop.core.types import Segment
from mtloop.selection.policies.batch_policy import Array

FEATURE_COUNT = 6
_WORD = re.compile(r"\w+")


def source_features(segment: Segment) -> Array:
    """A constant 1, and length, digits, capitals, long words and punctuation of the source, each scaled to [0, 1].

    For an empty source only the constant is not 0: the policy then learns plain means.

    >>> source_features(Segment("1", "Save 3 files."))[:3].round(2).tolist()
    [1.0, 0.08, 0.33]
    """
    words = _WORD.findall(segment.source)
    number = max(len(words), 1)
    return np.array(
        [
            1.0,
            min(len(words) / 40, 1.0),
            sum(word[0].isdigit() for word in words) / number,
            sum(word[0].isupper() for word in words[1:]) / number,
            sum(len(word) > 9 for word in words) / number,
            min(sum(not c.isalnum() and not c.isspace() for c in segment.source) / 10, 1.0),
        ]
    )
