"""Projects for languages that clients name in several ways, each with a correction that tells it from the others."""

from __future__ import annotations

SOURCE = "Open the drawer of the cabinet."
PROJECTS = {
    "portuguese": ("en", "pt"),
    "persian": ("en", "fa"),
    "simplified": ("en", "zh-Hans"),
    "traditional": ("en", "zh-Hant"),
    "serbian": ("en", "sr"),
    "american": ("en-US", "de-DE"),
}
"""By name: the language pairs."""
CORRECTIONS = {
    "portuguese": "Abra a gaveta do armário.",
    "persian": "کشوی کمد را باز کنید.",
    "simplified": "打开柜子的抽屉。",
    "traditional": "打開櫃子的抽屜。",
    "serbian": "Отворите фиоку ормана.",
    "american": "Öffnen Sie die Schublade des Schranks.",
}
"""By name: what SOURCE means."""
