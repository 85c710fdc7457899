"""`http://HOST/PROJECT`: a project of a server as a learner, so that it is measured like a method at home."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

from mtloop.client import Project, ProjectTranslation
from mtloop.core.errors import InputError
from mtloop.core.log import logger
from mtloop.core.types import JSON, Feedback, Learned, Proposal, Segment, SimilarCorrection
from mtloop.methods.engines import NO_ENGINE
from mtloop.methods.method import Method
from mtloop.methods.setting import Setting
from mtloop.text.protected.word_links import Link

DEFAULT_TIMEOUT = 60.0
TIMEOUT = Setting(
    "timeout", DEFAULT_TIMEOUT, "Seconds to wait for an answer of the server (0: no limit).", in_header=False
)
SERVER = replace(NO_ENGINE, name="server", extra="client")


class HttpEngine:
    """A learner that asks a project of a server. Use it in a `with` block, or call `close`.

    The project keeps what it learns. So it is never saved, and a run that is resumed sends its recorded corrections
    again: the same confirmation twice is one.
    """

    def __init__(self, project: Project) -> None:
        self.project = project
        self._last = ProjectTranslation(""), ""  # the newest answer, and its source

    @property
    def learns_from(self) -> tuple[type[Feedback], ...]:
        """What the method of the project learns from."""
        return self.project.learns_from

    def propose(self, segment: Segment, prefix: str = "") -> Proposal:
        """Ask the project for a translation."""
        found = self.project.translate_segment(segment, prefix)
        self._last = found, segment.source
        return self.project.proposal_of(segment, found, prefix)

    def propose_many(self, segments: Sequence[Segment]) -> list[Proposal]:
        """Ask the project for translations of several segments."""
        return self.project.propose_many(segments)

    def learn(self, proposal: Proposal, feedback: Feedback) -> Learned:
        """Confirm a post-edit or rate a proposal."""
        self._last = ProjectTranslation(""), ""
        return self.project.learn(proposal, feedback)

    def retract(self, segment: Segment, text: str) -> None:
        """Undo the confirmation of a segment."""
        self._last = ProjectTranslation(""), ""
        self.project.retract(segment, text)

    def align(self, source: str, target: str) -> list[Link]:
        """The server finds what is protected itself, and sends no links between words."""
        return []

    def similar_corrections(self, source: str) -> list[SimilarCorrection]:
        """Return the corrections of the project that are most similar to a source.

        They come with every translation, so the newest answer is used if it is about this source.
        """
        answer, asked = self._last
        if asked != source:
            answer = self.project.translate_segment(Segment("", source))
        return [
            SimilarCorrection(str(one["source"]), str(one["translation"]), float(str(one["similarity"])))
            for one in answer.corrections
        ]

    def warn_if_corrected(self) -> None:
        """Warn a user who wants to measure the project if it does not start as the base model does."""
        if self.project.info().state > 1 and next(self.project.corrections(), None) is not None:
            logger.warning(
                "project %s has corrections already, so it does not start as its model does; "
                "a new project gives the steps of its method at home",
                self.project.name,
            )

    def close(self) -> None:
        """Close the connections."""
        self.project.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def http_method(address: str, timeout: JSON = None) -> Method:
    """Return the record of a project as a method. The server is asked for its languages and its method.

    `timeout`: seconds to wait for an answer (None: the default).
    """
    seconds = TIMEOUT.convert(DEFAULT_TIMEOUT if timeout is None else timeout)
    assert isinstance(seconds, float)
    with open_project(address, timeout=seconds) as project:
        found, learns_from = project.info(), project.learns_from
    languages = found.source_language, found.target_language
    settings = ",".join(f"{name}={value}" for name, value in sorted(found.settings.items()))
    return Method(
        name=address,
        summary=f"The project {found.name} of a server: {found.method} on {found.model}.",
        engine=replace(SERVER, languages=lambda model: languages),
        maker=partial(start_http_engine, address),
        settings={TIMEOUT.name: TIMEOUT},
        learns_from=learns_from,
        fingerprint=" ".join(filter(None, (found.model, found.method, settings))),
    )


def start_http_engine(address: str, /, *, timeout: float = DEFAULT_TIMEOUT) -> HttpEngine:
    """Return the learner of a project."""
    return HttpEngine(open_project(address, timeout=timeout))


def open_project(address: str, *, timeout: float) -> Project:
    """Return a client of the project, with the key in the environment variable MTLOOP_KEY."""
    if not (timeout >= 0 and math.isfinite(timeout)):
        raise InputError(f"setting timeout is {timeout}; expected a number of seconds, 0 or more")
    return Project(address, timeout=timeout or None)
