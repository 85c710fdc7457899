"""How much memory a learner takes beside the base model that it shares with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

_SEQUENCES = (list, tuple, set, frozenset)
MAX_LOOKED_AT = 50  # values of a container; those of a larger one are alike
MAX_DEPTH = 8  # of containers inside each other


def held_bytes(learner: object, shared: object = None) -> int:
    """The bytes of all tensors and arrays of a learner, each counted once, without those that `shared` has too.

    Texts and numbers are not counted: beside the weights they are small. Nor is what libraries in C++ hold, as Thot.
    """
    known = dict(_arrays(shared))
    return sum(size for place, size in dict(_arrays(learner)).items() if place not in known)


def _arrays(root: object) -> Iterator[tuple[int, int]]:
    """The arrays that an object of this package holds, directly or through others: where each lies, and its bytes."""
    seen, waiting = dict[int, object](), [root]  # what is kept here keeps its id
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if (found := _array(one)) is not None:
            yield found
        else:
            waiting += [part for part in _parts(one) if _may_hold_arrays(part)]


def _array(one: Any) -> tuple[int, int] | None:
    """Where an array lies and its bytes; the views of a tensor are one. None: it is no array."""
    if hasattr(one, "untyped_storage"):  # of torch, which a server without neural methods lacks
        storage = one.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    if hasattr(one, "__array_interface__"):  # of numpy
        return one.__array_interface__["data"][0], one.nbytes
    return None


def _parts(one: Any) -> Iterator[object]:
    if isinstance(one, Mapping) and type(one).__module__ in ("builtins", "collections"):
        yield from one.values()
    elif isinstance(one, _SEQUENCES):
        yield from one
    elif _tells_state(one):
        yield one.state_dict()
    else:
        yield from getattr(one, "__dict__", {}).values()


def _may_hold_arrays(one: Any, depth: int = 0) -> bool:
    """Whether it is worth to look into an object: it is an array, or holds some, or is of this package."""
    if isinstance(one, dict | list | tuple | set | frozenset):
        parts = islice(_parts(one), MAX_LOOKED_AT)
        return depth < MAX_DEPTH and any(_may_hold_arrays(part, depth + 1) for part in parts)
    return _array(one) is not None or type(one).__module__.startswith("mtloop.") or _tells_state(one)


def _tells_state(one: object) -> bool:
    """Whether it is an object of another package that tells its state, such as an optimiser or a module of torch."""
    is_other = not isinstance(one, type) and not type(one).__module__.startswith("mtloop.")
    return is_other and callable(getattr(one, "state_dict", None))
