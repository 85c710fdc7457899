"""The model card: what a model was made of, how good it is, and what it is not for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from mtloop.nmt.training.checkpoint import TrainingState
from mtloop.nmt.training.recipe import Recipe

_CARD = """---
language: [{source_lang}, {target_lang}]
library_name: transformers
pipeline_tag: translation
tags: [marian, mtloop]
---
# {source_lang}-{target_lang}, trained with mtloop

A Marian of {parameters:,} parameters: {encoder_layers} encoder and {decoder_layers} decoder layers, width {width}, \
{heads} heads, feed-forward {ffn}, swish, separate vocabularies of {source_size} and {target_size} entries \
({vocab}), untied output. Weights are stored in 16 bits and meant to be computed with in 32.

## Data and licences
{about}

{pairs:,} pairs of {tokens:,} tokens were learned from.

## Scores
{scores}

Greedy translation of the averaged weights, {scorer}.

## Recipe
{seen_tokens:,} tokens (padding included) in {step:,} updates, {epochs:.1f} epochs, {minutes:.1f} minutes on {device}.

{recipe}

## Intended use
A base to adapt, segment by segment, to one translator's corrections; and experiments with that. It is small on \
purpose: it runs and learns on two CPU cores.

## Limits
Trained on what is listed above and nothing else: elsewhere it will be worse, and fluent text may be wrong. Single \
sentences of at most {longest} tokens; longer ones were not seen in training. Not for use where a wrong translation \
does harm.

## Files
`seen-words.npy` holds sorted 64-bit BLAKE2b hashes of the {words:,} target words seen in training ({tokeniser} \
tokens with a letter in them), to be read with `mtloop.nmt.training.SeenWords`.
"""


def card(
    recipe: Recipe,
    place: TrainingState,
    facts: Mapping[str, Any],
    scores: Mapping[str, float],
    about: str = "",
) -> str:
    """The card as Markdown. `facts` are those of the prepared data and of the machine."""
    parts = {name: value for name, value in asdict(recipe).items() if name not in ("minutes", "steps")}
    return _CARD.format(
        **parts,
        **facts,
        about=about.strip() or "Not named by whoever trained this model: ask before you share it.",
        scores=_table(("text", "BLEU"), {name: f"{score:.2f}" for name, score in scores.items()}),
        recipe=_table(("part", "value"), asdict(recipe)),
        seen_tokens=place.tokens,
        step=place.step,
        epochs=place.epoch + place.batch / max(1, facts["batches"]),
        minutes=place.seconds / 60,
        longest=recipe.max_tokens,
    )


def _table(head: tuple[str, str], rows: Mapping[str, Any]) -> str:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    return "\n".join(lines + [f"| {name} | {value} |" for name, value in rows.items() if value is not None])
