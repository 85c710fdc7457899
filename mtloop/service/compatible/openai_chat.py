"""OpenAI's chat API, only for the prompts that Weblate sends: `GET /v1/models`, `POST /v1/chat/completions`.

Weblate 5.x names the languages in the prompt, and separates texts by a line `==WEBLATE_PART==`. Weblate 2026.x sends
both as JSON, and expects one JSON list. A model is a project.

Persona, style and glossary of a prompt have no effect: the project has its own glossary and its own corrections. The
same holds for the settings of a language model in `NO_EFFECT`.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from mtloop.service.compatible.language_names import language_name
from mtloop.service.compatible.opened_project import choose_project, opened_projects
from mtloop.service.compatible.protocol_errors import protocol_route
from mtloop.service.compatible.request_fields import RequestFields, read_fields
from mtloop.service.http import json_response
from mtloop.service.problems import NOT_FOUND, Problem, ProblemError, invalid_request
from mtloop.service.project_log.models import Role
from mtloop.service.project_log.project_access import AuthorisedProject
from mtloop.service.projects.project_calls import check_texts, translate_many
from mtloop.service.state import Service, service
from mtloop.text.language_codes import language_of

SEPARATOR = "\n==WEBLATE_PART==\n"
REPHRASED = 3  # translations that Weblate 5.x asks for when a text is translated already
INVALID = invalid_request("").name  # also what an engine refuses
UNDERSTOOD = frozenset({"model", "messages", "stream", "n", "api_key", "apiKey", "auth_key"})
NO_EFFECT = frozenset(
    {"temperature", "top_p", "frequency_penalty", "presence_penalty", "max_tokens", "max_completion_tokens", "seed"}
)
OTHER_PROMPT = "messages: only the prompts of Weblate's translation engine OpenAI are understood; this is no chat model"
_LANGUAGES = re.compile(
    r"\s*You are a highly skilled translation assistant, adept at translating text\n"
    r"from language '(?P<source>[^'\n]{1,100})'\nto language '(?P<target>[^'\n]{1,100})'\n"
)
_PARTS = "You receive an input as strings separated by"
_REPHRASE = "You receive an input as the source and existing translation strings separated"
_PLACEHOLDER = re.compile(r"@@PH\d+@@")
_STRUCTURED = "You are a professional translation engine specialized in structured localization tasks."


@dataclass(frozen=True)
class WeblatePrompt:
    """What a prompt asks for: the texts, and how the answer is written."""

    source: str
    target: str
    texts: Sequence[str]
    as_json: bool = False
    candidates: int = 1
    kept: Sequence[Mapping[str, str]] = ()
    """For each text, what its placeholders stand for that took in a part which is not translated."""

    def answer(self, found: Sequence[Mapping[str, Any]]) -> str:
        """The answer, from the translations of the texts."""
        if self.candidates > 1:
            return SEPARATOR.join(dict.fromkeys(found[0].get("candidates") or [found[0]["translation"]]))
        translations = [one["translation"] for one in found]
        if not self.as_json:
            return SEPARATOR.join(translations)
        shown = [_replaced(text, kept) for text, kept in zip(translations, self.kept, strict=True)]
        return json.dumps(shown, ensure_ascii=False)


def error_response(problem: Problem) -> Response:
    """A problem in OpenAI's form. What is wrong with one request is 400, so that Weblate keeps using the engine.

    An address that does not exist is 404.
    """
    status = 400 if problem.status in (404, 409, 413, 422) and problem != NOT_FOUND else problem.status
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": problem.detail, "type": kind, "param": None, "code": problem.name or None}
    return json_response({"error": error}, status)


router = APIRouter(route_class=protocol_route(error_response), include_in_schema=False)


@router.get("/v1/models")
async def list_models(request: Request) -> Response:
    """The projects of a key."""
    names = [one.project.name for one in await opened_projects(request, Role.TRANSLATE)]
    models = [{"id": name, "object": "model", "created": 0, "owned_by": "mtloop"} for name in names]
    return json_response({"object": "list", "data": models})


@router.post("/v1/chat/completions")
async def complete_chat(request: Request) -> Response:
    """Translate the texts of a prompt of Weblate."""
    here = service(request)
    projects = await opened_projects(request, Role.TRANSLATE)
    fields = await read_fields(request, here.settings.max_project_body)
    prompt, model = _read_prompt(fields), fields.text("model")
    found = await _chosen(here, projects, model, prompt)
    check_texts(here, prompt.texts)
    texts = [text for text in prompt.texts if text.strip()]
    answers = iter(await _translated(here, request, found, texts, prompt.candidates))
    every = [next(answers) if text.strip() else {"translation": text} for text in prompt.texts]
    return json_response(_completion(model, prompt.answer(every)))


async def _translated(
    here: Service, request: Request, found: AuthorisedProject, texts: Sequence[str], candidates: int
) -> list[dict[str, Any]]:
    """The translations of texts. Of a method that cannot give several candidates, one is asked for."""
    try:
        return await translate_many(here, request, found, texts, candidates=candidates)
    except ProblemError as error:
        if candidates == 1 or error.problem.name != INVALID:
            raise
    return await translate_many(here, request, found, texts)


def _completion(model: str, content: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": None}
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }


async def _chosen(
    here: Service, projects: Sequence[AuthorisedProject], model: str, prompt: WeblatePrompt
) -> AuthorisedProject:
    """The project that the model names. If it names none, the language pair decides among those of the key."""
    named = [one for one in projects if one.project.name == model]
    source, target = (_code(language, projects) for language in (prompt.source, prompt.target))
    return await choose_project(here, named or projects, Role.TRANSLATE, source, target)


def _code(language: str, projects: Sequence[AuthorisedProject]) -> str:
    """The code of a language that a prompt names by its code or by its English name.

    If several codes have a name, such as de-AT and de-DE, it is that of the language.
    """
    codes = {code for one in projects for code in (one.project.source_language, one.project.target_language) if code}
    by_name = dict[str, str]()
    for code in codes:
        name = language_name(code).casefold()
        by_name[name] = language_of(code) if name in by_name else code
    wanted = language.casefold()
    return by_name.get(wanted) or by_name.get(wanted.partition(" (")[0]) or language


def _read_prompt(fields: RequestFields) -> WeblatePrompt:
    _check_options(fields.values)
    system, user = _messages(fields.values.get("messages"))
    if found := _LANGUAGES.match(system):
        return _separated(system, user, found["source"], found["target"])
    if system.lstrip().startswith(_STRUCTURED):
        return _structured(user)
    raise ProblemError(invalid_request(OTHER_PROMPT))


def _check_options(values: Mapping[str, Any]) -> None:
    unknown = sorted(name for name in values if name not in UNDERSTOOD | NO_EFFECT)
    if unknown:
        name = RequestFields({"option": unknown[0]}).text("option")
        raise ProblemError(invalid_request(f"{name[:40]}: this option is not supported"))
    if values.get("stream") or values.get("n") not in (None, 1):
        raise ProblemError(invalid_request("stream, n: only one whole answer is supported"))


def _messages(messages: object) -> tuple[str, str]:
    """The first message, of the system, and the last, of the user. Examples between them have no effect."""
    if not isinstance(messages, list) or len(messages) < 2:
        raise ProblemError(invalid_request(OTHER_PROMPT))
    found = [_message(messages[0], "system"), _message(messages[-1], "user")]
    checked = RequestFields({"messages": found}).texts("messages")
    return checked[0], checked[1]


def _message(message: object, role: str) -> str:
    if isinstance(message, dict) and message.get("role") == role and isinstance(message.get("content"), str):
        return str(message["content"])
    raise ProblemError(invalid_request(OTHER_PROMPT))


def _separated(system: str, user: str, source: str, target: str) -> WeblatePrompt:
    """A prompt of Weblate 5.x."""
    if _REPHRASE in system:
        return WeblatePrompt(source, target, user.split(SEPARATOR)[:1], candidates=REPHRASED)
    return WeblatePrompt(source, target, user.split(SEPARATOR) if _PARTS in system else [user])


def _structured(user: str) -> WeblatePrompt:
    """A prompt of Weblate 2026.x. An existing translation, which it may hold, has no effect."""
    try:
        content = json.loads(user)
        languages = {name: str(content[name]) for name in ("source_language", "target_language")}
        kept = [dict(_untranslated(one["source"], one.get("parts") or ())) for one in content["strings"]]
        fields = RequestFields(languages | {"strings": [one["source"] for one in content["strings"]]})
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        raise ProblemError(invalid_request(OTHER_PROMPT)) from None
    source, target = fields.text("source_language"), fields.text("target_language")
    hidden = [
        _replaced(text, {whole: placeholder for placeholder, whole in parts.items()})
        for text, parts in zip(fields.texts("strings"), kept, strict=True)
    ]
    return WeblatePrompt(source, target, hidden, as_json=True, kept=kept)


def _untranslated(source: str, parts: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the parts of a text that must stay as they are, each by its first placeholder: a pair with a text between.

    A text without them has one placeholder in place of the pair.
    """
    for part in parts:
        names = str(part.get("id")), str(part.get("close_id"))
        whole = str(part.get("text")).join(names)
        once = all(_PLACEHOLDER.fullmatch(name) and source.count(name) == 1 for name in names)
        if part.get("translatable") is False and once and whole in source:
            yield names[0], whole


def _replaced(text: str, parts: Mapping[str, str]) -> str:
    for old, new in parts.items():
        text = text.replace(old, new)
    return text
