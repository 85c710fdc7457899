"""The tests reach this machine only."""

from __future__ import annotations

import socket

import pytest


@pytest.mark.parametrize("address", [("192.0.2.1", 80), ("2001:db8::1", 80, 0, 0)])
def test_a_connection_to_another_machine_is_refused(address: tuple[str, int]) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family) as one, pytest.raises(PermissionError, match="this machine only"):
        one.connect(address)


def test_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass
