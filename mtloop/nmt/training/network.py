"""The network: a new Marian model, and its trainable weights."""

from __future__ import annotations

from typing import Any

import torch
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from mtloop.nmt.training.recipe import Recipe
from mtloop.nmt.training.sentencepiece_model import EOS, PAD

POSITIONS = 512  # longest sequence, in tokens


def new_model(recipe: Recipe, source_size: int, target_size: int, device: torch.device) -> MarianMTModel:
    """Return an untrained Marian model with separate vocabularies and an untied output layer."""
    torch.manual_seed(recipe.seed)
    model: Any = MarianMTModel(_config(recipe, source_size, target_size))
    model.generation_config = _generation_config()
    trainable: MarianMTModel = model.to(device)
    trainable.final_logits_bias.requires_grad_()
    return trainable


def _config(recipe: Recipe, source_size: int, target_size: int) -> MarianConfig:
    """Keep Marian's small initial weights (`init_std` 0.02): with larger ones, attention is learned much later."""
    return MarianConfig(
        vocab_size=source_size,
        decoder_vocab_size=target_size,
        share_encoder_decoder_embeddings=False,
        tie_word_embeddings=False,
        d_model=recipe.width,
        encoder_layers=recipe.encoder_layers,
        decoder_layers=recipe.decoder_layers,
        encoder_attention_heads=recipe.heads,
        decoder_attention_heads=recipe.heads,
        encoder_ffn_dim=recipe.ffn,
        decoder_ffn_dim=recipe.ffn,
        activation_function="swish",
        dropout=recipe.dropout,
        max_position_embeddings=POSITIONS,
        scale_embedding=True,
        pad_token_id=PAD,
        decoder_start_token_id=PAD,
        eos_token_id=EOS,
        forced_eos_token_id=EOS,
        attn_implementation="sdpa",  # type: ignore[call-arg]
    )


def _generation_config() -> GenerationConfig:
    """Return the settings of the published Marian models: a beam of 4, and padding is never generated."""
    return GenerationConfig(
        num_beams=4,
        max_length=POSITIONS,
        bad_words_ids=[[PAD]],
        pad_token_id=PAD,
        decoder_start_token_id=PAD,
        eos_token_id=EOS,
        forced_eos_token_id=EOS,
    )


def weights(model: MarianMTModel) -> dict[str, torch.Tensor]:
    """Return all trainable weights by name: the parameters, and the output bias, which Marian keeps as a buffer."""
    trainable: dict[str, torch.Tensor] = {n: p for n, p in model.named_parameters() if "embed_positions" not in n}
    return trainable | {"final_logits_bias": model.final_logits_bias}
