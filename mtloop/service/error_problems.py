"""What an exception means for a client."""

from __future__ import annotations

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from mtloop.service.database import is_outage, outage_reason
from mtloop.service.problems import (
    DATABASE_UNAVAILABLE,
    INTERNAL_ERROR,
    NOT_FOUND,
    UNKNOWN_PROJECT,
    Problem,
    ProblemError,
    invalid_request,
)
from mtloop.service.project_log.models import ProjectGone
from mtloop.service.telemetry import LOGGER


def problem_of(error: Exception) -> Problem:
    """What an exception means for the client. One that the client did not cause is logged."""
    if isinstance(error, ProblemError):
        return error.problem
    if isinstance(error, ProjectGone):
        return UNKNOWN_PROJECT
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return invalid_request(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    if isinstance(error, HTTPException):
        text = str(error.detail)
        return NOT_FOUND if error.status_code == 404 else Problem(error.status_code, "", text, text)
    if is_outage(error):
        LOGGER.warning("database unavailable", extra={"fields": {"reason": outage_reason(error)}})
        return DATABASE_UNAVAILABLE
    LOGGER.error("internal error", exc_info=error)
    return INTERNAL_ERROR
