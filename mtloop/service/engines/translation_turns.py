"""A long call in turns. Between them other calls of the project have their turn, so none waits for a whole book."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mtloop.core.errors import InputError
from mtloop.core.protocols import Learner
from mtloop.service.engines.answers_of_learners import ProposesUnits, TranslationCall, rates
from mtloop.text.text_batches import text_batches
from mtloop.text.text_unit import TextUnit
from mtloop.translation.unit_translation import ProtectsText

TURN_CHARACTERS, LEAST_CHARACTERS = 2_000, 500  # in a turn, and in one with many candidates
MAX_WHOLE = 10_000  # characters of what cannot be cut


@dataclass(frozen=True)
class EngineTurn:
    """Texts to translate in one turn, or with `piece` a piece of the only text. `goes_on`: an earlier turn began it."""

    call: TranslationCall
    piece: TextUnit | None = None
    goes_on: bool = False


def turns_of(learner: Learner, call: TranslationCall) -> list[EngineTurn]:
    """The turns of a call. Raise InputError if a text is too long for one and cannot be cut."""
    most = max(TURN_CHARACTERS // call.candidates, LEAST_CHARACTERS)
    if sum(map(len, call.texts)) <= most:
        return [EngineTurn(call)]
    parts = [replace(call, texts=texts, explains=len(call.texts) == 1) for texts in _batches(call, most)]
    return [turn for part in parts for turn in _turns(learner, part, most)]


def _batches(call: TranslationCall, most: int) -> Iterator[list[str]]:
    """Short texts, as many as fit into a turn. A longer one is alone."""
    return text_batches(call.texts, len(call.texts), most)


def _turns(learner: Learner, call: TranslationCall, most: int) -> Iterator[EngineTurn]:
    text = call.texts[0]
    if sum(map(len, call.texts)) <= most or (isinstance(learner, ProposesUnits) and learner.is_repeated(text)):
        yield EngineTurn(call)
    elif not _can_be_cut(learner, call):
        _check_whole("text", len(text))
        yield EngineTurn(call)
    else:
        for number, piece in enumerate(TextUnit.of(text, call.syntax).pieces(most)):
            _check_whole("text: a sentence with placeholders or tags, or a message", sum(map(len, piece.parts)))
            yield EngineTurn(call, piece, goes_on=number > 0)


def _can_be_cut(learner: Learner, call: TranslationCall) -> bool:
    """Whether a learner translates a text sentence by sentence. A translation that is drawn is rated as a whole."""
    if isinstance(learner, ProposesUnits):
        return not call.prefix
    return not (call.prefix or call.candidates > 1 or rates(learner) or isinstance(learner, ProtectsText))


def _check_whole(what: str, characters: int) -> None:
    if characters > MAX_WHOLE:
        raise InputError(f"{what} has {characters:,} characters; at most {MAX_WHOLE:,} can be translated at once")


def join_answers(
    turns: Sequence[EngineTurn], answers: Sequence[Sequence[dict[str, Any]]], most: int
) -> list[dict[str, Any]]:
    """The answers to the texts of a call, from those of its turns; each with at most `most` candidates."""
    found = list[dict[str, Any]]()
    for turn, part in zip(turns, answers, strict=True):
        if turn.goes_on:
            found[-1] = _joined(found[-1], part[0])
        else:
            found += part
    return [_with_different_candidates(answer, most) for answer in found]


def _joined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """The answer to two pieces in a row. Of its corrections each comes once."""
    known = {one["number"] for one in first["corrections"]}
    new = [one for one in second["corrections"] if one["number"] not in known]
    answer = {
        "translation": first["translation"] + second["translation"],
        "repeated": first["repeated"] and second["repeated"],
        "corrections": [*first["corrections"], *new],
        "protected": [*first["protected"], *second["protected"]],
    }
    if "candidates" in first and "candidates" in second:
        pairs = zip(first["candidates"], second["candidates"], strict=False)
        answer["candidates"] = [before + after for before, after in pairs]
    return answer


def _with_different_candidates(answer: dict[str, Any], most: int) -> dict[str, Any]:
    if "candidates" not in answer:
        return answer
    return answer | {"candidates": list(dict.fromkeys(answer["candidates"]))[:most]}
