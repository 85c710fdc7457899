"""A project of a service as a learner: it translates over HTTP, and learns what is confirmed or rated."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeVar, get_args, overload
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit

from mtloop.client import responses
from mtloop.client.failures import Refused, ResponseLost, Unreachable
from mtloop.client.responses import (
    Confirmation,
    ImportProgress,
    ImportResult,
    ProjectCorrection,
    ProjectInfo,
    ProjectTranslation,
)
from mtloop.client.retry import Retry, report_wait
from mtloop.client.transport import Transport, open_http
from mtloop.core import serialisation
from mtloop.core.errors import InputError, SerialisationError, UnknownName
from mtloop.core.types import JSON, Feedback, Learned, PostEdit, Proposal, Reward, Segment, feedback_words
from mtloop.text.text_batches import text_batches

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
KEY_VARIABLE = "MTLOOP_KEY"
MAX_TEXTS, MAX_CHARACTERS = 50, 25_000  # of one request
MAX_PER_SECOND = 40  # confirmations that `learn` sends; a project refuses to learn from a flood
MAX_NAME = 200  # characters of a document's name
TRANSFER_SECONDS = 600.0  # time limit for a file
POLL_SECONDS = 0.5
MAX_ATTEMPTS = 10  # for a request that must not be executed twice
MAX_PARTS = 100  # requests for statistics
RECONNECT_SECONDS = 3.0
SILENT_SECONDS = 60.0  # a server that watches a project says something every 15 seconds
IMPORTS, ANY_TYPE = ("tmx", "tsv", "po"), "application/octet-stream"
EXAMPLE = "expected http://HOST/PROJECT or https://HOST/PROJECT"
Format = Literal["text", "html", "xml"]


class Project:
    """A project of a service. It is a learner, so `run(stream, project, judge)` works as with a model at home.

    Every request is retried during restarts and rate limits, as long as `retry` allows. The same confirmation twice is
    one, so a repeated request does no harm.

        with Project("https://translate.example.org/manual", key) as project:
            found = project.translate("Save the file.")
            project.confirm("Save the file.", "Speichern Sie die Datei.", proposal=found.translation)

    Args:
        address: The address of the project: that of the service, a slash, and the name of the project.
        key: The API key (None: that in the environment variable MTLOOP_KEY).
        timeout: The time limit of one attempt, in seconds (None: no limit).
        retry: How long and how often a request is repeated.
        http: Use this HTTP client (for example a test client of the service), and not one of its own.
    """

    def __init__(
        self,
        address: str,
        key: str | None = None,
        *,
        timeout: float | None = 60.0,
        retry: Retry | None = None,
        http: httpx2.Client | None = None,
    ) -> None:
        service, self.name = split_address(address)
        self._owns_http = http is None
        self._transport = Transport(
            http or open_http(service, timeout),
            key_or_variable(key, required=http is None),
            retry or Retry(on_wait=report_wait),
        )
        self._path = f"/v1/projects/{quote(self.name, safe='')}"
        self._learns_from: tuple[type[Feedback], ...] | None = None
        self._next_confirmation = 0.0

    # A learner

    @property
    def learns_from(self) -> tuple[type[Feedback], ...]:
        """What the method of the project learns from. A method that does not say so gets post-edits."""
        if self._learns_from is None:
            method = self._transport.request("GET", f"/v1/methods/{quote(self.info().method, safe='')}")
            words = method.get("learns_from")
            kinds = [kind for kind in (PostEdit, Reward) if isinstance(words, list) and feedback_words(kind) in words]
            self._learns_from = (PostEdit,) if words is None else tuple(kinds)
        return self._learns_from

    def propose(self, segment: Segment, prefix: str = "") -> Proposal:
        """Translate a segment with everything that was confirmed so far."""
        return self.proposal_of(segment, self.translate_segment(segment, prefix), prefix)

    def translate_segment(self, segment: Segment, prefix: str = "") -> ProjectTranslation:
        """Translate a segment, and return all that the server says about it. White space stays as it is."""
        if not segment.source.strip():
            return ProjectTranslation(segment.source)
        return self._translate([segment.source], format_of(segment), prefix)[0]

    def propose_many(self, segments: Sequence[Segment]) -> list[Proposal]:
        """Translate segments, several with one request."""
        found: dict[int, Proposal] = {
            index: Proposal(one, one.source) for index, one in enumerate(segments) if not one.source.strip()
        }
        for format_ in get_args(Format):
            same = [index for index, one in enumerate(segments) if index not in found and format_of(one) == format_]
            translated = self._translate_all([segments[index].source for index in same], format_)
            for index, one in zip(same, translated, strict=True):
                found[index] = self.proposal_of(segments[index], one)
        return [found[index] for index in range(len(segments))]

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        """Confirm a post-edit, or rate a proposal. The result is that of the server's learner.

        A project that is being rebuilt is waited for, so that the next proposal knows what was learned. Feedback of a
        kind that the method of the project does not learn from is not sent.
        """
        if type(feedback) not in self.learns_from:
            kinds = " or ".join(map(feedback_words, self.learns_from))
            reason = f"learns from {kinds}, not from {feedback_words(type(feedback))}"
            return Learned(rejected=reason if kinds else None)
        if isinstance(feedback, PostEdit):
            self._wait_for_turn()
            return learned_by(self._confirm_until_learned(proposal, feedback.text))
        assert isinstance(feedback, Reward)
        return self._learn_rating(proposal, feedback.value)

    def _confirm_until_learned(self, proposal: Proposal, text: str) -> Confirmation:
        """Confirm a post-edit. While the project is being rebuilt, ask again: the same confirmation twice is one."""
        while True:
            found = self.confirm_segment(proposal.segment, text, proposal.text, proof=False)
            if not found.rebuilding:
                return found
            time.sleep(POLL_SECONDS)

    def _learn_rating(self, proposal: Proposal, value: float) -> Learned:
        name = proposal.memo.get("proposal")
        if not isinstance(name, str):
            return Learned(rejected="this proposal cannot be rated; it does not come from this project")
        try:
            while (answer := self._of_project("POST", "/rate", {"proposal": name, "value": value})).get("rebuilding"):
                time.sleep(POLL_SECONDS)  # the same rating twice is one
        except Refused as refused:
            if refused.kind != "unknown-proposal":
                raise
            return Learned(rejected="the proposal was rated before, or is too old")
        learned = answer.get("learned")
        return serialisation.decode(Learned, learned) if learned is not None else Learned()

    def confirm_segment(self, segment: Segment, text: str, proposal: str = "", *, proof: bool = True) -> Confirmation:
        """Confirm the translation of a segment. Its id names the correction, so that a later one replaces it."""
        return self.confirm(
            segment.source,
            text,
            proposal=proposal,
            document=segment.document[:MAX_NAME],
            external_id=external_id(segment),
            format=format_of(segment),
            proof=proof,
        )

    def retract(self, segment: Segment, text: str) -> int | None:
        """Undo the newest confirmation of a segment with this text, and return the number of this event.

        None: there is nothing to undo.
        """
        name, format_ = external_id(segment), format_of(segment)
        mine = ProjectCorrection(0, segment.source, text, "", "", segment.document[:MAX_NAME], name, format_)
        search = "" if name else segment.source[:MAX_NAME]
        for one in self.corrections(search, external_id=name):
            if one.state not in ("undone", "refused") and _is_same(one, mine):
                return self.undo(one.number)
        return None

    def _wait_for_turn(self) -> None:
        """Wait until another confirmation is no flood."""
        now = time.monotonic()
        if now < self._next_confirmation:
            time.sleep(self._next_confirmation - now)
        self._next_confirmation = max(now, self._next_confirmation) + 1 / MAX_PER_SECOND

    def proposal_of(self, segment: Segment, found: ProjectTranslation, prefix: str = "") -> Proposal:
        """Return a translation as a proposal. Its memo holds what `learn` needs, and the state of the project."""
        memo: dict[str, JSON] = {"state": found.state}
        if found.repeated:
            memo["memory"] = "exact"
        if found.proposal is not None:
            memo["proposal"] = found.proposal
        return Proposal(segment, found.translation, prefix=prefix, memo=memo)

    # Translation

    @overload
    def translate(
        self, text: str, *, format: Format = "text", prefix: str = "", candidates: int = 1
    ) -> ProjectTranslation: ...

    @overload
    def translate(
        self, text: list[str], *, format: Format = "text", prefix: str = "", candidates: int = 1
    ) -> list[ProjectTranslation]: ...

    def translate(
        self, text: str | list[str], *, format: Format = "text", prefix: str = "", candidates: int = 1
    ) -> ProjectTranslation | list[ProjectTranslation]:
        """Translate one text, or several.

        Args:
            text: One text, or a list of texts.
            format: What the text is: `text` or `html`.
            prefix: The translation begins with it. Only for one text.
            candidates: How many translations are asked for, at most 10.
        """
        if isinstance(text, str):
            return self._translate([text], format, prefix, candidates)[0]
        if prefix:
            return self._translate(text, format, prefix, candidates)
        return self._translate_all(text, format, candidates)

    def _translate_all(self, texts: Sequence[str], format_: str, candidates: int = 1) -> list[ProjectTranslation]:
        parts = text_batches(texts, MAX_TEXTS, MAX_CHARACTERS)
        return [one for part in parts for one in self._translate(part, format_, candidates=candidates)]

    def _translate(
        self, texts: Sequence[str], format_: str, prefix: str = "", candidates: int = 1
    ) -> list[ProjectTranslation]:
        body: dict[str, JSON] = {"text": list(texts), "format": format_, "prefix": prefix, "candidates": candidates}
        return responses.parse_translations(self._of_project("POST", "/translate", body), len(texts))

    # Corrections

    def confirm(
        self,
        source: str,
        translation: str,
        *,
        proposal: str = "",
        document: str = "",
        external_id: str = "",
        format: Format = "text",
        wait: Literal["learned", "durable"] = "learned",
        proof: bool = True,
    ) -> Confirmation:
        """Confirm a translation: it is stored, and learned.

        Args:
            source: The text that was translated.
            translation: Its confirmed translation.
            proposal: What the project had proposed; it is needed to measure the effort.
            document: The document that the text belongs to.
            external_id: Your name of the segment. A later confirmation with the same name replaces this one.
            format: What the texts are: `text` or `html`.
            wait: Return after it is learned, or as soon as it is `durable`.
            proof: Whether to show what was learned: what the source and similar ones give, before and after.
        """
        body: dict[str, JSON] = {"source": source, "translation": translation, "proposal": proposal}
        body |= {"document": document, "external_id": external_id, "format": format, "wait": wait, "proof": proof}
        return responses.parse_confirmation(self._of_project("POST", "/confirm", body))

    def rate(self, proposal: str, value: float) -> int:
        """Rate a proposal of `translate` from 0 to 1, and return the number of the rating."""
        return self._number("POST", "/rate", {"proposal": proposal, "value": value})

    def undo(self, number: int) -> int:
        """Take a correction or a rating back, and return the number of this event."""
        return self._number("POST", f"/corrections/{number:d}/undo")

    def redo(self, number: int) -> int:
        """Let a correction or a rating that was taken back count again, and return the number of this event."""
        return self._number("POST", f"/corrections/{number:d}/redo")

    def review(self, number: int, accepted: bool) -> int:
        """Decide whether a confirmation that waits is learned, and return the number of this event."""
        return self._number("POST", f"/corrections/{number:d}/review", {"accepted": accepted})

    def corrections(
        self, search: str = "", state: str | None = None, external_id: str = ""
    ) -> Iterator[ProjectCorrection]:
        """Yield the corrections, the newest first.

        Args:
            search: Only those with this text in the source or the translation.
            state: Only those in this state: learned, rejected, refused, waiting, undone or replaced.
            external_id: Only those of the segment with this name.
        """
        after: JSON = None
        while True:
            asked = {"search": search, "state": state, "external_id": external_id, "after": after}
            query = urlencode({name: value for name, value in asked.items() if value})
            response = self._of_project("GET", f"/corrections?{query}")
            yield from map(responses.parse_correction, responses.get_list(response, "corrections"))
            if (after := response.get("next")) is None:
                return

    def correction(self, number: int) -> ProjectCorrection:
        """Return one correction."""
        is_answer = is_about("number", number)
        return responses.parse_correction(self._of_project("GET", f"/corrections/{number:d}", is_answer=is_answer))

    def import_file(self, path: str | Path) -> ImportResult:
        """Add the pairs of a TMX, TSV or PO file to the corrections. They are learned in the background.

        The same file twice adds nothing the second time.
        """
        path = Path(path)
        kind = path.suffix.lower().removeprefix(".")
        if kind not in IMPORTS:
            raise InputError("cannot be imported; expected .tmx, .tsv or .po", path=path)
        content = path.read_bytes()
        return responses.parse_import(parsed(self._transfer("POST", f"/import?format={kind}", content, ANY_TYPE)))

    def job(self, name: str) -> ImportProgress:
        """Return how many corrections of an import are learned so far."""
        path = f"/jobs/{quote(name, safe='')}"
        return responses.parse_job(self._of_project("GET", path, is_answer=is_about_job(name)))

    def wait(self, job: str | None, report: Callable[[ImportProgress], object] = lambda progress: None) -> None:
        """Wait until an import is learned. `report` is called with the progress. None: there is nothing to wait for."""
        while job is not None:
            progress = self.job(job)
            report(progress)
            if progress.done:
                return
            self._transport.retry.sleep(POLL_SECONDS)

    def export(self, format: Literal["tmx", "tsv"] = "tmx") -> bytes:
        """Return the corrections that count, as a file."""
        return self._transfer("GET", f"/export?format={format}")

    def delta(self) -> bytes:
        """Return what was learned, as a file for `mtloop.load(delta=...)`. It needs the same base model."""
        return self._transfer("GET", "/delta")

    def fork(self, name: str) -> ProjectInfo:
        """Make a copy of the project, which this key may organise. Return the copy."""
        return create_once(self._transport, f"{self._path}/fork", {"name": name}, name)

    def statistics(self, last: int = 1000) -> dict[str, JSON]:
        """Measure what learning did for the newest corrections: effort, new words, repeated errors, harm to others.

        Each metric has the score of the project, that of the base model that never learned, and both over time. The
        server computes the translations of the base model in parts, so this may take several requests.

        Args:
            last: How many of the newest corrections are measured, at most 5000.
        """
        for _ in range(MAX_PARTS):
            found = self._of_project("GET", f"/statistics?last={last:d}")
            if not responses.get_number(found, "without_base"):
                break
        return found

    def changes(self) -> Iterator[int]:
        """Yield the state number of the project now, and whenever it changes. It waits in between.

        The connection is made again after a restart of the server. It ends when the project is deleted.
        """
        seen: int | None = None
        while True:
            for event, state in self._events(seen):
                if event != "state":
                    return
                seen = state
                yield state
            self._transport.retry.sleep(RECONNECT_SECONDS)
            self.info()  # waits for a server that restarts; raises if the project is gone

    def _events(self, seen: int | None) -> Iterator[tuple[str, int]]:
        """Yield the events of one connection, each with the state number."""
        headers = {} if seen is None else {"last-event-id": str(seen)}
        event = ""
        for line in self._transport.lines(f"{self._path}/changes", headers, SILENT_SECONDS):
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data" and event:
                yield event, responses.get_number(parsed(value.encode()), "state") if event == "state" else 0

    # The project

    def info(self) -> ProjectInfo:
        """Return the languages, the model and the method of the project."""
        return responses.parse_project(self._of_project("GET", is_answer=is_about("name", self.name)))

    def change(
        self,
        *,
        method: str | None = None,
        settings: Mapping[str, JSON] | None = None,
        review: bool | None = None,
        glossary: Mapping[str, str] | None = None,
    ) -> ProjectInfo:
        """Change what is given. A new method learns all corrections again."""
        given = {"method": method, "settings": settings, "review": review, "glossary": glossary}
        body: dict[str, JSON] = {name: value for name, value in given.items() if value is not None}  # type: ignore[misc]
        self._learns_from = None
        is_answer = is_about("name", self.name)
        return responses.parse_project(self._of_project("PATCH", body=body, is_answer=is_answer))

    def glossary(self) -> dict[str, str]:
        """Return the terms that translations use, with their translations. `change` replaces them."""
        terms = self._of_project("GET", "/glossary").get("terms")
        return {term: str(translation) for term, translation in terms.items()} if isinstance(terms, dict) else {}

    def delete(self) -> None:
        """Delete the project with everything that belongs to it."""

        def is_gone() -> bool | None:
            return None if any(one.name == self.name for one in list_projects(self._transport)) else True

        def execute() -> bool:
            self._transport.request("DELETE", self._path, repeatable=False)
            return True

        try:
            once(self._transport, execute, is_gone)
        except Refused as refused:
            raise self._explained(refused) from refused

    def members(self) -> dict[str, str]:
        """Return the role of each member: translate, confirm or organise."""
        found, query = dict[str, str](), ""
        while True:
            answer = self._of_project("GET", f"/members{query}")
            members, after = answer.get("members"), answer.get("next")
            found |= {name: str(role) for name, role in members.items()} if isinstance(members, dict) else {}
            if not isinstance(after, str) or not members:
                return found
            query = f"?after={quote(after, safe='')}"

    def set_member(self, participant: str, role: str) -> None:
        """Give a participant a role: translate, confirm (and translate), or organise (everything)."""
        self._of_project("PUT", f"/members/{quote(participant, safe='')}", {"role": role})

    def remove_member(self, participant: str) -> None:
        """Take the role of a participant away."""
        self._of_project("DELETE", f"/members/{quote(participant, safe='')}")

    def new_webhook(self) -> tuple[str, str]:
        """Make a new secret for Weblate's webhook add-on, and return it with the path of the webhook.

        It replaces an earlier secret. The service does not show it again. It works while your key is valid.
        """
        answer = self._of_project("PUT", "/webhook")
        return str(answer.get("secret", "")), str(answer.get("address", ""))

    def webhook(self) -> dict[str, JSON]:
        """Return the path of the webhook, who made its secret and when (None: nobody), and whether it works."""
        return self._of_project("GET", "/webhook")

    def remove_webhook(self) -> None:
        """Remove the secret of the webhook: nothing that comes to it is learned any more."""
        self._of_project("DELETE", "/webhook")

    # Requests

    def close(self) -> None:
        """Close the connections, unless the caller supplied the HTTP client."""
        if self._owns_http:
            self._transport.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Project({self._transport.address.rstrip('/') + '/' + self.name!r})"

    def _transfer(self, method: str, path: str, content: bytes | None = None, content_type: str = "") -> bytes:
        """Send or get a file. That may take longer than another request."""
        try:
            return self._transport.request_bytes(
                method, self._path + path, content, content_type, timeout=TRANSFER_SECONDS
            )
        except Refused as refused:
            raise self._explained(refused) from refused

    def _number(self, method: str, path: str, body: Mapping[str, JSON] | None = None) -> int:
        return responses.get_number(self._of_project(method, path, body), "number")

    def _of_project(
        self,
        method: str,
        path: str = "",
        body: Mapping[str, JSON] | None = None,
        is_answer: Callable[[Mapping[str, JSON]], bool] = lambda response: True,
    ) -> dict[str, JSON]:
        try:
            return self._transport.request(method, self._path + path, body, is_answer=is_answer)
        except Refused as refused:
            raise self._explained(refused) from refused

    def _explained(self, refused: Refused) -> Exception:
        """Return the error with the names of the projects there are, if this one does not exist."""
        if refused.kind != "unknown-project":
            return refused
        return UnknownName("project", self.name, [project.name for project in list_projects(self._transport)])


def list_projects(transport: Transport) -> list[ProjectInfo]:
    """Return the projects of a key, by name."""
    found, path = list[ProjectInfo](), "/v1/projects"
    while True:
        response = transport.request("GET", path)
        found += map(responses.parse_project, responses.get_list(response, "projects"))
        if not isinstance(after := response.get("next"), str):
            return found
        path = f"/v1/projects?after={quote(after, safe='')}"


def create_once(transport: Transport, path: str, body: Mapping[str, JSON], name: str) -> ProjectInfo:
    """Create a project exactly once. If the response is lost, look for the project before trying again."""
    existed = any(project.name == name for project in list_projects(transport))

    def find() -> ProjectInfo | None:
        found = [project for project in list_projects(transport) if project.name == name]
        return found[0] if found and not existed else None

    def execute() -> ProjectInfo:
        response = transport.request("POST", path, body, repeatable=False, is_answer=is_about("name", name))
        return responses.parse_project(response)

    return once(transport, execute, find)


def is_about(field: str, value: JSON) -> Callable[[Mapping[str, JSON]], bool]:
    """Whether a response is about `value`. One without the field is no response of the service, which parsing finds."""
    return lambda response: response.get(field, value) == value


def is_about_job(name: str) -> Callable[[Mapping[str, JSON]], bool]:
    """Whether a response is about a job. The service reads the numbers in its name, so that `02-3` is `2-3`."""
    return lambda response: _numbers(str(response.get("job", name))) == _numbers(name)


def _numbers(job: str) -> list[int] | str:
    try:
        return [int(part) for part in job.split("-")]
    except ValueError:
        return job


def once(transport: Transport, execute: Callable[[], T], find: Callable[[], T | None]) -> T:
    """Execute a request exactly once. If its response is lost, `find` says what came of it; None: nothing."""
    for attempt in range(MAX_ATTEMPTS):
        try:
            return execute()
        except ResponseLost as lost:
            error = lost
            transport.retry.sleep(transport.retry.wait(attempt))
            if (found := find()) is not None:
                return found
    raise error


def split_address(address: str) -> tuple[str, str]:
    """Return the address of the service, and the name of the project.

    >>> split_address("https://translate.example.org/manual")
    ('https://translate.example.org', 'manual')
    >>> split_address("http://localhost:8017/v1/projects/manual/")
    ('http://localhost:8017', 'manual')
    """
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise InputError(f"{address!r} is no address of a project: {error}; {EXAMPLE}") from error
    path, _, name = parts.path.rstrip("/").rpartition("/")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or not name:
        raise InputError(f"{address!r} is no address of a project; {EXAMPLE}")
    return urlunsplit((parts.scheme, parts.netloc, path.removesuffix("/v1/projects"), "", "")), unquote(name)


def key_or_variable(key: str | None, *, required: bool = True) -> str | None:
    """Return the key, or that of the environment variable MTLOOP_KEY."""
    found = key if key is not None else os.environ.get(KEY_VARIABLE)
    if found is None and required:
        raise InputError(f"no API key; set {KEY_VARIABLE} to the key that `mtloop participant add` printed")
    return found


def format_of(segment: Segment) -> Format:
    """Return the format of a segment's text."""
    formats: dict[JSON, Format] = {"html": "html", "xml": "xml"}
    return formats.get(segment.context.get("syntax"), "text")


def parsed(content: bytes) -> dict[str, JSON]:
    """Return the JSON object of a response."""
    try:
        return serialisation.loads(content)
    except SerialisationError as error:
        raise Unreachable(f"not a response of an mtloop service: {error}") from error


def external_id(segment: Segment) -> str:
    """Return a name of the segment: the same for the same id, document and source. Empty if it has no id."""
    if not segment.id:
        return ""
    return blake2b("\0".join((segment.id, segment.document, segment.source)).encode(), digest_size=16).hexdigest()


def learned_by(confirmation: Confirmation) -> Learned:
    """Return what the server's learner learned from a confirmation."""
    if confirmation.learned is not None:
        return confirmation.learned
    if confirmation.refused is not None:
        return Learned(rejected=confirmation.refused)
    if confirmation.waiting:
        return Learned(rejected="it waits for a review")
    return Learned()


def _is_same(one: ProjectCorrection, other: ProjectCorrection) -> bool:
    """Whether two corrections say the same of the same segment."""
    names = ("source", "translation", "document", "external_id", "format")
    return all(getattr(one, name) == getattr(other, name) for name in names)
