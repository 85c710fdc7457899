"""Ports for servers that tests start."""

from __future__ import annotations

import random
from contextlib import suppress

from mtloop.core.errors import InputError
from mtloop.service.server import listen

PORTS = range(20_000, 32_000)  # systems give other ones to connections, and to whoever asks for any port
TRIES = 100


def free_port() -> int:
    """A port at which no server listens. Nobody else gets it by chance before the server takes it."""
    chance = random.SystemRandom()  # tests that run at the same time must not choose the same ones
    for port in (chance.choice(PORTS) for _ in range(TRIES)):
        with suppress(InputError), listen("127.0.0.1", port):
            return port
    raise AssertionError(f"none of {TRIES} ports is free")
