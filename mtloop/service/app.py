"""The application: `create_app(settings)` puts it together, its lifespan opens the database."""

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
from mtloop.service import operations
from mtloop.service.accounts.access import HEADER
from mtloop.service.fast_routes import Express
from mtloop.service.middleware import Watch
from mtloop.service.pages import routes as page_routes
from mtloop.service.problems import AWAY, NOT_FOUND, Problem, ProblemError, invalid
from mtloop.service.settings import Settings
from mtloop.service.state import Service
from mtloop.service.tasks import result_routes, run_routes, task_routes
from mtloop.service.tasks.bodies import ProblemBody
from mtloop.service.tasks.store import Store, is_outage
from mtloop.service.telemetry import LOGGER, Meters, log_to_stderr

INTERNAL = Problem(500, "internal", "Internal error", "Something went wrong here; it has been noted.")
PATIENCE = 30  # seconds to wait for the database when starting


def create_app(settings: Settings | None = None) -> FastAPI:
    """A service over one database; without settings, those of the environment, and it logs."""
    if settings is None:
        log_to_stderr()
    chosen = Settings.read() if settings is None else settings
    meters = Meters()
    app = FastAPI(
        title="mtloop",
        version=__version__,
        summary="Shared tasks in bandit learning for machine translation",
        lifespan=_lifespan(chosen, meters),
        docs_url=None,
        redoc_url=None,
    )
    for router in (task_routes.router, run_routes.router, result_routes.router, operations.router, page_routes.router):
        app.include_router(router)
    for kind in (ProblemError, RequestValidationError, HTTPException, SQLAlchemyError, OSError):
        app.add_exception_handler(kind, _answered)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(Express, routes=run_routes.FAST, mend=_answered)
    app.add_middleware(Watch, meters=meters, secure=chosen.secure)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _lifespan(settings: Settings, meters: Meters) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        here = Service.of(settings, meters)
        await _migrate(here.store)
        app.state.service = here
        LOGGER.info("started")
        yield
        await here.close()
        LOGGER.info("stopped")

    return lifespan


async def _migrate(store: Store) -> None:
    """Bring the schema up to date, waiting a while for a database that is only just starting."""
    for attempt in range(PATIENCE + 1):
        try:
            await store.migrate()
            return
        except Exception as error:
            if attempt == PATIENCE or not is_outage(error):
                raise
            await asyncio.sleep(1)


async def _answered(request: Request, error: Exception) -> Response:
    """Whatever a client may be told."""
    if isinstance(error, ProblemError):
        return error.problem.response()
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return invalid(f"{'.'.join(map(str, first['loc']))}: {first['msg']}").response()
    if isinstance(error, HTTPException):
        return _http(error)
    if is_outage(error):
        LOGGER.warning("database away", extra={"fields": {"error": type(error).__name__}})
        return AWAY.response()
    return await _unexpected(request, error)


def _http(error: HTTPException) -> Response:
    if error.status_code == 404:
        return NOT_FOUND.response()
    response = Problem(error.status_code, "", str(error.detail), str(error.detail)).response()
    response.headers.update(error.headers or {})
    return response


async def _unexpected(_: Request, error: Exception) -> Response:
    LOGGER.error("unexpected", exc_info=error)
    return INTERNAL.response()


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The description, with the key as a security scheme and the body of every problem."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        parts = schema.setdefault("components", {})
        parts["securitySchemes"] = {"key": {"type": "apiKey", "in": "header", "name": HEADER}}
        parts.setdefault("schemas", {})["ProblemBody"] = ProblemBody.model_json_schema()
        schema["security"] = [{"key": []}]
        app.openapi_schema = schema
    return app.openapi_schema
