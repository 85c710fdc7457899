"""The application: `create_app(settings)` puts it together, its lifespan opens the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from mtloop import __version__
from mtloop.service.problems import AWAY, NOT_FOUND, Problem, Refused, invalid
from mtloop.service.routes import runs, tasks
from mtloop.service.settings import Settings
from mtloop.service.state import Service
from mtloop.service.store import is_outage


def create_app(settings: Settings | None = None) -> FastAPI:
    """A service over one database; without settings, those of the environment."""
    chosen = Settings.read() if settings is None else settings
    app = FastAPI(
        title="mtloop",
        version=__version__,
        summary="Shared tasks in bandit learning for machine translation",
        lifespan=_lifespan(chosen),
        docs_url=None,
        redoc_url=None,
    )
    for router in (tasks.router, runs.router):
        app.include_router(router)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)
    return app


def _lifespan(settings: Settings):  # type: ignore[no-untyped-def]
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        here = Service.of(settings)
        await here.store.migrate()
        app.state.service = here
        yield
        await here.close()

    return lifespan


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return error.problem.response()


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return invalid(f"{'.'.join(map(str, first['loc']))}: {first['msg']}").response()


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return NOT_FOUND.response()
    response = Problem(error.status_code, "", str(error.detail), str(error.detail)).response()
    response.headers.update(error.headers or {})
    return response


async def _unexpected(_: Request, error: Exception) -> Response:
    if is_outage(error):
        return AWAY.response()
    return Problem(500, "internal", "Internal error", "Something went wrong here; it has been noted.").response()
