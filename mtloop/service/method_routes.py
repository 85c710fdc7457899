"""Routes of learning methods: the registry that `mtloop methods` and the Python functions use."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from mtloop.core.errors import InputError
from mtloop.methods.method import Method
from mtloop.methods.own import is_own_engine
from mtloop.methods.registry import all_methods, find_method
from mtloop.service.http import json_response
from mtloop.service.problems import UNKNOWN_METHOD, ProblemError, documented
from mtloop.service.state import service
from mtloop.service.tasks.run_routes import ALWAYS

router = APIRouter(prefix="/v1", tags=["methods"])


class SettingBody(BaseModel):
    """A setting of a method. `choices`: the allowed values, if there are only a few."""

    name: str
    type: str
    default: str | int | float | bool | None
    help: str
    choices: list[str] | None = None


class MethodBody(BaseModel):
    """A learning method. `learns_from`: kinds of feedback; empty: it never learns; null: not declared."""

    name: str
    summary: str
    paper: str
    engine: str
    learns_from: list[str] | None
    settings: list[SettingBody]


class MethodList(BaseModel):
    methods: list[MethodBody]


@router.get("/methods", response_model=MethodList, responses=documented(*ALWAYS))
async def list_methods(request: Request) -> Response:
    """List all learning methods with their settings."""
    await service(request).access.participant(request)
    return json_response({"methods": [method.to_json() for method in all_methods().values()]})


@router.get("/methods/{method}", response_model=MethodBody, responses=documented(*ALWAYS, UNKNOWN_METHOD))
async def show_method(method: str, request: Request) -> Response:
    """Show one learning method with its settings; parts combine, as in `lora+memory`."""
    await service(request).access.participant(request)
    return json_response(_find(method).to_json())


def _find(name: str) -> Method:
    """Return a method of this service. A request must never start a program, so own engines are unknown here."""
    try:
        if is_own_engine(name):
            raise ProblemError(UNKNOWN_METHOD)
        return find_method(name)
    except InputError:  # unknown, or a plugin that is broken
        raise ProblemError(UNKNOWN_METHOD) from None
