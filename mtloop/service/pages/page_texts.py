"""The texts of pages in several languages. A catalogue is a TOML file: `catalogues/PAGE.LANGUAGE.toml`."""

from __future__ import annotations

import time
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent / "catalogues"
LANGUAGES = {"en": "English", "de": "Deutsch"}  # the first is used for browsers that ask for none of them
COOKIE = "mtloop_language"
YEAR = 365 * 86_400  # seconds
DECIMAL_COMMA = ("de",)
_DECIMAL_COMMA = str.maketrans(",.", ".,")


@dataclass(frozen=True)
class Messages:
    """The texts of one language. In templates: `{{ say("save") }}`, `{{ say("left", count=3) }}`."""

    language: str
    texts: dict[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key, with its placeholders filled in.

        >>> Messages("en", {"left": "{count} left"})("left", count=3)
        '3 left'
        """
        return self.texts[key].format(**values) if values else self.texts[key]

    def number(self, value: float | None, digits: int = 0) -> str:
        """A number as people of the language write it, or a dash for None.

        >>> Messages("de", {}).number(1234.5, 1), Messages("en", {}).number(None)
        ('1.234,5', '–')
        """
        if value is None:
            return "–"
        text = f"{value:,.{digits}f}"
        return text.translate(_DECIMAL_COMMA) if self.language in DECIMAL_COMMA else text

    def since(self, when: float) -> str:
        """The time since `when`, in the largest unit that fits."""
        seconds = max(0, int(time.time() - when))
        for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
            if count := seconds // length:
                return self(f"ago_{unit}") if count == 1 else self(f"ago_{unit}s", count=count)
        return self("ago_now")


@lru_cache(maxsize=64)
def messages(page: str, language: str) -> Messages:
    """The texts of a page in a language, for the template and, as `texts`, for its scripts."""
    with (FOLDER / f"{page}.{language}.toml").open("rb") as file:
        return Messages(language, tomllib.load(file))


@lru_cache(maxsize=8)
def refusals(language: str) -> list[tuple[str, str]]:
    """What the API says when it refuses something, and how a page says it, in the order in which they are tried."""
    said, shown = messages("refusals", "api").texts, messages("refusals", language).texts
    return [(said[key], shown[key]) for key in said]


def language_of(request: Request) -> str:
    """The language of a reader: `?lang=` of the address, else the cookie, else what the browser asks for."""
    chosen = (request.query_params.get("lang", ""), request.cookies.get(COOKIE, ""))
    return next((one for one in chosen if one in LANGUAGES), preferred(request.headers.get("accept-language", "")))


def preferred(header: str) -> str:
    """The first language of an Accept-Language header that pages have; else English.

    >>> preferred("fr-FR, de-AT;q=0.9, en;q=0.8"), preferred("fr")
    ('de', 'en')
    """
    asked = (part.partition(";")[0].strip().lower().partition("-")[0] for part in header[:200].split(","))
    return next((one for one in asked if one in LANGUAGES), next(iter(LANGUAGES)))


def remember_language(response: Response, request: Request) -> Response:
    """Set the cookie of the language if the address chooses one."""
    chosen = request.query_params.get("lang", "")
    if chosen in LANGUAGES:
        response.set_cookie(COOKIE, chosen, max_age=YEAR, httponly=True, samesite="lax")
    return response
