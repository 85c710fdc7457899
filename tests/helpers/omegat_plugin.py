"""Requests as the plugin omegat-libre-translate 0.2.0 sends them, to the addresses that the docs give."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2

PAGE = Path(__file__).parents[2] / "docs/how-to/use-with-omegat.md"


def documented_addresses(server: str, key: str) -> list[str]:
    """The addresses on the page, those of this server: first the one with a key, then the one without."""
    written = re.findall(r"`(https?://[^`]*)`", PAGE.read_text(encoding="utf-8"))
    return [re.sub("https?://(?:HOST|127.0.0.1:8017)", server, one).replace("KEY", key) for one in written]


def ask_as_omegat(client: httpx2.Client, address: str, text: str, source: str = "en", target: str = "de") -> str:
    """LibreTranslate.java: a form with three fields, sent to the address as it is written; one field of the answer."""
    response = client.post(address, data={"q": text, "source": source, "target": target})
    assert response.status_code == 200, response.text
    return str(response.json()["translatedText"])
