"""Texts made ready to be trained on, and kept beside the checkpoint so that it is done once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.nmt.training.recipe import Recipe, refuse_change
from mtloop.nmt.training.sentencepiece_model import SentencePieceModel
from mtloop.nmt.training.token_corpus import TokenCorpus
from mtloop.text.moses import tokenise
from mtloop.text.seen_words import SeenWords, Tokenise, plain_tokens

SOURCE, TARGET = "source.spm", "target.spm"
TOKENS, SEEN, FACTS = "tokens.safetensors", "seen-words.npy", "prepared.json"


@dataclass(frozen=True)
class Prepared:
    """Vocabularies, the corpus as tokens, the target words seen, and what there is to tell about them."""

    source: SentencePieceModel
    target: SentencePieceModel
    corpus: TokenCorpus
    seen: SeenWords
    facts: Mapping[str, Any]

    @classmethod
    def load(cls, folder: Path, recipe: Recipe) -> Prepared | None:
        """What an earlier run made ready by this recipe; None when there is none, or it did not get to the end."""
        if not (folder / FACTS).is_file():
            return None
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        refuse_change(facts["recipe"], recipe.identity(), folder / FACTS)
        source, target = SentencePieceModel.load(folder / SOURCE), SentencePieceModel.load(folder / TARGET)
        return cls(source, target, TokenCorpus.load(folder / TOKENS), SeenWords.load(folder / SEEN), facts)

    def save(self, folder: Path) -> None:
        """The facts last: they say that the rest is complete."""
        self.source.save(folder / SOURCE)
        self.target.save(folder / TARGET)
        self.corpus.save(folder / TOKENS)
        self.seen.save(folder / SEEN)
        write_text(folder / FACTS, json.dumps(self.facts, indent=1))


def prepare(
    pairs: Iterable[tuple[str, str]],
    recipe: Recipe,
    *,
    vocabularies: tuple[SentencePieceModel, SentencePieceModel] | None = None,
    workers: int = 1,
    say: Callable[[str], None] = print,
) -> Prepared:
    """Train the vocabularies unless they are given, encode all pairs and leave out those not fit to learn from."""
    sources, targets = _columns(pairs)
    say(f"{len(sources)} pairs; vocabularies {'given' if vocabularies else 'in training'}")
    source, target = vocabularies or (
        _vocabulary(sources, recipe, normalise=True),
        _vocabulary(targets, recipe, normalise=False),
    )
    whole = TokenCorpus(source.encode(sources, workers), target.encode(targets, workers))
    corpus, left_out = whole.fit(recipe.max_tokens, recipe.max_ratio)
    say(f"{len(corpus)} pairs of {corpus.tokens} tokens to learn from" + _told(left_out))
    name, tokens = _tokeniser(recipe.target_lang)
    seen = SeenWords.of_texts(targets, tokens, workers)
    facts = {
        "pairs": len(corpus),
        "tokens": corpus.tokens,
        "left_out": left_out,
        "words": len(seen),
        "tokeniser": name,
        "recipe": recipe.identity(),
    }
    return Prepared(source, target, corpus, seen, facts)


def _columns(pairs: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    sources: list[str] = []
    targets: list[str] = []
    for source, target in pairs:
        sources.append(source)
        targets.append(target)
    if not sources:
        raise InputError("no pairs to train on")
    return sources, targets


def _vocabulary(texts: list[str], recipe: Recipe, *, normalise: bool) -> SentencePieceModel:
    return SentencePieceModel.trained(
        texts, kind=recipe.vocab, size=recipe.vocab_size, sentences=recipe.vocab_sentences, normalise=normalise
    )


def _tokeniser(language: str) -> tuple[str, Tokenise]:
    if find_spec("sacremoses") is None:
        return "plain", plain_tokens
    return f"moses-{language}", partial(tokenise, language=language)


def _told(left_out: Mapping[str, int]) -> str:
    return f"; left out: {', '.join(f'{count} {reason}' for reason, count in left_out.items())}" if left_out else ""
