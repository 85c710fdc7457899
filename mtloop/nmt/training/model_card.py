"""The model card: training data, scores, recipe, intended use and limits of a model."""

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

A Marian model with {parameters:,} parameters: {encoder_layers} encoder and {decoder_layers} decoder layers, \
width {width}, {heads} heads, feed-forward {ffn}, swish, separate vocabularies of {source_size} and \
{target_size} entries ({vocab}), untied output. Weights are stored in 16 bits; compute with 32 bits.

## Data and licences
{about}

The training data are {pairs:,} pairs with {tokens:,} tokens.

## Scores
{scores}

Greedy decoding with the averaged weights, {scorer}.

## Recipe
{seen_tokens:,} tokens (padding included) in {step:,} updates, {epochs:.1f} epochs, {minutes:.1f} minutes on {device}.

{recipe}

## Intended use
A base model for adaptation, segment by segment, to the corrections of one translator, and for experiments with it. \
It is small on purpose: it translates and learns on two CPU cores.

## Limits
Trained only on the data listed above: on other text it will be worse, and fluent output may be wrong. Trained on \
single sentences of at most {max_length} tokens. Not for use where a wrong translation does harm.

## Files
`seen-words.npy` holds sorted 64-bit BLAKE2b hashes of the {words:,} target words seen in training ({tokeniser} \
tokens that contain a letter). Read it with `mtloop.nmt.training.SeenWords`.
"""


def card(
    recipe: Recipe,
    state: TrainingState,
    facts: Mapping[str, Any],
    scores: Mapping[str, float],
    about: str = "",
) -> str:
    """Return the card as Markdown; `facts` describe the prepared data and the machine."""
    fields = {name: value for name, value in asdict(recipe).items() if name not in ("minutes", "steps")}
    return _CARD.format(
        **fields,
        **facts,
        about=about.strip() or "Not documented. Ask the person who trained this model before you share it.",
        scores=_table(("text", "BLEU"), {name: f"{score:.2f}" for name, score in scores.items()}),
        recipe=_table(("field", "value"), asdict(recipe)),
        seen_tokens=state.tokens,
        step=state.step,
        epochs=state.epoch + state.batch / max(1, facts["batches"]),
        minutes=state.seconds / 60,
        max_length=recipe.max_tokens,
    )


def _table(head: tuple[str, str], rows: Mapping[str, Any]) -> str:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    return "\n".join(lines + [f"| {name} | {value} |" for name, value in rows.items() if value is not None])
