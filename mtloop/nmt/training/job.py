"""A training job: from sentence pairs to a model folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError
from mtloop.core.extras import need_extras
from mtloop.nmt.training.prepared import SEEN_WORDS_FILE, PreparedData, prepare
from mtloop.nmt.training.recipe import Recipe
from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

if TYPE_CHECKING:
    import torch
    from transformers import MarianMTModel

    from mtloop.nmt.training.trainer import Trainer

CHECKPOINT_FILE = "state.safetensors"


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """Training data, recipe and output folder.

    `pairs` is read once, or never if a resumed run already has its tokens. `valid` selects the best checkpoint;
    `tests` are only reported. `about` describes the data and their licences in the model card. `work_dir` is the
    folder for tokens and checkpoint (None: `out`/work). `shard_mb` limits the size of weight files (None: one file).
    `device` is "cpu" or "cuda" (None: a GPU if there is one).
    """

    pairs: Iterable[tuple[str, str]]
    out: Path
    recipe: Recipe
    valid: Sequence[tuple[str, str]] = ()
    tests: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    vocabularies: tuple[SentencePieceModel, SentencePieceModel] | None = None
    work_dir: Path | None = None
    resume: bool = False
    workers: int = 1
    shard_mb: float | None = None
    about: str = ""
    device: str | None = None
    log: Callable[[str], None] = print

    def run(self) -> dict[str, float]:
        """Train, write the model folder, and return BLEU by name of the set."""
        need_extras("nmt")
        self._refuse_to_overwrite()
        prepared = self._prepared_data()
        trainer = self._trainer(prepared)
        for progress in trainer.run():
            self.log(str(progress))
        with trainer.average.applied(trainer.final_weights()):
            scores = self._scores(trainer.model, prepared)
            self._write(trainer, prepared, scores)
        return scores

    @property
    def folder(self) -> Path:
        """The folder of the tokens and the checkpoint."""
        return self.work_dir or self.out / "work"

    def _refuse_to_overwrite(self) -> None:
        if not self.resume and (self.folder / CHECKPOINT_FILE).exists():
            message = "a training run exists here; resume it, or remove it to start from scratch"
            raise InputError(message, path=self.folder / CHECKPOINT_FILE)

    def _prepared_data(self) -> PreparedData:
        prepared = PreparedData.load(self.folder, self.recipe) if self.resume else None
        if prepared is None:
            prepared = prepare(
                self.pairs, self.recipe, vocabularies=self.vocabularies, workers=self.workers, log=self.log
            )
            prepared.save(self.folder)
        return prepared

    def _trainer(self, prepared: PreparedData) -> Trainer:
        from mtloop.nmt.training.network import new_model
        from mtloop.nmt.training.trainer import Trainer

        model = new_model(self.recipe, len(prepared.source), len(prepared.target), self._device)
        validate = self._validation(self.valid, prepared) if self.valid else None
        path = self.folder / CHECKPOINT_FILE
        trainer = Trainer(self.recipe, prepared.corpus, model, path=path, device=self._device, validate=validate)
        if path.exists():
            trainer.resume()
            self.log(f"resumed at step {trainer.state.step}")
        return trainer

    def _validation(self, pairs: Sequence[tuple[str, str]], prepared: PreparedData) -> Callable[[MarianMTModel], float]:
        from mtloop.nmt.training.validation import Validation

        return Validation(pairs, prepared.source, prepared.target, self._device)

    def _scores(self, model: MarianMTModel, prepared: PreparedData) -> dict[str, float]:
        model.eval()
        sets = {"validation": self.valid, **self.tests}
        scores = {name: self._validation(pairs, prepared)(model) for name, pairs in sets.items() if pairs}
        for name, score in scores.items():
            self.log(f"{name}: BLEU {score:.2f}")
        return scores

    def _write(self, trainer: Trainer, prepared: PreparedData, scores: Mapping[str, float]) -> None:
        from mtloop.nmt.training.model_card import card
        from mtloop.nmt.training.model_folder import write_model, write_vocabularies

        self.out.mkdir(parents=True, exist_ok=True)
        write_model(self.out, trainer.model, trainer.final_weights(), self.shard_mb)
        write_vocabularies(self.out, self.recipe, prepared.source, prepared.target)
        prepared.seen.save(self.out / SEEN_WORDS_FILE)
        facts = self._facts(trainer, prepared)
        write_text(self.out / "README.md", card(self.recipe, trainer.state, facts, scores, self.about))
        record = {"recipe": asdict(self.recipe), "place": asdict(trainer.state), "scores": scores, "facts": facts}
        write_text(self.out / "training.json", json.dumps(record, indent=1))

    def _facts(self, trainer: Trainer, prepared: PreparedData) -> dict[str, Any]:
        """Return the facts for the model card that are not in the recipe."""
        import torch
        import transformers

        on_gpu = self._device.type == "cuda"
        return {
            **{name: fact for name, fact in prepared.facts.items() if name != "recipe"},
            "source_size": len(prepared.source),
            "target_size": len(prepared.target),
            "parameters": sum(weight.numel() for weight in trainer.final_weights().values()),
            "batches": trainer.batches.count(),
            "device": torch.cuda.get_device_name(self._device) if on_gpu else "CPU",
            "scorer": "sacreBLEU's BLEU (13a)" if find_spec("sacrebleu") else "BLEU as sacreBLEU computes it (13a)",
            "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        }

    @property
    def _device(self) -> torch.device:
        import torch

        available = "cuda" if torch.cuda.is_available() else "cpu"
        device = self.device or available
        if device not in ("cpu", available):
            raise InputError(f"no device {device!r} here; expected {' or '.join(sorted({'cpu', available}))}")
        return torch.device(device)
