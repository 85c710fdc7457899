"""The number of threads that the engine computes with."""

from __future__ import annotations

import os


def set_threads(threads: int) -> None:
    """Set the number of threads of this process. A different number changes the last bits of every matrix product."""
    import torch

    os.environ["OMP_NUM_THREADS"] = str(threads)
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # subnormal numbers make products a hundred times slower and change no result
