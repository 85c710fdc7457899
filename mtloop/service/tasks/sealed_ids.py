"""Opaque sentence ids: pass and position, encrypted with the run's own key.

The server reads (pass, position) from an id without a query, and detects a forged id. Participants cannot tell a
held-out sentence from another, and the same source has another id at every position. The construction is a synthetic
initialisation vector: the authentication tag of the plain text is also the seed of the encryption.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from hashlib import blake2b
from typing import NamedTuple

_HALF = 8
KEY_BYTES = 16


class PassPosition(NamedTuple):
    """A position in a pass. Passes count from 1, positions from 0."""

    pass_number: int
    position: int


def new_id_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def seal(key: bytes, at: PassPosition) -> str:
    """The id of a position.

    >>> key = bytes(16)
    >>> unseal(key, seal(key, PassPosition(2, 700)))
    PassPosition(pass_number=2, position=700)
    >>> unseal(bytes(15) + b"1", seal(key, PassPosition(2, 700)))
    """
    plain = at.pass_number.to_bytes(3, "big") + at.position.to_bytes(5, "big")
    tag = _tag(key, plain)
    return base64.urlsafe_b64encode(tag + _encrypted(key, tag, plain)).rstrip(b"=").decode()


def unseal(key: bytes, text: str) -> PassPosition | None:
    """The position of an id, or None if this run has no such id."""
    try:
        raw = base64.b64decode(text.encode() + b"==", altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    if len(raw) != 2 * _HALF:
        return None
    tag, plain = raw[:_HALF], _encrypted(key, raw[:_HALF], raw[_HALF:])
    if not secrets.compare_digest(tag, _tag(key, plain)):
        return None
    return PassPosition(int.from_bytes(plain[:3], "big"), int.from_bytes(plain[3:], "big"))


def _tag(key: bytes, plain: bytes) -> bytes:
    return blake2b(plain, digest_size=_HALF, key=key, person=b"tag").digest()


def _encrypted(key: bytes, tag: bytes, text: bytes) -> bytes:
    """XOR with a pad that follows from key and tag; encrypts and decrypts."""
    pad = blake2b(tag, digest_size=_HALF, key=key, person=b"pad").digest()
    return bytes(one ^ other for one, other in zip(text, pad, strict=True))
