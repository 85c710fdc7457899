"""Messages between a web process and an engine: JSON lines. This is all that an engine on another machine would need.

A call has an `id`, a `call`, a `project` and arguments. The answer has the same `id` and a `result`, or an `error`, the
name of a problem. `{"cancel": id}` drops a call that is still waiting.
"""

from __future__ import annotations

import json
from typing import Any

MAX_LINE = 1 << 26  # bytes
GONE = "gone"  # the project does not exist any more
UNAVAILABLE = "unavailable"  # the database does not answer
INTERRUPTED = "interrupted"  # a lesson could not be learned now, for example for lack of memory; the next call tries
FAILED = "failed"  # an error in the engine; it is in its log
INVALID = "invalid"  # the call asks for something that the method cannot do; `detail` says what


def encode_message(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def decode_message(line: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(line.decode("utf-8", "surrogatepass"))
    return found
