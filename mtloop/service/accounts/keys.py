"""API keys: shown once, stored as a hash. A key is a long random string, so one round of SHA-256 is enough."""

from __future__ import annotations

import secrets
from hashlib import sha256

PREFIX = "mtl_"
MAX_KEY_LENGTH = 200


def new_key() -> str:
    """A new random key. Its prefix lets people and secret scanners recognise it."""
    return PREFIX + secrets.token_urlsafe(32)


def new_token() -> str:
    """A random name that cannot be guessed. It is hexadecimal, so no command line takes it for an option."""
    return secrets.token_hex(16)


def hash_key(key: str) -> str:
    """The hash under which a key is stored.

    >>> hash_key("mtl_example")[:16]
    '10c658b1d9a04c14'
    """
    return sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
