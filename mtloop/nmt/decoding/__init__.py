"""Logits processors for decoding: a memory of confirmed segments, and words to copy."""
