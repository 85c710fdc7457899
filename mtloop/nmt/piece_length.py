"""The default length of a piece; apart from the models, whose import takes seconds."""

from __future__ import annotations

# A longer sentence is split after a full stop inside it: models trained on single sentences omit later ones.
MAX_PIECE_TOKENS = 48
