"""Neural methods that learn from post-edits, by name: a scope (the weights that learn) with optional extras."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mtloop.core.errors import InputError, UnknownName
from mtloop.core.json_files import parse_json
from mtloop.core.protocols import Learner
from mtloop.core.ranges import check_above, check_at_least
from mtloop.core.types import JSON, PostEdit
from mtloop.methods.common_settings import (
    BeamSize,
    BiasLearningRate,
    FrozenPrecision,
    GradientClipping,
    KLWeight,
    LearningRate,
    MaxPieceTokens,
    MaxUpdates,
    Seed,
    TensorsFile,
)
from mtloop.methods.engines import NMT
from mtloop.methods.method import PAPER_2019, Method, first_sentence
from mtloop.methods.setting import Setting, settings_of_maker, with_defaults
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS
from mtloop.text.pair_filter import ONLY_EMPTY

if TYPE_CHECKING:
    from mtloop.nmt.decoding.copying import CopyModel
    from mtloop.nmt.decoding.memory import Memory
    from mtloop.nmt.engine.marian import Marian
    from mtloop.nmt.scopes.scope import Scope


def frozen(model: Marian) -> Scope:
    """The unchanged base model; no weight learns."""
    from mtloop.nmt.scopes.scope import Frozen

    return Frozen(model)


def bias(model: Marian, *, learning_rate: LearningRate = 0.1, gradient_clipping: GradientClipping = "clip") -> Scope:
    """Only an extra output bias learns."""
    from mtloop.nmt.scopes.bias import OutputBias

    return OutputBias(model, learning_rate, gradient_clipping)


def full(model: Marian, *, learning_rate: LearningRate = 3e-3, gradient_clipping: GradientClipping = "clip") -> Scope:
    """Every parameter learns."""
    from mtloop.nmt.scopes.dense import Dense, all_names

    return Dense(model, all_names(model.weights), learning_rate, gradient_clipping)


def top(model: Marian, *, learning_rate: LearningRate = 1e-2, gradient_clipping: GradientClipping = "clip") -> Scope:
    """The topmost layer of the encoder and of the decoder learns."""
    from mtloop.nmt.scopes.dense import Dense, top_names

    return Dense(model, top_names(model), learning_rate, gradient_clipping)


def fixed(
    model: Marian,
    *,
    tensors_file: TensorsFile = "",
    learning_rate: LearningRate = 1e-2,
    gradient_clipping: GradientClipping = "clip",
) -> Scope:
    """Tensors selected on held-out data learn; `tensors_file` lists them ("": the model's own `fixed.json`)."""
    from mtloop.nmt.scopes.dense import Dense

    return Dense(model, chosen_tensors(model, tensors_file), learning_rate, gradient_clipping)


def lasso(
    model: Marian,
    *,
    learning_rate: LearningRate = 5e-3,
    bias_learning_rate: BiasLearningRate = 1e-2,
    lasso_penalty: Annotated[float, "Weight of the group-lasso penalty."] = 1e-5,
    hidden_budget: Annotated[int, "Maximum number of learned offsets of hidden layers."] = 1_000_000,
    embedding_budget: Annotated[int, "Maximum number of learned offsets of embeddings."] = 1_000_000,
    gradient_clipping: GradientClipping = "clip",
) -> Scope:
    """A few offsets learn; group lasso selects them during adaptation, so the state of a user stays small."""
    from mtloop.nmt.scopes.lasso import Lasso

    return Lasso(
        model, learning_rate, bias_learning_rate, lasso_penalty, hidden_budget, embedding_budget, gradient_clipping
    )


def lora(
    model: Marian,
    *,
    rank: Annotated[int, "Rank of the offsets (0: 32, or the largest within the budget)."] = 0,
    learning_rate: LearningRate = 5e-3,
    bias_learning_rate: BiasLearningRate = 0.0,
    seed: Seed = 1,
    parameter_budget: Annotated[int, "Maximum number of learned parameters."] = 2_000_000,
    gradient_clipping: GradientClipping = "clip",
) -> Scope:
    """Low-rank offsets of all attention and feed-forward matrices learn.

    `bias_learning_rate` above 0 adds an extra output bias.
    """
    from mtloop.nmt.scopes.lora import Lora

    return Lora(model, learning_rate, bias_learning_rate, rank, seed, parameter_budget, gradient_clipping)


def memory(
    *,
    max_memory_weight: Annotated[float, "Largest weight of the memory in a token's probability, 0 to 1."] = 0.8,
    distance_scale: Annotated[float, "Distance at which the memory's weight falls to 1/e."] = 1.5,
    memory_temperature: Annotated[float, "Temperature of the vote over distances."] = 0.2,
    neighbours: Annotated[int, "Number of nearest states that vote."] = 8,
    max_states_per_word: Annotated[int, "Number of stored states of each source word that are compared."] = 32,
    similar_segments: Annotated[int, "Number of most similar segments whose states are compared first."] = 16,
    similarity_boost: Annotated[float, "How much further states of similar segments reach (0: no further)."] = 4.0,
    check_changed_words: Annotated[
        bool, "Whether the memory is silent on words that depend on changed words of a similar segment."
    ] = True,
) -> Memory:
    """Decoder states of confirmed segments vote on the next token; an exact repeat gets its confirmed translation."""
    from mtloop.nmt.decoding.memory import Memory, MemorySettings

    weighting = max_memory_weight, distance_scale, memory_temperature, neighbours
    similar = max_states_per_word, similar_segments, similarity_boost
    return Memory(MemorySettings(*weighting, *similar, check_changed_words))


def copying(
    *,
    copy_start_bonus: Annotated[float, "Bonus for starting to copy a word of the source."] = 4.0,
    copy_continue_bonus: Annotated[float, "Bonus for continuing a word that is being copied."] = 6.0,
) -> CopyModel:
    """Names and other words that translators leave unchanged get a bonus during decoding."""
    from mtloop.nmt.decoding.copying import CopyModel

    return CopyModel(copy_start_bonus, copy_continue_bonus)


def base_model(model: Marian, *, precision: FrozenPrecision = "float32") -> Marian:
    """Return the model that a method starts from, in a precision."""
    return model.with_precision(precision)


def learning(
    *,
    beam_size: BeamSize = 1,
    max_updates: MaxUpdates = 3,
    target_perplexity: Annotated[float, "Updates of a pair stop at this perplexity."] = 2.0,
    max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS,
    kl_weight: KLWeight = 0.0,
    replay_pairs: Annotated[int, "Number of earlier pairs learned again with each new pair (0: none)."] = 0,
    loss_threshold: Annotated[float, "Below this loss, in nats per token, the learning rate decreases (0: off)."] = 0.0,
    weight_average: Annotated[
        float, "Weight of the newest weights in the moving average that translates (0: off)."
    ] = 0.0,
    filter_pairs: Annotated[bool, "Whether pairs that look wrong are not learned, and harmful updates undone."] = True,
    limit_loops: Annotated[bool, "Whether a translation ends when it repeats a phrase again and again."] = True,
) -> dict[str, Any]:
    """Return the keyword arguments that all methods share: search, length of learning and regularisation."""
    from mtloop.nmt.engine.search import LengthLimits
    from mtloop.nmt.regularisation import Regularisation

    check_at_least(1, beam_size=beam_size, target_perplexity=target_perplexity)
    check_at_least(0, max_updates=max_updates)
    regularisation = Regularisation(kl_weight, replay_pairs, loss_threshold, weight_average)
    limits = {"beam_size": beam_size, "max_updates": max_updates, "target_perplexity": target_perplexity}
    loops: dict[str, Any] = {} if limit_loops else {"limits": LengthLimits(max_phrase=0)}
    pairs = {} if filter_pairs else {"pair_filter": ONLY_EMPTY, "max_loss": math.inf, "max_loss_increase": math.inf}
    return limits | loops | pairs | {"max_piece_tokens": max_piece_tokens, "regularisation": regularisation}


SCOPES: dict[str, Callable[..., Scope]] = {
    "baseline": frozen,
    "bias": bias,
    "full": full,
    "top": top,
    "fixed": fixed,
    "lasso": lasso,
    "lora": lora,
}
LEARNING_SCOPES = tuple(name for name in SCOPES if name != "baseline")
SEARCH_SETTINGS = (
    "beam_size",
    "max_piece_tokens",
    "precision",
    "limit_loops",
)  # the shared settings of methods whose weights do not learn
NO_UPDATES: dict[str, JSON] = {"max_updates": 0}
EXTRAS: dict[str, Callable[..., Any]] = {"memory": memory, "copy": copying}


@dataclass(frozen=True)
class NeuralMaker:
    """Makes the learner of a method from its scope and extras: `full`, `memory`, `lasso+memory`, `full+memory+copy`."""

    name: str

    @property
    def parts(self) -> dict[str, Callable[..., Any]]:
        """The scope first, then the extras, by name; a name without a scope means the base model with extras."""
        names = self.name.split("+")
        scopes = [name for name in names if name in SCOPES] or ["baseline"]
        return {scopes[0]: SCOPES[scopes[0]]} | {name: EXTRAS[name] for name in names if name in EXTRAS}

    @property
    def settings(self) -> dict[str, Setting]:
        """The settings of the parts, and those that all methods share."""
        own = {name: setting for part in self.parts.values() for name, setting in settings_of_maker(part).items()}
        common = settings_of_maker(learning) | settings_of_maker(base_model)
        return own | (common if self.updates_weights else {name: common[name] for name in SEARCH_SETTINGS})

    @property
    def updates_weights(self) -> bool:
        """Whether weights learn; if not, the settings about updates do not apply."""
        return "baseline" not in self.parts

    def __call__(self, model: Marian, **settings: JSON) -> Learner:
        from mtloop.nmt.adaptive import AdaptiveNMT

        if (rate := settings.get("learning_rate")) is not None:
            check_above(0, learning_rate=float(rate))  # type: ignore[arg-type]
        model = base_model(model, **_own(base_model, settings))
        (_, scope), *extras = self.parts.items()
        made = {"copying" if name == "copy" else name: part(**_own(part, settings)) for name, part in extras}
        common = learning(**_own(learning, settings if self.updates_weights else settings | NO_UPDATES))
        if common["regularisation"].replay_pairs and "memory" not in made:
            made["memory"] = _pairs_only()
        return AdaptiveNMT(scope(model, **_own(scope, settings)), method=self.name, **made, **common)


def neural_method(name: str, defaults: Mapping[str, JSON] | None = None, paper: str = "") -> Method:
    """Return the record of a scope with extras, such as `lasso+memory`; `defaults` replace those of its parts."""
    maker = NeuralMaker(name)
    parts = [part for part_name, part in maker.parts.items() if part_name in name.split("+")]
    summary = " ".join(map(first_sentence, parts))
    settings = with_defaults(maker.settings, defaults or {})
    learns_from = () if name == "baseline" else (PostEdit,)
    return Method(name, summary, NMT, maker, settings, learns_from, paper)


NEURAL_METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        *(neural_method(name, paper=PAPER_2019) for name in ("baseline", "bias", "full", "top", "fixed", "lasso")),
        *(neural_method(name) for name in ("lora", "memory", "full+memory", "lasso+memory", "lora+memory")),
        neural_method("full+memory+copy", {"learning_rate": 4e-3, "max_updates": 2, "kl_weight": 0.3}),
        neural_method("lora+memory+copy", {"learning_rate": 3e-3}),
    )
}


def make_scope(model: Marian, name: str, learning_rate: float, tensors_file: str = "") -> Scope:
    """Return a scope by the name it has in post-edit methods; `learning_rate` 0 takes the scope's default.

    The scope does not clip each tensor's gradient: the caller clips one norm over all of them.
    """
    check_scope(name, tensors_file)
    settings: dict[str, Any] = {"learning_rate": learning_rate} if learning_rate else {}
    settings |= {"tensors_file": tensors_file} if tensors_file else {}
    return SCOPES[name](model, gradient_clipping="none", **settings)


def check_scope(name: str, tensors_file: str) -> None:
    """Raise InputError if `name` is no scope that learns, or if another scope than `fixed` has a `tensors_file`."""
    if name not in LEARNING_SCOPES:
        raise UnknownName("scope", name, LEARNING_SCOPES)
    if tensors_file and name != "fixed":
        raise InputError(f"tensors_file is a setting of scope fixed, not of {name}")


def canonical_name(method: str) -> str:
    """Return the name of a combination with its parts in the order scope, memory, copy; return other names unchanged.

    >>> canonical_name("copy+memory+full"), canonical_name("nmt-el")
    ('full+memory+copy', 'nmt-el')
    """
    parts = method.split("+")
    return "+".join(sorted(parts, key=[*SCOPES, *EXTRAS].index)) if is_combination(parts) else method


def is_combination(parts: list[str]) -> bool:
    """Whether parts combine into a method: at most one scope, and no part twice."""
    scopes = sum(part in SCOPES for part in parts)
    return scopes <= 1 and len(set(parts)) == len(parts) > 1 and all(part in SCOPES | EXTRAS for part in parts)


def chosen_tensors(model: Marian, path: str) -> frozenset[str]:
    """Return the names of the tensors in the file `path` ("": in the model's own `fixed.json`)."""
    file = Path(path) if path else model.folder / "fixed.json"
    try:
        names = [str(name) for name in parse_json(file.read_bytes())["tensors"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = "method `fixed` needs a list of tensors; make one: mtloop model choose --data FILE --out FILE"
        raise InputError(f"{message} ({error})", path=file) from error
    if missing := [name for name in names if name not in model.weights]:
        raise InputError(f"the model has no tensor {missing[0]!r}", path=file)
    return frozenset(names)


def _pairs_only() -> Memory:
    """Return a memory that keeps pairs for replay and does not influence decoding."""
    from mtloop.nmt.decoding.memory import Memory

    return Memory(None)


def _own(part: Callable[..., Any], settings: Mapping[str, JSON]) -> dict[str, Any]:
    return {name: settings[name] for name in settings_of_maker(part) if name in settings}
