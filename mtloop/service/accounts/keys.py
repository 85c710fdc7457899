"""API keys: shown once, stored as a hash. They are long random strings, so a plain hash is enough."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "mtl_"
LONGEST = 200


def new_key() -> str:
    """A key; the prefix lets people and secret scanners recognise it."""
    return PREFIX + secrets.token_urlsafe(32)


def hash_key(key: str) -> str:
    """What is stored of a key.

    >>> hash_key("mtl_example")[:16]
    '10c658b1d9a04c14'
    """
    return sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
