"""The screened output layer gives the very token of the whole one, or no answer."""

from __future__ import annotations

import pytest
import torch
from helpers.tiny_marian import demo_pairs
from torch import Tensor

from mtloop.nmt.engine import output_screen
from mtloop.nmt.engine.lesson import forward_pass
from mtloop.nmt.engine.marian import Marian
from mtloop.nmt.engine.output_screen import OutputScreen, OutputScreens
from mtloop.nmt.engine.search import UNLIMITED, greedy
from mtloop.nmt.scopes.dense import Dense, all_names

EXCLUDED = 3


def random_case(seed: int, rows: int = 3000, width: int = 64) -> tuple[Tensor, Tensor, Tensor]:
    """A matrix with rows of very different lengths, states with one large number, a bias with an excluded row."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.rand(rows, 1, generator=generator) * 3
    matrix, states = (torch.randn(n, width, generator=generator) for n in (rows, 100))
    states[:, 5] *= 10
    bias = torch.randn(rows, generator=generator)
    bias[EXCLUDED] = float("-inf")
    return matrix * lengths, states, bias


@pytest.mark.parametrize("seed", range(5))
def test_the_token_is_that_of_the_whole_matrix(seed: int) -> None:
    matrix, states, bias = random_case(seed)
    screen = OutputScreen(matrix)
    found = [screen.best(state, bias) for state in states]
    wanted = torch.addmm(bias, states, matrix.t()).argmax(1).tolist()
    answered = [(one, other) for one, other in zip(found, wanted, strict=True) if one is not None]
    assert len(answered) >= 95
    assert all(one == other for one, other in answered)


def test_equal_logits_and_numbers_out_of_range_get_no_answer() -> None:
    matrix, states, bias = random_case(0)
    first = int((matrix @ states[0] + bias).argmax())
    twice = torch.cat([matrix, matrix[first : first + 1]])
    assert OutputScreen(twice).best(states[0], torch.cat([bias, bias[first : first + 1]])) is None
    screen = OutputScreen(matrix)
    assert screen.best(torch.zeros(64), bias) is None
    assert screen.best(torch.full((64,), float("nan")), bias) is None
    matrix[7, 7] = float("nan")
    assert OutputScreen(matrix).best(states[0], bias) is None


def test_an_excluded_row_is_never_the_answer() -> None:
    matrix, states, bias = random_case(1)
    matrix[EXCLUDED] = 100 * states[0]
    assert OutputScreen(matrix).best(states[0], bias) == int(torch.addmv(bias, matrix, states[0]).argmax())


def test_a_changed_matrix_gets_a_new_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    use_always(monkeypatch)
    matrix, states, bias = random_case(2)
    screens = OutputScreens()
    before = screens.of(matrix)
    assert before is not None
    assert before is screens.of(matrix)
    with torch.no_grad():
        matrix[11] += 50 * states[0]
    after = screens.of(matrix)
    assert after is not None
    assert after is not before
    assert after.best(states[0], bias) == 11


def test_a_small_or_rarely_used_matrix_and_another_processor_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random_case(2)[0]
    use_always(monkeypatch)
    monkeypatch.setattr(output_screen, "MIN_PRODUCTS", 2)
    screens = OutputScreens()
    assert [screens.of(matrix) is None for _ in range(4)] == [True, True, False, False]
    monkeypatch.setattr(output_screen, "MIN_SIZE", matrix.numel() + 1)
    assert all(OutputScreens().of(matrix) is None for _ in range(9))
    use_always(monkeypatch)
    with torch.inference_mode():
        assert OutputScreens().of(matrix.clone()) is None
    monkeypatch.setattr(output_screen, "multiplies_int8", lambda: False)
    assert all(OutputScreens().of(matrix) is None for _ in range(9))


def use_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_screen, "MIN_PRODUCTS", 0)
    monkeypatch.setattr(output_screen, "MIN_SIZE", 0)
    monkeypatch.setattr(output_screen, "multiplies_int8", lambda: True)


def test_translations_stay_the_same_before_and_after_learning(marian: Marian, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = Dense(marian, all_names(marian.weights), learning_rate=0.5)
    sources = [marian.source.encode(source) for source, _ in demo_pairs()[:10]]
    target = marian.target.encode(demo_pairs()[0][1])
    for _ in range(2):
        plain = [greedy(scope.model, ids, UNLIMITED, scored=True).ids[:30] for ids in sources]
        with monkeypatch.context() as context:
            use_always(context)
            assert scope.model.weights.output_screen() is not None
            assert [greedy(scope.model, ids, UNLIMITED, scored=False).ids[:30] for ids in sources] == plain
        scope.update(forward_pass(scope.model, sources[0], target, scope.names))
        assert scope.model.weights.output_screen() is None
        scope.commit()
