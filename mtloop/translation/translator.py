"""A translator that learns from corrections: `mtloop.load`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, runtime_checkable

from mtloop.core.errors import InputError
from mtloop.core.protocols import Closable, DeclaresFeedback, Learner, RecallsCorrections, Stateful, WritesDelta
from mtloop.core.record import newest_snapshot
from mtloop.core.types import JSON, Learned, PostEdit, Proposal, Segment, SimilarCorrection
from mtloop.data.formats.glossary_files import read_glossary
from mtloop.methods.defaults import DEFAULT_METHOD
from mtloop.methods.learner_config import LearnerConfig
from mtloop.methods.own import refuse_engine_from_file
from mtloop.nmt.delta_files import find_delta, read_delta
from mtloop.smt.card import CARD_FILE
from mtloop.text.glossary import Glossary, TermPairs
from mtloop.translation.answers import Correction, Translation, explain, explain_shared
from mtloop.translation.arguments import check_path, check_text

if TYPE_CHECKING:
    from mtloop.nmt.decoding.terms import TermModel

DEFAULT_SMT_METHOD = "smt-adapting"


GlossaryLike: TypeAlias = Glossary | TermPairs | str | Path
"""A glossary: a mapping from terms to translations, pairs, or a file."""


@runtime_checkable
class UsesTerms(Protocol):
    """A learner that can use the terms of a glossary while it translates."""

    terms: TermModel | None


@runtime_checkable
class KeepsCorrections(Protocol):
    """A learner that keeps its corrections itself, for everyone who uses it: a project of a server."""

    def retract(self, segment: Segment, text: str) -> None:
        """Undo the correction of a segment."""
        ...


def load(
    model: str | Path | None = None,
    *,
    method: str | None = None,
    settings: Mapping[str, JSON] | None = None,
    delta: str | Path | None = None,
    threads: int = 1,
    glossary: GlossaryLike | None = None,
) -> Translator:
    """Load a model and return a translator that learns from corrections.

    Args:
        model: The embedded `en-de` (the default), the folder of a neural or statistical model, or a Hugging Face name.
        method: How the model learns; `mtloop methods` lists the names. The default is `lora+memory+copy`,
            `smt-adapting` for a statistical model, or the method of `delta`.
        settings: Settings of the method by name. `mtloop methods NAME` lists them with their defaults.
        delta: What `Translator.save` wrote, or the `.state` folder of a run: the translator starts from it.
        threads: Number of CPU threads.
        glossary: Terms and their translations; see `Translator.terms`.

    Raises:
        InputError: The model, the method, a setting, the delta or the glossary does not exist or is wrong.
    """
    if model is not None:
        check_path("model", model, "the name or the folder of a model, or None for the default")
    if delta is not None:
        check_path("delta", delta, "the name of a file or folder that was saved")
    saved = Path(delta) if delta is not None else None
    file = find_delta(saved) if saved is not None and not _is_state(saved) else None
    if method is None:
        method = refuse_engine_from_file(read_delta(file).method, file) if file else _default_method(model)
        if file is None and saved is not None and method != DEFAULT_SMT_METHOD:
            message = "does not say which method saved it; name the method too, for example method='toy.py:Toy'"
            raise InputError(message, path=saved)
    config = LearnerConfig.create(method, str(model or ""), settings, threads, str(file or ""))
    found = None if glossary is None else as_glossary(glossary, *config.languages)  # before the model is loaded
    learner = config.make(config.load(), PostEdit)
    if saved is not None and file is None:
        if not isinstance(learner, Stateful):
            raise InputError(f"method {config.method.name} cannot load what was saved", path=saved)
        learner.load(newest_snapshot(saved) or saved)
    translator = Translator(learner, config, loaded=saved is not None)
    if found is not None:
        translator.terms(found)
    return translator


def as_glossary(given: GlossaryLike, source_lang: str, target_lang: str) -> Glossary:
    """Return the glossary that a user gave as a file, a mapping or pairs."""
    if isinstance(given, Glossary):
        return given
    if isinstance(given, str | Path):
        return read_glossary(given, source_lang, target_lang)
    return Glossary.of(given, source_lang, target_lang)


def _is_state(path: Path) -> bool:
    """Whether a path is a folder that `save` wrote for a method without deltas."""
    return path.is_dir() and not list(path.glob("**/delta.safetensors"))


def _default_method(model: str | Path | None) -> str:
    return DEFAULT_SMT_METHOD if model is not None and (Path(model) / CARD_FILE).is_file() else DEFAULT_METHOD


@dataclass
class Translator:
    """Translates, learns from corrections, and saves what it learned. Use it in a `with` block, or call `close`.

    Attributes:
        learner: The learner behind the translator.
        config: The model, the method and its settings.
        corrections_: Number of corrections that were learned.
        loaded: Whether the learner has learned before. If it does not count its lessons, `corrections_` counts only
            new ones.
    """

    learner: Learner
    config: LearnerConfig
    corrections_: int = 0
    loaded: bool = False

    def __post_init__(self) -> None:
        self.corrections_ = getattr(self.learner, "lessons_", 0)  # a delta has learned before

    def translate(self, source: str) -> Translation:
        """Translate one segment: a sentence, a heading or a short paragraph.

        Args:
            source: The text to translate.
        """
        check_text("source", source)
        proposal = self._propose(source)
        found = self.learner.similar_corrections(source) if isinstance(self.learner, RecallsCorrections) else None
        similar = tuple(found) if found is not None else None
        return Translation(proposal.text, source, self._explain(proposal, similar), proposal, similar or ())

    def correct(self, source: str | Translation, text: str) -> Correction:
        """Learn that `text` is the translation of `source`.

        Args:
            source: A text, or what `translate` returned for it. A text is translated again first, because a learner
                may need its own translation to learn.
            text: The corrected translation.

        Returns:
            What was learned. It is false if the correction was not learned, and says why.
        """
        shown = source if isinstance(source, Translation) else None
        original = shown.source if shown else source
        check_text("source", original)
        check_text("text", text)
        if self._never_learns:
            return Correction(str(original), text, Learned(rejected=self._never_learns))
        proposal = shown.proposal if shown else self._propose(str(original))
        learned = self.learner.learn(proposal, PostEdit(text))
        self.corrections_ += learned.rejected is None
        return Correction(str(original), text, learned)

    def terms(self, glossary: GlossaryLike | None) -> Glossary | None:
        """Use a glossary: from now on, the terms in a source are translated as it says, in forms that fit the sentence.

        It replaces an earlier glossary. It is not part of what `save` writes.

        Args:
            glossary: A mapping from terms to translations, a list of pairs, a file (TSV, CSV or TBX), or None for none.

        Raises:
            InputError: The file cannot be read, a term is empty, or the method cannot use a glossary.
        """
        if not isinstance(self.learner, UsesTerms):
            raise InputError(f"method {self.config.method.name} cannot use a glossary; neural methods can")
        from mtloop.nmt.decoding.terms import TermModel

        found = None if glossary is None else as_glossary(glossary, *self.config.languages)
        self.learner.terms = TermModel(found) if found else None
        return found

    def save(self, path: str | Path) -> Path:
        """Write what was learned, for `load(..., delta=path)` and `mtloop translate --delta`.

        Args:
            path: The file to write. A method without deltas writes a folder of this name.
        """
        check_path("path", path, "the name of the file or folder to write")
        path = Path(path)
        if isinstance(self.learner, WritesDelta):
            self.learner.write_delta(path)
        elif isinstance(self.learner, Stateful):
            path.mkdir(parents=True, exist_ok=True)
            self.learner.save(path)
        else:
            raise InputError(f"method {self.config.method.name} cannot be saved")
        return path

    def close(self) -> None:
        """End the program of an own engine, and close any other learner that has `close`."""
        if isinstance(self.learner, Closable):
            self.learner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Translator({self.config.model or self.config.method.name}, method={self.config.method.name!r})"

    @property
    def _never_learns(self) -> str:
        """The reason why corrections have no effect; empty if they have one, or if the learner does not say."""
        if not isinstance(self.learner, DeclaresFeedback) or self.learner.learns_from:
            return ""
        method = self.config.method
        return f"method {method.name} never learns" + (" with these settings" if method.learns_from else "")

    def _explain(self, proposal: Proposal, similar: tuple[SimilarCorrection, ...] | None) -> str:
        if isinstance(self.learner, KeepsCorrections):
            return self._never_learns or explain_shared(proposal, similar)
        counted = not self.loaded or hasattr(self.learner, "lessons_")
        return self._never_learns or explain(proposal, similar, self.corrections_, counted=counted)

    def _propose(self, source: str) -> Proposal:
        return self.learner.propose(Segment("", source))
