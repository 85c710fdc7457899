"""The application: `create_app(settings)` assembles it; its lifespan opens the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from mtloop import __version__
from mtloop.service import method_routes, operations
from mtloop.service.accounts.access import HEADER
from mtloop.service.database import is_outage
from mtloop.service.fast_routes import FastRoutesMiddleware
from mtloop.service.http import ProblemBody
from mtloop.service.middleware import RequestMiddleware
from mtloop.service.pages import routes as page_routes
from mtloop.service.problems import (
    DATABASE_UNAVAILABLE,
    INTERNAL_ERROR,
    NOT_FOUND,
    Problem,
    ProblemError,
    invalid_request,
)
from mtloop.service.settings import Settings
from mtloop.service.state import Service
from mtloop.service.storage import Storage
from mtloop.service.tasks import result_routes, run_routes, task_routes
from mtloop.service.telemetry import LOGGER, ServiceMetrics, log_to_stderr

START_TIMEOUT = 30  # seconds to wait for the database at start


def create_app(settings: Settings | None = None) -> FastAPI:
    """Make the application. Without settings it reads them from the environment and logs to standard error."""
    if settings is None:
        log_to_stderr()
    chosen = Settings.read() if settings is None else settings
    metrics = ServiceMetrics()
    app = FastAPI(
        title="mtloop",
        version=__version__,
        summary="Shared tasks in bandit learning for machine translation",
        lifespan=_lifespan(chosen, metrics),
        docs_url=None,
        redoc_url=None,
    )
    for routes in (task_routes, run_routes, result_routes, method_routes, operations, page_routes):
        app.include_router(routes.router)
    for kind in (ProblemError, RequestValidationError, HTTPException, SQLAlchemyError, OSError):
        app.add_exception_handler(kind, _error_response)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(FastRoutesMiddleware, routes=run_routes.FAST_ROUTES, handle_error=_error_response)
    app.add_middleware(RequestMiddleware, metrics=metrics, secure=chosen.secure)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _lifespan(settings: Settings, metrics: ServiceMetrics) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        here = Service.create(settings, metrics)
        await _migrate(here.storage)
        app.state.service = here
        LOGGER.info("started")
        yield
        await here.close()
        LOGGER.info("stopped")

    return lifespan


async def _migrate(storage: Storage) -> None:
    """Bring the schema up to date. Wait up to `START_TIMEOUT` seconds for a database that is starting."""
    for attempt in range(START_TIMEOUT + 1):
        try:
            await storage.migrate()
            return
        except Exception as error:
            if attempt == START_TIMEOUT or not is_outage(error):
                raise
            await asyncio.sleep(1)


async def _error_response(request: Request, error: Exception) -> Response:
    """The response to an exception, without details that a client must not see."""
    if isinstance(error, ProblemError):
        return error.problem.response()
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return invalid_request(f"{'.'.join(map(str, first['loc']))}: {first['msg']}").response()
    if isinstance(error, HTTPException):
        return _http_error(error)
    if is_outage(error):
        LOGGER.warning("database unavailable", extra={"fields": {"error": type(error).__name__}})
        return DATABASE_UNAVAILABLE.response()
    return await _unexpected(request, error)


def _http_error(error: HTTPException) -> Response:
    if error.status_code == 404:
        return NOT_FOUND.response()
    response = Problem(error.status_code, "", str(error.detail), str(error.detail)).response()
    response.headers.update(error.headers or {})
    return response


async def _unexpected(_: Request, error: Exception) -> Response:
    LOGGER.error("internal error", exc_info=error)
    return INTERNAL_ERROR.response()


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description, with the API key as a security scheme and the body of problems."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        parts = schema.setdefault("components", {})
        parts["securitySchemes"] = {"key": {"type": "apiKey", "in": "header", "name": HEADER}}
        parts.setdefault("schemas", {})["ProblemBody"] = ProblemBody.model_json_schema()
        schema["security"] = [{"key": []}]
        app.openapi_schema = schema
    return app.openapi_schema
