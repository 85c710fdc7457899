"""Published methods for corrections that come one by one, by name: for a comparison with ours on the same model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

from mtloop.core.protocols import Learner
from mtloop.core.ranges import check_above, check_at_least
from mtloop.core.types import JSON, PostEdit
from mtloop.methods.common_settings import BeamSize, MaxPieceTokens, Seed
from mtloop.methods.engines import NMT
from mtloop.methods.method import Method
from mtloop.methods.neural import SCOPES
from mtloop.nmt.piece_length import MAX_PIECE_TOKENS

if TYPE_CHECKING:
    from mtloop.nmt.decoding.memory import Memory
    from mtloop.nmt.engine.marian import Marian

Neighbours = Annotated[int, "Number of nearest states that vote."]
VoteTemperature = Annotated[float, "Temperature of the vote over squared distances."]
StoreWeight = Annotated[float, "Weight of the votes in a token's probability, 0 to 1 (lambda)."]
ExactMatch = Annotated[bool, "Whether an exact repeat gets its confirmed translation; not in the paper."]


def knn_mt(
    model: Marian,
    *,
    neighbours: Neighbours = 8,
    temperature: VoteTemperature = 10.0,
    store_weight: StoreWeight = 0.4,
    exact_match: ExactMatch = False,
    beam_size: BeamSize = 1,
    max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS,
) -> Learner:
    """kNN-MT: the nearest of all stored decoder states vote on the next token with a fixed weight."""
    from mtloop.nmt.decoding.knn.token_store import KnnSettings, TokenStore

    store = TokenStore(KnnSettings(neighbours, temperature, store_weight, exact_match))
    return _learner(model, "knn-mt", store, beam_size, max_piece_tokens)


def knn_adaptive(
    model: Marian,
    *,
    neighbours: Annotated[int, "Largest number of nearest states that vote; the network chooses 0, 1, 2, 4, ..."] = 8,
    temperature: VoteTemperature = 10.0,
    store_weight: Annotated[float, "Weight of the votes with which the network starts, between 0 and 1."] = 0.4,
    network_learning_rate: Annotated[float, "Learning rate of the network (Adam)."] = 3e-4,
    network_updates: Annotated[int, "Number of updates of the network after each correction."] = 4,
    exact_match: ExactMatch = False,
    seed: Seed = 1,
    beam_size: BeamSize = 1,
    max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS,
) -> Learner:
    """Adaptive kNN-MT: a small network, trained on the corrections, chooses how many states vote, and their weight."""
    from mtloop.nmt.decoding.knn.adaptive_store import AdaptiveStore
    from mtloop.nmt.decoding.knn.token_store import KnnSettings

    settings = KnnSettings(neighbours, temperature, store_weight, exact_match)
    store = AdaptiveStore(settings, model, network_learning_rate, network_updates, seed)
    return _learner(model, "knn-adaptive", store, beam_size, max_piece_tokens)


def knn_kok(
    model: Marian,
    *,
    neighbours: Annotated[int, "Number of nearest states, and of nearest policies, that vote."] = 8,
    temperature: VoteTemperature = 10.0,
    policy_temperature: Annotated[float, "Temperature of the vote of the policies."] = 10.0,
    max_distance: Annotated[float, "Distance of the nearest state above which the model decides alone."] = 100.0,
    exact_match: ExactMatch = False,
    beam_size: BeamSize = 1,
    max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS,
) -> Learner:
    """KoK, kNN over kNN: the nearest stored states vote; a second store of policies chooses their weight."""
    from mtloop.nmt.decoding.knn.policy_store import PolicyStore
    from mtloop.nmt.decoding.knn.token_store import KnnSettings

    settings = KnnSettings(neighbours, temperature, exact_match=exact_match)
    store = PolicyStore(settings, model, policy_temperature, max_distance)
    return _learner(model, "knn-kok", store, beam_size, max_piece_tokens)


def sk_mt(
    model: Marian,
    *,
    similar_pairs: Annotated[int, "Number of most similar pairs whose states are compared."] = 16,
    neighbours: Neighbours = 2,
    temperature: Annotated[float, "Temperature of the vote, and squared distance at which it ends."] = 100.0,
    exact_match: ExactMatch = False,
    beam_size: BeamSize = 1,
    max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS,
) -> Learner:
    """SK-MT: the nearest states of the most similar pairs vote; their weight falls with the distance of the nearest."""
    from mtloop.nmt.decoding.knn.similar_store import SimilarStore
    from mtloop.nmt.decoding.knn.token_store import KnnSettings

    settings = KnnSettings(neighbours, temperature, exact_match=exact_match)
    store = SimilarStore(settings, model.source, similar_pairs)
    return _learner(model, "sk-mt", store, beam_size, max_piece_tokens)


def similar_tuning(
    model: Marian,
    *,
    scope: Annotated[Literal["full", "lora"], "Weights that are tuned."] = "full",
    learning_rate: Annotated[float, "Learning rate of SGD for a pair with the same source; others get less."] = 0.03,
    similar_pairs: Annotated[int, "Number of most similar pairs that are learned before each sentence."] = 1,
    max_epochs: Annotated[int, "Number of epochs for pairs with the same source; others get fewer."] = 4,
    exact_match: ExactMatch = False,
    beam_size: BeamSize = 1,
    max_piece_tokens: MaxPieceTokens = MAX_PIECE_TOKENS,
) -> Learner:
    """Before each sentence a few updates on the most similar corrected pairs; they are taken back afterwards."""
    from mtloop.nmt.decoding.knn.pair_store import PairStore
    from mtloop.nmt.similar_tuning import SimilarTuningNMT, TuningSettings

    check_above(0, learning_rate=learning_rate)
    check_at_least(1, beam_size=beam_size)
    new_scope = partial(SCOPES[scope], model, learning_rate=learning_rate)
    pairs, tuning = PairStore(model.source, exact_match), TuningSettings(similar_pairs, max_epochs)
    options = {"method": "similar-tuning", "beam_size": beam_size, "max_piece_tokens": max_piece_tokens}
    return SimilarTuningNMT(model, new_scope, tuning, pairs, **options)


PEER_METHODS: dict[str, Method] = {
    name: Method.of(name, maker, NMT, learns_from=(PostEdit,), paper=paper)
    for name, maker, paper in (
        ("knn-mt", knn_mt, "Khandelwal et al., 2021"),
        ("knn-adaptive", knn_adaptive, "Zheng et al., 2021"),
        ("knn-kok", knn_kok, "Wang et al., 2022"),
        ("sk-mt", sk_mt, "Dai et al., 2023"),
        ("similar-tuning", similar_tuning, "Farajian et al., 2017"),
    )
}


def _learner(model: Marian, method: str, store: Memory, beam_size: int, max_piece_tokens: int) -> Learner:
    from mtloop.nmt.adaptive import AdaptiveNMT
    from mtloop.nmt.scopes.scope import Frozen

    check_at_least(1, beam_size=beam_size)
    options: dict[str, JSON] = {"beam_size": beam_size, "max_piece_tokens": max_piece_tokens}
    return AdaptiveNMT(Frozen(model), method=method, memory=store, max_updates=0, **options)  # type: ignore[arg-type]
