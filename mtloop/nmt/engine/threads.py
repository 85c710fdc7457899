"""The number of threads that the engine computes with."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager


def processor() -> str:
    """Return the precision and the kind of processor. Where they differ, results may differ in the last bits."""
    import torch

    return f"float32 {platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def set_threads(threads: int) -> None:
    """Set the number of threads of this process. A different number changes the last bits of every matrix product."""
    import torch

    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # subnormal numbers make products a hundred times slower and change no result


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread. More make a search with few hypotheses no faster, and on a busy machine much slower."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
