"""What learners save, in a form that can be compared: equal states may be written in another order."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from mtloop.core.protocols import Learner, Stateful
from mtloop.service.engines.snapshots import pack


def saved_state(learner: Learner) -> dict[str, Any]:
    """The files that a learner saves, by name."""
    assert isinstance(learner, Stateful)
    with zipfile.ZipFile(io.BytesIO(pack(learner))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return {name: content_of(data) if name.endswith(".safetensors") else data for name, data in files.items()}


def content_of(data: bytes) -> dict[str, Any]:
    """The tensors of a delta, each with its type, shape and bytes; and its metadata."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    metadata = header.pop("__metadata__")
    metadata["counters"] = json.loads(metadata["counters"])  # their order is by chance
    found = dict[str, Any](metadata=metadata)
    for name, one in header.items():
        first, last = one["data_offsets"]
        found[name] = one["dtype"], one["shape"], data[end + first : end + last]
    return found
