"""The application: `create_app(settings)` assembles it; its lifespan opens the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from alembic.runtime.migration import MigrationContext
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from mtloop import __version__
from mtloop.metrics.collateral import forget_neighbours
from mtloop.service import audit_routes, method_routes, operations
from mtloop.service.accounts.keys import HEADER
from mtloop.service.accounts.metering import MeteringMiddleware
from mtloop.service.campaigns import campaign_routes, rating_routes
from mtloop.service.compatible import (
    deepl,
    deepl_documents,
    deepl_glossaries,
    deepl_memories,
    libretranslate,
    modernmt,
    openai_chat,
    weblate_webhook,
)
from mtloop.service.compatible.protocol_errors import protocol_answer
from mtloop.service.compatible.request_rewriting import RequestRewriting
from mtloop.service.database import is_outage
from mtloop.service.documents import document_routes, unit_routes
from mtloop.service.documents.document_files import DocumentFiles
from mtloop.service.documents.failed_texts import forget_checks
from mtloop.service.error_problems import problem_of
from mtloop.service.fast_routes import FastRoutesMiddleware
from mtloop.service.http import ProblemBody, prefers_html
from mtloop.service.middleware import RequestMiddleware
from mtloop.service.pages import campaign_pages, organised_campaigns, project_pages
from mtloop.service.pages import routes as page_routes
from mtloop.service.pages.service_pages import problem_page
from mtloop.service.problems import Problem, ProblemError
from mtloop.service.projects import (
    change_routes,
    correction_routes,
    project_routes,
    statistics_routes,
    translation_routes,
    webhook_routes,
)
from mtloop.service.settings import Settings
from mtloop.service.state import Service, service
from mtloop.service.storage import Storage
from mtloop.service.tasks import result_routes, run_routes, task_routes
from mtloop.service.telemetry import LOGGER, ServiceMetrics, log_to_stderr

ROUTERS = [
    routes.router
    for routes in (
        task_routes,
        run_routes,
        result_routes,
        project_routes,
        translation_routes,
        correction_routes,
        statistics_routes,
        change_routes,
        webhook_routes,
        document_routes,
        unit_routes,
        campaign_routes,
        rating_routes,
        method_routes,
        audit_routes,
        operations,
        page_routes,
        project_pages,
        campaign_pages,
        organised_campaigns,
    )
]
COMPATIBLE: list[tuple[APIRouter, str]] = [  # the APIs of other services, and where their addresses begin
    *((libretranslate.router, prefix) for prefix in ("/libretranslate", "")),
    *(
        (routes.router, prefix)
        for routes in (deepl, deepl_glossaries, deepl_memories, deepl_documents)
        for prefix in ("/deepl", "")
    ),
    *((openai_chat.router, prefix) for prefix in ("/openai", "")),
    (weblate_webhook.router, ""),
    (modernmt.router, "/modernmt"),  # requests at the root with its header come here too
]
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
        summary="Machine translation that learns from corrections, and shared tasks",
        lifespan=_lifespan(chosen, metrics),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the Host header of the request
    )
    for router in ROUTERS:
        app.include_router(router)
    for router, prefix in COMPATIBLE:
        app.include_router(router, prefix=prefix)
    for kind in (ProblemError, RequestValidationError, HTTPException, SQLAlchemyError, OSError, Exception):
        app.add_exception_handler(kind, _error_response)
    app.add_middleware(FastRoutesMiddleware, routes=run_routes.FAST_ROUTES, handle_error=_error_response)
    app.add_middleware(
        MeteringMiddleware, metering=lambda request: service(request).metering, handle_error=_error_response
    )
    app.add_middleware(RequestRewriting)
    app.add_middleware(RequestMiddleware, metrics=metrics, secure=chosen.secure)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _lifespan(
    settings: Settings, metrics: ServiceMetrics
) -> Callable[[FastAPI], AbstractAsyncContextManager[dict[str, Any]]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        here = Service.create(settings, metrics)
        await _migrate(here.storage)
        if settings.open and await here.storage.projects.find(settings.open) is None:
            LOGGER.warning("no project has the name that --open gives", extra={"fields": {"open": settings.open}})
        app.state.service = here
        app.state.document_files = files = DocumentFiles(here.storage.documents)
        here.text_caches.extend([files.forget, forget_checks, forget_neighbours])
        LOGGER.info("started")
        yield {"end_streams": here.changes.stop}  # `ServiceProtocol` calls it before it waits for open responses
        await here.close()
        LOGGER.info("stopped")

    return lifespan


async def _migrate(storage: Storage) -> None:
    """Bring the schema up to date. Wait up to `START_TIMEOUT` seconds for a database that is starting."""
    for attempt in range(START_TIMEOUT + 1):
        try:
            before = await _schema(storage)
            await storage.migrate()
            after = await _schema(storage)
            if after != before:
                LOGGER.info("database migrated", extra={"fields": {"from": before, "to": after}})
            return
        except Exception as error:
            if attempt == START_TIMEOUT or not is_outage(error):
                raise
            await asyncio.sleep(1)


async def _schema(storage: Storage) -> str | None:
    """The version of the schema. None: the database is new."""
    async with storage.database.reading() as connection:
        return await connection.run_sync(lambda here: MigrationContext.configure(here).get_current_revision())


async def _error_response(request: Request, error: Exception) -> Response:
    """The response to an exception, without details that a client must not see."""
    response = _respond(request, problem_of(error))
    if isinstance(error, HTTPException):
        response.headers.update(error.headers or {})
        if error.status_code == 405:
            response.headers["allow"] = ", ".join(sorted(_allowed_methods(request)))
    return response


def _respond(request: Request, problem: Problem) -> Response:
    """As a compatible API answers, at its addresses; a page for people in a browser; JSON for everyone else."""
    if (answer := protocol_answer(COMPATIBLE, request.scope, problem)) is not None:
        return answer
    in_browser = prefers_html(request.headers.get("accept", "")) and not request.url.path.startswith("/v1/")
    return problem_page(request, problem) if in_browser else problem.response()


def _allowed_methods(request: Request) -> set[str]:
    """The methods of all routes with the path of a request. Starlette names those of the first route only."""
    path, found = request.scope["path"], set[str]()
    for router, prefix in [*((router, "") for router in ROUTERS), *COMPATIBLE]:
        inside = {**request.scope, "path": path.removeprefix(prefix)}
        for route in router.routes if path.startswith(prefix) else ():
            if isinstance(route, APIRoute) and route.matches(inside)[0] is not Match.NONE:
                found |= route.methods or set()
    return found


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
