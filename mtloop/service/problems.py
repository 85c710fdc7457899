"""Every error that a client can get, as RFC 9457 problem details. A problem never quotes the request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from mtloop.core.errors import PicklableError

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class Problem:
    """An error response. `name` becomes the type urn:mtloop:NAME; without one the type is about:blank."""

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


class ProblemError(PicklableError):
    """Ends a request with a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.name or problem.title)
        self.problem = problem


UNKNOWN_KEY = Problem(
    401, "unknown-key", "Unknown key", "Send a valid API key in the header x-api-key. Revoked keys are not valid."
)
NOT_FOUND = Problem(404, "", "Not found", "There is no such resource.")
NOT_ORGANISER = NOT_FOUND  # the same answer, so that others do not learn that the route exists
UNKNOWN_TASK = Problem(404, "unknown-task", "Unknown task", "There is no such task. GET /v1/tasks lists all tasks.")
UNKNOWN_METHOD = Problem(
    404, "unknown-method", "Unknown method", "There is no such method. GET /v1/methods lists all methods."
)
UNKNOWN_RUN = Problem(404, "unknown-run", "Unknown run", "You have no such run. GET /v1/runs lists your runs.")
UNKNOWN_SENTENCE = Problem(404, "unknown-sentence", "Unknown sentence", "This run has no sentence with this id.")
END_OF_STREAM = Problem(404, "end-of-stream", "End of stream", "Every sentence of this pass is translated.")
ALREADY_TRANSLATED = Problem(
    409, "already-translated", "Already translated", "This sentence has another translation, which cannot be changed."
)
WRONG_ORDER = Problem(
    409, "wrong-order", "Wrong order", "This sentence is not the pending one. GET next returns the pending sentence."
)
NO_MORE_PASSES = Problem(409, "no-more-passes", "No more passes", "This run may not start another pass.")
UNFINISHED_PASS = Problem(
    409, "pass-not-finished", "Pass not finished", "The next pass starts after the last sentence of this one."
)
NO_MORE_RUNS = Problem(409, "no-more-runs", "No more runs", "You have as many runs of this task as it allows.")
TASK_STOPPED = Problem(
    409, "task-stopped", "Task stopped", "The organiser has stopped this task. It takes no more translations."
)
RESULTS_HIDDEN = Problem(
    404, "results-hidden", "Results hidden", "The organiser has not opened the results of this task yet."
)
TOO_LARGE = Problem(413, "too-large", "Too large", "The request or the translation is larger than this task allows.")
WRONG_CONTENT_TYPE = Problem(415, "wrong-content-type", "Wrong content type", "Send the body as application/json.")
INTERNAL_ERROR = Problem(500, "internal-error", "Internal error", "The server failed. The error is in its log.")
DATABASE_UNAVAILABLE = Problem(
    503,
    "database-unavailable",
    "Database unavailable",
    "The database does not answer. Everything that was acknowledged is stored. Try again.",
    1,
)


def invalid_request(detail: str) -> Problem:
    """A body or parameter that does not match the API description."""
    return Problem(422, "invalid-request", "Invalid request", detail)


def too_many(seconds: int) -> Problem:
    """The allowance is used up; `seconds` until it is renewed."""
    detail = f"Your allowance is used up. It is renewed in {seconds} seconds."
    return Problem(429, "too-many-requests", "Too many requests", detail, seconds)


def documented(*problems: Problem) -> dict[int | str, dict[str, Any]]:
    """The responses of a route in the OpenAPI description, by status."""
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
