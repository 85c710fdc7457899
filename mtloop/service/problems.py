"""Every error that a client can get, as RFC 9457 problem details.

A problem never quotes the request, except a placeholder or tag that does not belong into a text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    401, "unknown-key", "Unknown key", "Send a valid API key, in the header x-api-key or where your client has its key."
)
EXPIRED_KEY = Problem(
    401, "expired-key", "Expired key", "This API key has expired. Ask the organiser to renew it or for a new one."
)
MISSING_KEY = Problem(
    401, "missing-key", "Missing key", "Send an API key. `mtloop participant add NAME` on the server prints one."
)
WRONG_SIGNATURE = Problem(
    401,
    "wrong-signature",
    "Wrong signature",
    "There is no such webhook, its secret is another one, the key that made it is not valid any more, or the request "
    "is older than five minutes.",
)
NOT_FOUND = Problem(404, "", "Not found", "There is no such resource.")
NOT_ORGANISER = NOT_FOUND  # the same answer, so that others do not learn that the route exists
UNKNOWN_TASK = Problem(404, "unknown-task", "Unknown task", "There is no such task. GET /v1/tasks lists all tasks.")
UNKNOWN_METHOD = Problem(
    404, "unknown-method", "Unknown method", "There is no such method. GET /v1/methods lists all methods."
)
UNKNOWN_PROJECT = Problem(
    404, "unknown-project", "Unknown project", "You have no such project. GET /v1/projects lists your projects."
)
UNKNOWN_CORRECTION = Problem(
    404, "unknown-correction", "Unknown correction", "This project has no correction with this number."
)
UNKNOWN_DOCUMENT = Problem(
    404, "unknown-document", "Unknown document", "This project has no such document, or the document has no such unit."
)
UNKNOWN_JOB = Problem(404, "unknown-job", "Unknown job", "This project has no such import.")
UNKNOWN_PROPOSAL = Problem(
    404, "unknown-proposal", "Unknown proposal", "This project has no such proposal, or it was rated already."
)
UNKNOWN_CAMPAIGN = Problem(
    404, "unknown-campaign", "Unknown campaign", "There is no such campaign. GET /v1/campaigns lists all campaigns."
)
UNKNOWN_SEGMENT = Problem(404, "unknown-segment", "Unknown segment", "This campaign has no such segment.")
UNKNOWN_RATING_LINK = Problem(
    404, "unknown-rating-link", "Unknown link", "The link is wrong, or was renewed. Ask the organiser for a new one."
)
UNKNOWN_ITEM = Problem(404, "unknown-item", "Unknown item", "You were not given this item. GET next returns yours.")
UNKNOWN_PARTICIPANT = Problem(404, "unknown-participant", "Unknown participant", "There is no such participant.")
ROLE_TOO_WEAK = Problem(
    403, "role-too-weak", "Role too weak", "Your role in this project does not allow this. Ask an organiser of it."
)
NOT_ALLOWED_HERE = Problem(
    403,
    "not-allowed-here",
    "Not allowed here",
    "The operator of this service does not allow this model, method or setting.",
)
PROJECT_EXISTS = Problem(409, "project-exists", "Project exists", "There is a project of this name already.")
CAMPAIGN_EXISTS = Problem(409, "campaign-exists", "Campaign exists", "There is a campaign of this name already.")
CAMPAIGN_STOPPED = Problem(
    409, "campaign-stopped", "Campaign stopped", "The organiser has stopped this campaign. It takes no more ratings."
)
RATER_EXISTS = Problem(
    409, "rater-exists", "Rater exists", 'This campaign has a rater of this name. Send "renew": true for a new link.'
)
RATED_ALREADY = Problem(
    409, "rated-already", "Rated already", "You have answered this item in another way. Undo that first."
)
NOTHING_TO_UNDO = Problem(409, "nothing-to-undo", "Nothing to undo", "You have no rating and no skip to take back.")
LAST_ORGANISER = Problem(
    409, "last-organiser", "Last organiser", "Nobody else organises this project. Let somebody else organise it first."
)
NO_MORE_PROJECTS = Problem(
    409, "no-more-projects", "No more projects", "You have created as many projects as this service allows."
)
NO_MORE_CORRECTIONS = Problem(
    409,
    "no-more-corrections",
    "No more corrections",
    "This project has as many corrections as this service allows.",
)
EQUAL_CORRECTION = Problem(
    409, "equal-correction", "Equal correction", "An equal correction of the same segment counts already."
)
UNIT_CHANGED = Problem(
    409, "unit-changed", "Unit changed", "Somebody has changed this unit meanwhile. Read it again, then decide."
)
UNIT_LOCKED = Problem(409, "unit-locked", "Unit locked", "The file says that this unit is not to be translated.")
UNIT_NOT_CONFIRMED = Problem(
    409, "unit-not-confirmed", "Unit not confirmed", "This unit has no confirmation that could be undone."
)
NO_MORE_DOCUMENTS = Problem(
    409, "no-more-documents", "No more documents", "This project has as many documents, or bytes of them, as allowed."
)
REPEATED_DELIVERY = Problem(
    409, "repeated-delivery", "Repeated delivery", "This delivery of the webhook came before. It was not used again."
)
NO_RATINGS = Problem(409, "no-ratings", "No ratings", "The method of this project does not learn from ratings.")
NO_CORRECTIONS = Problem(
    409, "no-corrections", "No corrections", "The method of this project does not learn from corrections."
)
NO_DELTA = Problem(409, "no-delta", "No delta", "The method of this project cannot write what it learned to one file.")
TOO_MANY_STREAMS = Problem(
    429, "too-many-streams", "Too many streams", "You watch as many projects as this service allows. Close one.", 10
)
TOO_MANY_UPLOADS = Problem(
    429, "too-many-uploads", "Too many uploads", "You send as many files at once as this service allows.", 10
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
ENGINE_UNAVAILABLE = Problem(
    503,
    "engine-unavailable",
    "Engine unavailable",
    "The engine does not answer. Everything that was acknowledged is stored. Try again.",
    1,
)
SCORING_BUSY = Problem(
    503,
    "scoring-busy",
    "Scoring busy",
    "Too many long translations wait for their rewards. This one was not stored. Try again.",
    1,
)


def unknown_pair(pairs: Sequence[str], source: str, target: str) -> Problem:
    """No project of a key translates a language pair; `pairs` are those there are. It quotes no long text."""
    known = f"This key translates {', '.join(dict.fromkeys(pairs))}." if pairs else "This key opens no project."
    languages = [one[:16] for one in (source, target) if one]
    if len(languages) == 1:
        languages = [f"Translation {'from' if source else 'into'} {languages[0]}"]
    wanted = f"{'-'.join(languages)} is not supported. " if languages else ""
    return Problem(400, "unknown-pair", "Unknown language pair", f"{wanted}{known}")


def several_projects(names: Sequence[str]) -> Problem:
    """A key opens several projects for a language pair."""
    shown = ", ".join(names[:5])
    detail = f"This key opens several projects ({shown}). Write the key as KEY:PROJECT, such as KEY:{names[0]}."
    return Problem(400, "several-projects", "Several projects", detail)


def invalid_request(detail: str) -> Problem:
    """A body or parameter that does not match the API description."""
    return Problem(422, "invalid-request", "Invalid request", detail)


def protected_text(objection: str, may_insist: bool) -> Problem:
    """The text of a unit lacks placeholders or tags of the source, or has others. It names them."""
    advice = 'Correct it, or send "force": true.' if may_insist else "Correct it."
    return Problem(422, "protected-text", "Protected text", f"{objection}. {advice}")


def too_much_text(characters: int, most: int) -> Problem:
    """The texts of a request are longer than allowed, though its body may be small enough."""
    return replace(TOO_LARGE, detail=f"text: {characters:,} characters; at most {most:,} in one request")


def import_stopped(stored: int, job: str | None, left: int) -> Problem:
    """A project is full before all pairs of a file are stored."""
    known = f"{stored:,} new ones of this file are stored (job {job})" if job else "Nothing of this file is stored"
    return replace(NO_MORE_CORRECTIONS, detail=f"{NO_MORE_CORRECTIONS.detail} {known}; {left:,} pairs are not.")


def too_many(seconds: int) -> Problem:
    """The allowance is used up; `seconds` until it is renewed."""
    detail = f"Your allowance is used up. It is renewed in {seconds} second{'' if seconds == 1 else 's'}."
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
