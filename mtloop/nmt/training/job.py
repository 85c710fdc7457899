"""A training from pairs of sentences to a model folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtloop.core.atomic import write_text
from mtloop.core.errors import InputError, need
from mtloop.nmt.training.prepared import SEEN, Prepared, prepare
from mtloop.nmt.training.recipe import Recipe
from mtloop.nmt.training.sentencepiece_model import SentencePieceModel

if TYPE_CHECKING:
    import torch
    from transformers import MarianMTModel

    from mtloop.nmt.training.trainer import Trainer

STATE = "state.safetensors"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to train on, how, and where to.

    `pairs` is read once, and not at all when a resumed training has its tokens already. `valid` chooses among
    checkpoints, `tests` are only reported. `about` names the data and their licences in the model card.
    """

    pairs: Iterable[tuple[str, str]]
    out: Path
    recipe: Recipe
    valid: Sequence[tuple[str, str]] = ()
    tests: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    vocabularies: tuple[SentencePieceModel, SentencePieceModel] | None = None
    work: Path | None = None
    resume: bool = False
    workers: int = 1
    shard_mb: float | None = None
    about: str = ""
    device: str | None = None
    say: Callable[[str], None] = print

    def run(self) -> dict[str, float]:
        """Train, write the model folder, and return the scores."""
        need("torch", "nmt")
        need("transformers", "nmt")
        self._refuse_to_overwrite()
        prepared = self._prepared()
        trainer = self._trainer(prepared)
        for progress in trainer.run():
            self.say(str(progress))
        with trainer.average.in_place(trainer.final()):
            scores = self._scores(trainer.model, prepared)
            self._write(trainer, prepared, scores)
        return scores

    @property
    def folder(self) -> Path:
        """Where tokens and checkpoint are kept."""
        return self.work or self.out / "work"

    def _refuse_to_overwrite(self) -> None:
        if not self.resume and (self.folder / STATE).exists():
            message = "a training was begun here; go on with it (resume), or remove it to start afresh"
            raise InputError(message, path=self.folder / STATE)

    def _prepared(self) -> Prepared:
        prepared = Prepared.load(self.folder, self.recipe) if self.resume else None
        if prepared is None:
            prepared = prepare(
                self.pairs, self.recipe, vocabularies=self.vocabularies, workers=self.workers, say=self.say
            )
            prepared.save(self.folder)
        return prepared

    def _trainer(self, prepared: Prepared) -> Trainer:
        from mtloop.nmt.training.network import new_model
        from mtloop.nmt.training.trainer import Trainer

        model = new_model(self.recipe, len(prepared.source), len(prepared.target), self._device)
        validate = self._validation(self.valid, prepared) if self.valid else None
        path = self.folder / STATE
        trainer = Trainer(self.recipe, prepared.corpus, model, path=path, device=self._device, validate=validate)
        if path.exists():
            trainer.resume()
            self.say(f"resumed at step {trainer.place.step}")
        return trainer

    def _validation(self, pairs: Sequence[tuple[str, str]], prepared: Prepared) -> Callable[[MarianMTModel], float]:
        from mtloop.nmt.training.validation import Validation

        return Validation(pairs, prepared.source, prepared.target, self._device)

    def _scores(self, model: MarianMTModel, prepared: Prepared) -> dict[str, float]:
        model.eval()
        sets = {"validation": self.valid, **self.tests}
        scores = {name: self._validation(pairs, prepared)(model) for name, pairs in sets.items() if pairs}
        for name, score in scores.items():
            self.say(f"{name}: BLEU {score:.2f}")
        return scores

    def _write(self, trainer: Trainer, prepared: Prepared, scores: Mapping[str, float]) -> None:
        from mtloop.nmt.training.model_card import card
        from mtloop.nmt.training.model_folder import write_model, write_vocabularies

        self.out.mkdir(parents=True, exist_ok=True)
        write_model(self.out, trainer.model, trainer.final(), self.shard_mb)
        write_vocabularies(self.out, self.recipe, prepared.source, prepared.target)
        prepared.seen.save(self.out / SEEN)
        facts = self._facts(trainer, prepared)
        write_text(self.out / "README.md", card(self.recipe, trainer.place, facts, scores, self.about))
        record = {"recipe": asdict(self.recipe), "place": asdict(trainer.place), "scores": scores, "facts": facts}
        write_text(self.out / "training.json", json.dumps(record, indent=1))

    def _facts(self, trainer: Trainer, prepared: Prepared) -> dict[str, Any]:
        """What the card says beyond the recipe."""
        import torch
        import transformers

        on_gpu = self._device.type == "cuda"
        return {
            **{name: fact for name, fact in prepared.facts.items() if name != "recipe"},
            "source_size": len(prepared.source),
            "target_size": len(prepared.target),
            "parameters": sum(weight.numel() for weight in trainer.final().values()),
            "batches": trainer.batches.count(),
            "device": torch.cuda.get_device_name(self._device) if on_gpu else "CPU",
            "scorer": "sacreBLEU's BLEU (13a)" if find_spec("sacrebleu") else "BLEU as sacreBLEU computes it (13a)",
            "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        }

    @property
    def _device(self) -> torch.device:
        import torch

        found = "cuda" if torch.cuda.is_available() else "cpu"
        wanted = self.device or found
        if wanted not in ("cpu", found):
            raise InputError(f"no device {wanted!r} here; expected {' or '.join(sorted({'cpu', found}))}")
        return torch.device(wanted)
