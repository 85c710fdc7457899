"""Greedy search of many sources at once gives what greedy search of each source gives."""

from __future__ import annotations

import pytest
import torch
from helpers.tiny_marian import demo_pairs
from torch import Tensor

from mtloop.core import PostEdit, Proposal, Segment
from mtloop.nmt.adaptive import AdaptiveNMT
from mtloop.nmt.engine.batch_search import MAX_OPEN_SHARE, BatchDecoder, encode_batch, greedy_batch
from mtloop.nmt.engine.find_model import find_model
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.search import UNLIMITED, LengthLimits, LogitsProcessor, SearchState, greedy
from mtloop.nmt.engine.weights import LOGITS_BIAS
from mtloop.nmt.scopes.lasso import Lasso

TEXTS = [source for source, _ in demo_pairs()[:14]] + ["", "File"]


@pytest.fixture(scope="module")
def embedded() -> Marian:
    """The embedded model; translations by the random models hardly differ."""
    return Marian.load(find_model("en-de"))


def sources(model: Marian) -> list[list[int]]:
    found = [model.source.encode(text) for text in TEXTS]
    assert len(set(map(len, found))) > 6, "the sources should differ in length"
    return found


def test_encoder_states_are_those_of_each_source(marian: Marian) -> None:
    batch = encode_batch(marian, sources(marian))
    for row, ids in enumerate(sources(marian)):
        torch.testing.assert_close(batch.states[row, : len(ids)], marian.encode(ids).states, rtol=1e-4, atol=1e-5)
        assert batch.mask[row, 0, 0].tolist() == [0.0] * len(ids) + [float("-inf")] * (batch.mask.shape[-1] - len(ids))


@pytest.mark.parametrize(
    "limits",
    [LengthLimits(), LengthLimits(factor=1, slack=2), LengthLimits(max_repeats=2)],
    ids=["default", "short", "no repeats"],
)
def test_tokens_are_those_of_each_source(embedded: Marian, limits: LengthLimits) -> None:
    alone = [greedy(embedded, ids, limits).ids for ids in sources(embedded)]
    assert len(set(map(len, alone))) > 6, "the translations should differ in length"
    assert greedy_batch(embedded, sources(embedded), limits) == alone


@pytest.mark.parametrize("slack", [20, 150])
def test_tokens_of_models_with_separate_and_tied_embeddings(marian: Marian, slack: int) -> None:
    """150 tokens are more than memory is allocated for at first."""
    bias = 3 * torch.randn(len(marian.weights[LOGITS_BIAS]), generator=torch.Generator().manual_seed(1))
    limits = LengthLimits(factor=0, slack=slack, max_repeats=10**6)
    alone = [greedy(marian, ids, limits, bias).ids for ids in sources(marian)]
    assert greedy_batch(marian, sources(marian), limits, bias) == alone
    assert len(alone[0]) == slack


def test_no_source_gives_no_translation(embedded: Marian) -> None:
    assert greedy_batch(embedded, [], UNLIMITED) == []


def test_extra_bias_counts(embedded: Marian) -> None:
    bias = torch.randn(len(embedded.target), generator=torch.Generator().manual_seed(1))
    bias[embedded.target.pad] = 100.0  # never generated all the same
    alone = [greedy(embedded, ids, LengthLimits(), bias).ids for ids in sources(embedded)]
    assert greedy_batch(embedded, sources(embedded), LengthLimits(), bias) == alone
    assert greedy_batch(embedded, sources(embedded), LengthLimits()) != alone


def test_offsets_of_embeddings_count(embedded: Marian) -> None:
    """`lasso` stores offsets of some rows of the tables beside the tables."""
    learner = AdaptiveNMT(Lasso(embedded))
    for number, (source, target) in enumerate(demo_pairs()[:4]):
        learner.learn(Proposal(Segment(str(number), source), ""), PostEdit(target))
    model, bias = learner.model, learner.scope.extra_bias
    assert any(len(rows) for rows in model.weights.rows.values())
    alone = [greedy(model, ids, LengthLimits(), bias).ids for ids in sources(model)]
    assert greedy_batch(model, sources(model), LengthLimits(), bias) == alone


def test_finished_rows_are_removed(embedded: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, step = list[int](), BatchDecoder.step

    def counting(self: BatchDecoder, last: Tensor) -> tuple[Tensor, Tensor]:
        rows.append(len(last))
        return step(self, last)

    monkeypatch.setattr(BatchDecoder, "step", counting)
    found = greedy_batch(embedded, sources(embedded), LengthLimits())
    assert rows[0] == len(found)
    assert rows == sorted(rows, reverse=True)
    assert len(rows) == max(map(len, found))
    for length, count in enumerate(rows):
        still_open = sum(len(ids) > length for ids in found)
        assert still_open <= count <= max(still_open / MAX_OPEN_SHARE, still_open + 1), (length, count, still_open)


class Recorder:
    """Excludes one token, and records what it is called with; with `in_place` False it returns new logits."""

    def __init__(self, excluded: int, in_place: bool) -> None:
        self.excluded, self.in_place = excluded, in_place
        self.states: list[SearchState] = []

    def __call__(self, state: SearchState, logits: Tensor) -> Tensor:
        assert len(state.decoder_states) == len(state.attention) == len(state.tokens) == len(logits) == 1
        self.states.append(SearchState(state.decoder_states, state.attention, [list(state.tokens[0])]))
        changed = logits if self.in_place else logits.clone()
        changed[0, self.excluded] = float("-inf")
        return changed


def recorders(model: Marian, in_place: bool) -> list[Recorder]:
    """Exclude for each source a token of its translation; another one for each source."""
    found = [greedy(model, ids, LengthLimits()).ids for ids in sources(model)]
    return [Recorder(ids[number % len(ids)], in_place) for number, ids in enumerate(found)]


@pytest.mark.parametrize("in_place", [True, False])
def test_each_source_has_its_own_processors(embedded: Marian, in_place: bool) -> None:
    ours = recorders(embedded, in_place)
    theirs = [Recorder(one.excluded, in_place) for one in ours]
    given: list[list[LogitsProcessor]] = [[one] for one in ours]
    given[3] = []
    found = greedy_batch(embedded, sources(embedded), LengthLimits(), None, given)
    for row, (ids, one) in enumerate(zip(sources(embedded), theirs, strict=True)):
        processors: list[LogitsProcessor] = [one] if row != 3 else []
        assert found[row] == greedy(embedded, ids, LengthLimits(), processors=processors).ids
        assert len(ours[row].states) == len(one.states)
        for mine, other in zip(ours[row].states, one.states, strict=True):
            assert mine.tokens == other.tokens
            torch.testing.assert_close(mine.attention, other.attention, rtol=1e-3, atol=1e-5)
            torch.testing.assert_close(mine.decoder_states, other.decoder_states, rtol=1e-3, atol=1e-4)
