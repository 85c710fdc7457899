"""Tiny Marian models in the file format of Hugging Face: committed vocabularies, weights from a seed."""

from __future__ import annotations

import json
from pathlib import Path

import sentencepiece
import torch
from helpers.tiny_model.make_spm import SIDES, demo_pairs, spm_bytes
from transformers import MarianConfig, MarianMTModel

__all__ = ["demo_pairs", "write_tiny"]


def write_tiny(folder: Path, *, tied: bool = False, seed: int = 0, width: int = 32) -> MarianMTModel:
    """Write a random model with real vocabularies; `tied` shares vocabulary and embeddings, as hub models do."""
    tables = [_spm(folder, side) for side in SIDES]
    if tied:
        shared = _number(dict.fromkeys(piece for table in tables for piece in table))
        tables = [shared, shared]
    (folder / "vocab.json").write_text(json.dumps(tables[0], ensure_ascii=False), encoding="utf-8")
    if not tied:
        (folder / "target_vocab.json").write_text(json.dumps(tables[1], ensure_ascii=False), encoding="utf-8")
    model = _random_model(len(tables[0]), len(tables[1]), tied, seed, width)
    model.save_pretrained(folder)
    return model


def _spm(folder: Path, side: str) -> dict[str, int]:
    model = spm_bytes(side)
    (folder / f"{side}.spm").write_bytes(model)
    spm = sentencepiece.SentencePieceProcessor(model_proto=model)
    return _number({spm.id_to_piece(i): 0 for i in range(spm.get_piece_size())})


def _number(pieces: dict[str, int]) -> dict[str, int]:
    ordinary = [piece for piece in pieces if piece not in ("<s>", "</s>", "<unk>", "<pad>")]
    return {piece: i for i, piece in enumerate(["</s>", "<unk>", *ordinary, "<pad>"])}


def _random_model(source: int, target: int, tied: bool, seed: int, width: int) -> MarianMTModel:
    torch.manual_seed(seed)
    config = MarianConfig(
        vocab_size=source,
        decoder_vocab_size=target,
        d_model=width,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=2 * width,
        decoder_ffn_dim=2 * width,
        activation_function="swish",
        scale_embedding=True,
        share_encoder_decoder_embeddings=tied,
        tie_word_embeddings=tied,
        pad_token_id=target - 1,
        eos_token_id=0,
        bos_token_id=None,
        decoder_start_token_id=target - 1,
        forced_eos_token_id=None,
        max_position_embeddings=512,
    )
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            if tensor.dim() > 1 and "position" not in name:
                tensor.mul_(3.0)  # spreads the logits, so that hypotheses differ in score
        model.final_logits_bias[0, 0] = 1.5  # makes the end of a sentence likely enough
    model.generation_config.bad_words_ids = [[target - 1]]
    return model
