"""Types of settings that several methods share, each with its help text."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from mtloop.methods.setting import NAMES_FILE

LearningRate: TypeAlias = Annotated[float, "Learning rate of SGD."]
OptimiserRate: TypeAlias = Annotated[float, "Learning rate of the optimiser."]
DefaultLearningRate: TypeAlias = Annotated[float, "Learning rate (0: the default of the scope and optimiser)."]
BiasLearningRate: TypeAlias = Annotated[float, "Learning rate of the output bias (0: no output bias)."]
GradientClipping: TypeAlias = Annotated[
    Literal["clip", "scale", "none"],
    "Norm of each tensor's gradient: clip (above 1), scale (always to 1) or none.",
]
TensorsFile: TypeAlias = Annotated[
    str, "Scope fixed: file that lists the tensors (empty: the model's fixed.json).", NAMES_FILE
]
ScopeName: TypeAlias = Annotated[Literal["full", "top", "fixed", "bias", "lasso", "lora"], "Weights that learn."]
MaxUpdates: TypeAlias = Annotated[int, "Maximum number of updates per pair."]
MaxPieceTokens: TypeAlias = Annotated[
    int, "A longer sentence is split after a full stop inside it, and translated in pieces."
]
BeamSize: TypeAlias = Annotated[int, "Number of hypotheses in beam search (1: greedy)."]
FrozenPrecision: TypeAlias = Annotated[
    Literal["auto", "float32", "bfloat16", "int8"],
    "Precision in which frozen matrices read a pair (int8: bfloat16, and int8 to decode; auto: by the processor).",
]
KLWeight: TypeAlias = Annotated[float, "Weight of the KL term that keeps the model close to the base (0: off)."]
Seed: TypeAlias = Annotated[int, "Random seed."]
NBestSize: TypeAlias = Annotated[int, "Length of the n-best list."]
Temperature: TypeAlias = Annotated[float, "Temperature of sampling."]
RidgePenalty: TypeAlias = Annotated[float, "Penalty of the ridge regression that predicts rewards."]
PerturbationScale: TypeAlias = Annotated[float, "Scale of the Gaussian perturbation of the weights."]
LexiconFolder: TypeAlias = Annotated[
    str, "Folder of a statistical model; its lexical table translates unknown words.", NAMES_FILE
]
