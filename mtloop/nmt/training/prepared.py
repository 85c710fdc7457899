"""Prepared training data: vocabularies and tokens, stored beside the checkpoint for later resumes."""

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
from mtloop.core.json_files import json_errors, parse_json
from mtloop.nmt.training.recipe import Recipe, check_unchanged
from mtloop.nmt.training.sentencepiece_model import SentencePieceModel
from mtloop.nmt.training.token_corpus import TokenCorpus
from mtloop.text.moses import tokenise
from mtloop.text.seen_words import SeenWords, Tokeniser, tokenise_plain

SOURCE_FILE, TARGET_FILE = "source.spm", "target.spm"
TOKENS_FILE, SEEN_WORDS_FILE, FACTS_FILE = "tokens.safetensors", "seen-words.npy", "prepared.json"


@dataclass(frozen=True)
class PreparedData:
    """Vocabularies, the corpus as tokens, the seen target words, and facts for the model card."""

    source: SentencePieceModel
    target: SentencePieceModel
    corpus: TokenCorpus
    seen: SeenWords
    facts: Mapping[str, Any]

    @classmethod
    def load(cls, folder: Path, recipe: Recipe) -> PreparedData | None:
        """Load the data of an earlier run with this recipe; return None if there are none or they are incomplete."""
        if not (folder / FACTS_FILE).is_file():
            return None
        with json_errors(folder / FACTS_FILE, "a record of prepared data"):
            facts = parse_json((folder / FACTS_FILE).read_bytes())
            check_unchanged(facts["recipe"], recipe.identity(), folder / FACTS_FILE)
        source, target = SentencePieceModel.load(folder / SOURCE_FILE), SentencePieceModel.load(folder / TARGET_FILE)
        return cls(
            source, target, TokenCorpus.load(folder / TOKENS_FILE), SeenWords.load(folder / SEEN_WORDS_FILE), facts
        )

    def save(self, folder: Path) -> None:
        """Save all files; the facts come last, as the mark that the rest is complete."""
        self.source.save(folder / SOURCE_FILE)
        self.target.save(folder / TARGET_FILE)
        self.corpus.save(folder / TOKENS_FILE)
        self.seen.save(folder / SEEN_WORDS_FILE)
        write_text(folder / FACTS_FILE, json.dumps(self.facts, indent=1))


def prepare(
    pairs: Iterable[tuple[str, str]],
    recipe: Recipe,
    *,
    vocabularies: tuple[SentencePieceModel, SentencePieceModel] | None = None,
    workers: int = 1,
    log: Callable[[str], None] = print,
) -> PreparedData:
    """Train the vocabularies unless they are given, encode all pairs and leave out unsuitable ones."""
    sources, targets = _split_sides(pairs)
    log(f"{len(sources)} pairs; {'vocabularies are given' if vocabularies else 'training the vocabularies'}")
    source, target = vocabularies or (
        _train_vocabulary(sources, recipe, normalise=True),
        _train_vocabulary(targets, recipe, normalise=False),
    )
    everything = TokenCorpus(source.encode(sources, workers), target.encode(targets, workers))
    corpus, left_out = everything.filter(recipe.max_tokens, recipe.max_ratio)
    log(f"training data: {len(corpus)} pairs, {corpus.tokens} tokens" + _left_out_text(left_out))
    name, tokenise_words = _tokeniser(recipe.target_lang)
    seen = SeenWords.of_texts(targets, tokenise_words, workers)
    facts = {
        "pairs": len(corpus),
        "tokens": corpus.tokens,
        "left_out": left_out,
        "words": len(seen),
        "tokeniser": name,
        "recipe": recipe.identity(),
    }
    return PreparedData(source, target, corpus, seen, facts)


def _split_sides(pairs: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    sources: list[str] = []
    targets: list[str] = []
    for source, target in pairs:
        sources.append(source)
        targets.append(target)
    if not sources:
        raise InputError("no pairs to train on")
    return sources, targets


def _train_vocabulary(texts: list[str], recipe: Recipe, *, normalise: bool) -> SentencePieceModel:
    return SentencePieceModel.train(
        texts, kind=recipe.vocab, size=recipe.vocab_size, sentences=recipe.vocab_sentences, normalise=normalise
    )


def _tokeniser(language: str) -> tuple[str, Tokeniser]:
    if find_spec("sacremoses") is None:
        return "plain", tokenise_plain
    return f"moses-{language}", partial(tokenise, language=language)


def _left_out_text(left_out: Mapping[str, int]) -> str:
    return f"; left out: {', '.join(f'{count} {reason}' for reason, count in left_out.items())}" if left_out else ""
