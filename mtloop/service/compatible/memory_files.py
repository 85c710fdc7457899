"""Files of ModernMT's clients, which may be compressed."""

from __future__ import annotations

import gzip
import io
import zlib

from mtloop.service.compatible.modernmt_answers import bad_field
from mtloop.service.http import BODY_TOO_LARGE
from mtloop.service.problems import ProblemError

GZIP = "gzip"


def unpacked(name: str, content: bytes, compression: str, most: int) -> bytes:
    """The content of a file, which has at most so many bytes. `name` is the field in which it came."""
    if not compression:
        return content
    if compression != GZIP:
        raise bad_field("compression", "expected gzip")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            found = file.read(most + 1)
    except (OSError, EOFError, zlib.error):
        raise bad_field(name, "not a gzip file") from None
    if len(found) > most:
        raise ProblemError(BODY_TOO_LARGE)
    return found
