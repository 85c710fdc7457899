"""API keys: shown once, stored as a hash. A key is a long random string, so one round of SHA-256 is enough."""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from hashlib import sha256

from mtloop.core.errors import InputError

HEADER = "x-api-key"
COOKIE = "mtloop_session"
PREFIX = "mtl_"
MAX_KEY_LENGTH = 200
MAX_LIFETIME_DAYS = 36_500
_MAX_DIGITS = 9  # more are more than a hundred years, also in hours
_LIFETIME = re.compile(r"([1-9][0-9]*)([hdw])")
_SECONDS = {"h": 3_600, "d": 86_400, "w": 604_800}


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


def expiry_time(text: str, now: float) -> float | None:
    """The time at which a key expires: after hours, days or weeks, or at the end of a day in UTC. `never`: None.

    >>> expiry_time("90d", 0.0), expiry_time("1970-01-02", 0.0), expiry_time("never", 0.0)
    (7776000.0, 172799.0, None)
    """
    if text.lower() == "never":
        return None
    match = _LIFETIME.fullmatch(text.lower())
    when = now + int(match[1][:_MAX_DIGITS]) * _SECONDS[match[2]] if match else _end_of_day(text)
    if not now < when <= now + MAX_LIFETIME_DAYS * 86_400:
        raise InputError(f"expires {text!r}: expected a time in the next {MAX_LIFETIME_DAYS // 365} years")
    return when


def _end_of_day(text: str) -> float:
    try:
        day = datetime.strptime(text, "%Y-%m-%d")
    except ValueError:
        raise InputError(f"expires {text!r}: expected 12h, 90d, 8w, a date such as 2030-12-31, or never") from None
    return day.replace(hour=23, minute=59, second=59, tzinfo=UTC).timestamp()
