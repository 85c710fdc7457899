"""Everything that can go wrong for a client, as RFC 9457 problem details. Nothing a client sent is ever repeated."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Problem:
    """An answer that is not the one hoped for; `name` becomes urn:mtloop:NAME."""

    status: int
    name: str
    title: str
    detail: str
    retry_after: int | None = None

    def response(self) -> Response:
        kind = f"urn:mtloop:{self.name}" if self.name else "about:blank"
        body = {"type": kind, "title": self.title, "status": self.status, "detail": self.detail}
        headers = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        if self.status == 401:
            headers["www-authenticate"] = 'ApiKey header="x-api-key"'
        return Response(json.dumps(body), self.status, headers, MEDIA_TYPE)


class ProblemError(Exception):
    """Ends a request with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.name or problem.title)
        self.problem = problem


NO_KEY = Problem(
    401, "unknown-key", "Unknown key", "Send your API key in the header x-api-key; a revoked one is unknown."
)
NOT_ORGANISER = Problem(404, "", "Not found", "There is nothing here.")
NOT_FOUND = NOT_ORGANISER
UNKNOWN_TASK = Problem(404, "unknown-task", "Unknown task", "No such task; GET /v1/tasks lists them.")
UNKNOWN_RUN = Problem(404, "unknown-run", "Unknown run", "You have no such run; GET /v1/runs lists yours.")
UNKNOWN_SENTENCE = Problem(
    404, "unknown-sentence", "Unknown sentence", "This run never gave out a sentence with this id."
)
END = Problem(404, "end-of-stream", "End of stream", "Every sentence of this pass has been translated.")
TRANSLATED = Problem(
    409, "already-translated", "Already translated", "This sentence was translated differently before; that stands."
)
WRONG_ORDER = Problem(
    409, "wrong-order", "Wrong order", "This sentence was not pending; GET next tells the one that is."
)
NO_MORE_PASSES = Problem(409, "no-more-passes", "No more passes", "This run has no further pass.")
UNFINISHED = Problem(
    409, "pass-not-finished", "Pass not finished", "The next pass starts when this one is translated to its end."
)
NO_MORE_RUNS = Problem(409, "no-more-runs", "No more runs", "You have as many runs of this task as it allows.")
STOPPED = Problem(
    409, "task-stopped", "Task stopped", "The organiser has stopped this task; nothing is taken any more."
)
HIDDEN = Problem(404, "results-hidden", "Results hidden", "The organiser has not opened the results of this task yet.")
TOO_LARGE = Problem(413, "too-large", "Too large", "The request or the translation is larger than this task takes.")
WRONG_TYPE = Problem(415, "wrong-content-type", "Wrong content type", "Send the body as application/json.")
AWAY = Problem(
    503, "database-away", "Not available", "The database does not answer; what was acknowledged is kept. Try again.", 1
)


def invalid(detail: str) -> Problem:
    """A body or parameter that is not what the description asks for."""
    return Problem(422, "invalid", "Invalid request", detail)


def too_many(seconds: int) -> Problem:
    """The allowance is used up; it is renewed in so many seconds."""
    detail = f"Your allowance is used up; it is renewed in {seconds} seconds."
    return Problem(429, "too-many-requests", "Too many requests", detail, seconds)


def documented(*problems: Problem) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI description: every status a route may answer with, and under which names."""
    found: dict[int | str, dict[str, Any]] = {}
    for problem in problems:
        texts = found.setdefault(problem.status, _described(problem))
        if problem.detail not in texts["description"]:
            texts["description"] += f" / {problem.title}: {problem.detail}"
    return found


def _described(problem: Problem) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/ProblemBody"}
    described: dict[str, Any] = {
        "description": f"{problem.title}: {problem.detail}",
        "content": {MEDIA_TYPE: {"schema": schema}},
    }
    if problem.retry_after is not None:
        described["headers"] = {"Retry-After": {"description": "seconds", "schema": {"type": "integer"}}}
    return described
