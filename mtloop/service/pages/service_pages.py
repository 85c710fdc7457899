"""Pages that everybody meets, in the language of the reader: the tasks, signing in, and what went wrong."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mtloop.service.accounts.models import Participant
from mtloop.service.pages.page_texts import LANGUAGES, language_of, messages, remember_language
from mtloop.service.pages.rendering import page
from mtloop.service.problems import Problem

TRANSLATED = ("de",)  # languages of the texts of problems beside English


def sign_in_page(request: Request, who: Participant | None, refusal: str = "") -> Response:
    """The form for a key. `refusal` is the text that says why a key was refused."""
    return _page(request, "login.html", who, 401 if refusal else 200, refusal=refusal)


def tasks_page(request: Request, who: Participant | None, **content: Any) -> Response:
    """The start page: the shared tasks."""
    return _page(request, "tasks.html", who, 200, **content)


def runs_page(request: Request, who: Participant, **content: Any) -> Response:
    """The runs of a participant in shared tasks."""
    return _page(request, "runs.html", who, 200, **content)


def missing_page(request: Request, who: Participant | None) -> Response:
    """There is no such page, or the reader may not see it."""
    return _page(request, "missing.html", who, 404)


def problem_page(request: Request, problem: Problem) -> Response:
    """A problem for people, with the headers that programs get."""
    response = _page(request, "problem.html", None, problem.status, **problem_texts(problem, language_of(request)))
    own = {"content-type", "content-length"}
    response.headers.update({name: text for name, text in problem.response().headers.items() if name not in own})
    return response


def problem_texts(problem: Problem, language: str) -> dict[str, str]:
    """The title and the sentence of a problem. `lead` comes before a sentence that is in English only.

    >>> from mtloop.service.problems import too_many
    >>> problem_texts(too_many(1), "de")["detail"]
    'Ihr Kontingent ist aufgebraucht. In einer Sekunde wird es erneuert.'
    """
    if language not in TRANSLATED:
        return {"title": problem.title, "detail": problem.detail, "lead": ""}
    say = messages("problems", language)
    known = problem.name or str(problem.status)
    if f"title_{known}" not in say.texts:
        return {"title": say("title_other"), "detail": problem.detail, "lead": say("lead_other")}
    one = f"detail_{known}_one"
    detail = one if problem.retry_after == 1 and one in say.texts else f"detail_{known}"
    return {"title": say(f"title_{known}"), "detail": say(detail, seconds=problem.retry_after), "lead": ""}


def _page(request: Request, name: str, who: Participant | None, status: int, **content: Any) -> Response:
    language = language_of(request)
    say = messages("service", language)
    response = page(name, who, status, say=say, language=language, languages=LANGUAGES, **content)
    return remember_language(response, request)
