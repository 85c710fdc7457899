"""The default length of a piece; apart from the models, whose import takes seconds."""

from __future__ import annotations

# A longer source is split between sentences: models trained on single sentences omit text after the first few ones.
MAX_PIECE_TOKENS = 48
