"""Ids that say nothing: where a sentence stands in a run, sealed with the run's own key.

The server reads (pass, position) back out of an id without looking anything up, and knows a forged one. To a
participant the same source at two positions has two ids, and a held-out sentence looks like any other. The
construction is a synthetic initialisation vector: the tag of the plain text is also what encrypts it.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from hashlib import blake2b
from typing import NamedTuple

_HALF = 8
KEY = 16


class PassPosition(NamedTuple):
    """A position of a pass. Passes (laps, since `pass` is a word of Python) count from 1, positions from 0."""

    lap: int
    position: int


def new_key() -> bytes:
    return secrets.token_bytes(KEY)


def new_token() -> str:
    """A name that cannot be guessed, and that no command line takes for an option: hexadecimal, so it never begins
    with a dash.
    """
    return secrets.token_hex(KEY)


def seal(key: bytes, place: PassPosition) -> str:
    """The id of a place.

    >>> key = bytes(16)
    >>> unseal(key, seal(key, PassPosition(2, 700)))
    Place(lap=2, position=700)
    >>> unseal(bytes(15) + b"1", seal(key, PassPosition(2, 700)))
    """
    plain = place.lap.to_bytes(3, "big") + place.position.to_bytes(5, "big")
    tag = _tag(key, plain)
    return base64.urlsafe_b64encode(tag + _crypted(key, tag, plain)).rstrip(b"=").decode()


def unseal(key: bytes, text: str) -> PassPosition | None:
    """The place an id stands for; None if this run never gave it out."""
    try:
        raw = base64.b64decode(text.encode() + b"==", altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    if len(raw) != 2 * _HALF:
        return None
    tag, plain = raw[:_HALF], _crypted(key, raw[:_HALF], raw[_HALF:])
    if not secrets.compare_digest(tag, _tag(key, plain)):
        return None
    return PassPosition(int.from_bytes(plain[:3], "big"), int.from_bytes(plain[3:], "big"))


def _tag(key: bytes, plain: bytes) -> bytes:
    return blake2b(plain, digest_size=_HALF, key=key, person=b"tag").digest()


def _crypted(key: bytes, tag: bytes, text: bytes) -> bytes:
    pad = blake2b(tag, digest_size=_HALF, key=key, person=b"pad").digest()
    return bytes(one ^ other for one, other in zip(text, pad, strict=True))
