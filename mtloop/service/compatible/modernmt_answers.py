"""The form of ModernMT's answers: `{"status": 200, "data": ...}`, or `{"status": 400, "error": {...}}`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from mtloop.service.compatible.request_fields import RequestFields
from mtloop.service.http import json_response
from mtloop.service.problems import Problem, ProblemError, invalid_request

UNKNOWN_PAIR_TYPE = "LanguagePairNotSupportedException"  # MateCat looks for this name


def data_response(data: Any) -> Response:
    """An answer with data."""
    return json_response({"status": 200, "data": data})


def modernmt_problem(problem: Problem) -> Response:
    """The answer to a problem. A request that cannot be understood is 400, as its clients expect."""
    status = 400 if problem.status in (415, 422) else problem.status
    name = "".join(word.capitalize() for word in problem.title.split()) + "Exception"
    kind = UNKNOWN_PAIR_TYPE if problem.name == "unknown-pair" else name
    error = {"type": kind, "message": " ".join(problem.detail.split())}
    return json_response({"status": status, "error": error}, status)


def bad_field(name: str, expected: str) -> ProblemError:
    """A field that is missing or wrong."""
    return ProblemError(replace(invalid_request(f"{name}: {expected}"), status=400))


def required_text(fields: RequestFields, name: str, most: int) -> str:
    """A field that must be there, with at most so many characters."""
    text = limited_text(fields, name, most)
    if not text.strip():
        raise bad_field(name, "expected a text")
    return text


def limited_text(fields: RequestFields, name: str, most: int) -> str:
    """A field with at most so many characters."""
    text = fields.text(name)
    if len(text) > most:
        raise bad_field(name, f"expected at most {most} characters")
    return text


def listed_names(fields: RequestFields, name: str) -> list[str]:
    """A field that is a list of names or numbers, or one text with commas."""
    value = fields.values.get(name)
    parts = [str(one) if type(one) is int else one for one in (value if isinstance(value, list) else [value])]
    return RequestFields({name: [] if value is None else parts}).names(name)
