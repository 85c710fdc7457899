"""Describe or convert a model, or choose the tensors of method `fixed`: what `mtloop model` does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from mtloop.core.extras import need_extras
from mtloop.core.types import JSON

DELTA_SUFFIXES = (".safetensors", ".state")
DEFAULT_LIMIT, DEFAULT_BUDGET = 200, 2_000_000


@dataclass(frozen=True, repr=False)
class ModelInfo:
    """The facts about a neural model, a statistical model or a delta: unformatted `values`, and `texts` for people."""

    kind: str
    values: Mapping[str, JSON]
    texts: Mapping[str, str]

    def __str__(self) -> str:
        return "\n".join(f"{name:12} {text}" for name, text in self.texts.items())

    def __repr__(self) -> str:
        return str(self)


def model_info(name: str | Path = "en-de") -> ModelInfo:
    """Return the facts about a model (en-de, a folder, a Hugging Face name) or a delta (a file, or RUN.state)."""
    from mtloop.smt.card import CARD_FILE

    if str(name).rstrip("/").endswith(DELTA_SUFFIXES):
        return delta_info(Path(name))
    if (Path(name) / CARD_FILE).is_file():
        return smt_info(Path(name))
    return neural_info(str(name))


def neural_info(name: str) -> ModelInfo:
    need_extras("nmt")
    from mtloop.data.languages import pair_name
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.engine.model_languages import model_languages

    folder = find_model(name)
    model, languages = Marian.load(folder), model_languages(folder)
    shape, parameters = model.shape, sum(model.weights[tensor].numel() for tensor in model.weights)
    values: dict[str, JSON] = {
        "source_lang": languages[0],
        "target_lang": languages[1],
        "encoder_layers": shape.encoder_layers,
        "decoder_layers": shape.decoder_layers,
        "width": shape.width,
        "heads": shape.heads,
        "source_vocabulary": len(model.source),
        "target_vocabulary": len(model.target),
        "parameters": parameters,
        "fingerprint": model.weights.fingerprint,
    }
    texts = {
        "languages": pair_name(*languages),
        "layers": f"{shape.encoder_layers} encoder, {shape.decoder_layers} decoder",
        "width": f"{shape.width}, {shape.heads} heads",
        "vocabulary": f"{len(model.source)} source, {len(model.target)} target",
        "parameters": f"{parameters:,}",
        "fingerprint": model.weights.fingerprint,
    }
    return ModelInfo("neural model", values, texts)


def smt_info(folder: Path) -> ModelInfo:
    from mtloop.smt.card import SmtModelCard

    card = SmtModelCard.read(folder)
    size, fingerprint = sum(card.sizes.values()), card.fingerprint
    values: dict[str, JSON] = {**card.facts, "weights": dict(card.weights), "bytes": size, "fingerprint": fingerprint}
    texts = {name: str(value) for name, value in card.facts.items()}
    texts |= {"weights": ", ".join(f"{name} {value:.3g}" for name, value in card.weights.items())}
    return ModelInfo("statistical model", values, texts | {"bytes": f"{size:,}", "fingerprint": fingerprint})


def delta_info(path: Path) -> ModelInfo:
    from mtloop.nmt.delta import Delta
    from mtloop.nmt.delta_files import find_delta

    delta = Delta.read(find_delta(path))
    counters = dict(delta.counters)
    lessons = f"{counters['rewards']:,} rewards" if "rewards" in counters else f"{counters['lessons']:,} corrections"
    values: dict[str, JSON] = {"method": delta.method, **counters, "parameters": delta.parameters}
    values |= {"stored_segments": delta.stored_segments, "bytes": delta.size, "base": delta.base}
    texts = {
        "method": delta.method,
        "learned": f"{lessons}, {counters['updates']:,} updates",
        "parameters": f"{delta.parameters:,}",
        "memory": f"{delta.stored_segments:,} segments",
        "bytes": f"{delta.size:,}",
        "base": delta.base,
    }
    return ModelInfo("delta", values, texts)


def convert_model(folder: str | Path, out: str | Path, *, half: bool = False) -> Path:
    """Convert a model with a .bin file to safetensors, check that it loads, and return the new file.

    No code in the .bin file is executed. `half` stores 16-bit floats.
    """
    need_extras("nmt")
    from mtloop.nmt.engine.convert import convert
    from mtloop.nmt.engine.marian import Marian

    folder, out = Path(folder), Path(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as unchecked:
        convert(folder, Path(unchecked), half=half)
        Marian.load(Path(unchecked))
        out.mkdir(exist_ok=True)
        for path in sorted(Path(unchecked).iterdir()):  # config.json comes first, the weights later
            path.replace(out / path.name)
    return out / "model.safetensors"


@dataclass(frozen=True)
class TensorChoice:
    """The names of the tensors that method `fixed` updates, and how they were chosen."""

    data: str
    segments: int
    budget: int
    fingerprint: str
    tensors: list[str]


def choose_fixed_tensors(
    data: str | Path,
    out: str | Path,
    *,
    model: str = "en-de",
    limit: int = DEFAULT_LIMIT,
    budget: int = DEFAULT_BUDGET,
    source_lang: str | None = None,
    target_lang: str | None = None,
) -> TensorChoice:
    """Choose the tensors that change most when all weights are updated, and write their names to the file `out`.

    `data` is held-out data of the domain; the model adapts on its first `limit` segments. `budget` is the maximum
    number of parameters.
    """
    need_extras("nmt")
    from mtloop.core.atomic import write_text
    from mtloop.data import check_corpus, read, take
    from mtloop.judges import PostEditor
    from mtloop.nmt.choose_tensors import choose_tensors
    from mtloop.nmt.engine.find_model import find_model
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.engine.model_languages import model_languages

    corpus, folder = read(data, source_lang=source_lang, target_lang=target_lang), find_model(model)
    check_corpus(corpus, [model_languages(folder)])
    base = Marian.load(folder)
    names = choose_tensors(base, list(take(corpus, limit)), PostEditor(), budget)
    choice = TensorChoice(Path(data).name, limit, budget, base.weights.fingerprint, names)
    write_text(Path(out), json.dumps(asdict(choice), indent=1) + "\n")
    return choice
