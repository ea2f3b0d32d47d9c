"""Kernel SHAP's coalitions and solver, against Shapley's own formula and the authors' package."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb, factorial

import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.methods.shap import coalitions, solve
from pasta.models.base import torch_generator

torch.set_num_threads(1)
Game = Callable[[Tensor], Tensor]  # masks (m, features) to worth (m,)


def random_game(features: int, seed: int = 0) -> Game:
    """A smooth function of all features together, far from additive."""
    generator = torch_generator(seed, "game")
    first = torch.randn(features, 7, generator=generator, dtype=torch.double)
    second = torch.randn(7, generator=generator, dtype=torch.double)
    return lambda masks: torch.tanh(masks.double() @ first) @ second


def by_definition(game: Game, features: int) -> Tensor:
    """Shapley's formula: the mean marginal contribution over all orders, term by term."""
    result = torch.zeros(features, dtype=torch.double)
    for feature in range(features):
        others = [other for other in range(features) if other != feature]
        for size in range(features):
            weight = factorial(size) * factorial(features - size - 1) / factorial(features)
            for members in combinations(others, size):
                without = torch.zeros(1, features, dtype=torch.bool)
                without[0, list(members)] = True
                joined = without.clone()
                joined[0, feature] = True
                result[feature] += weight * float(game(joined) - game(without))
    return result


def kernel_shap(game: Game, features: int, samples: int, seed: int = 0) -> Tensor:
    masks, weights = coalitions(features, samples, torch_generator(seed, "test"))
    ends = game(torch.tensor([[True], [False]]).expand(2, features))
    return solve(masks, weights, game(masks)[None], ends[:1], ends[1:])[0]


@pytest.mark.parametrize("features", [1, 2, 3, 4, 5, 6, 7, 8])
def test_all_coalitions_give_exact_shapley_values(features: int) -> None:
    game = random_game(features)
    torch.testing.assert_close(
        kernel_shap(game, features, 256), by_definition(game, features), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("features", [2, 3, 6, 7, 10])
def test_every_coalition_is_there_once_with_shapleys_kernel_if_they_fit(features: int) -> None:
    masks, weights = coalitions(features, 2**features - 2, torch_generator(0, "test"))
    assert len(masks) == 2**features - 2 == len(torch.unique(masks, dim=0))
    sizes = masks.sum(1).tolist()
    kernel = [(features - 1) / (comb(features, s) * s * (features - s)) for s in sizes]
    expected = torch.tensor(kernel, dtype=torch.double)
    torch.testing.assert_close(weights, expected / expected.sum())


@pytest.mark.parametrize(("features", "samples"), [(9, 60), (10, 500), (12, 101), (40, 500)])
def test_samples_are_different_pairs_and_small_sizes_come_first(
    features: int, samples: int
) -> None:
    masks, weights = coalitions(features, samples, torch_generator(1, "test"))
    assert 0.9 * samples <= len(masks) <= samples
    assert len(torch.unique(masks, dim=0)) == len(masks)
    found = {
        tuple(mask): float(weight) for mask, weight in zip(masks.tolist(), weights, strict=True)
    }
    for mask, weight in found.items():
        assert found[tuple(not member for member in mask)] == weight
        assert 0 < sum(mask) < features
    sizes = masks.sum(1)
    assert int((sizes == 1).sum()) == features  # all alone, and with the pairs all but one
    assert float(weights.sum()) == pytest.approx(1)
    # What a size weighs in sum is what the kernel says, exactly for those that are complete.
    kernel = {s: 1 / (s * (features - s)) for s in range(1, features)}
    share = kernel[1] / sum(kernel.values())
    assert float(weights[sizes == 1].sum()) == pytest.approx(share)


def test_sampled_sizes_follow_the_kernel() -> None:
    features = 30
    masks, weights = coalitions(features, 20_000, torch_generator(2, "test"))
    sizes = masks.sum(1)
    kernel = {s: 1 / (s * (features - s)) for s in range(1, features)}
    for size in range(1, features):
        share = kernel[size] / sum(kernel.values())
        assert float(weights[sizes == size].sum()) == pytest.approx(share, abs=0.004)
    inside = (weights[:, None] * masks).sum(0)
    torch.testing.assert_close(inside, torch.full_like(inside, 0.5))  # by the pairs


def test_an_additive_game_is_solved_exactly_from_few_samples() -> None:
    worth = torch.randn(30, generator=torch_generator(0, "worth"), dtype=torch.double)
    result = kernel_shap(lambda masks: masks.double() @ worth + 5, 30, 80)
    torch.testing.assert_close(result, worth)


@pytest.mark.parametrize("samples", [2, 10, 100, 700])
def test_values_sum_to_the_difference_of_the_ends_however_few_samples(samples: int) -> None:
    game = random_game(20)
    ends = game(torch.tensor([[True], [False]]).expand(2, 20))
    total = float(kernel_shap(game, 20, samples).sum())
    assert total == pytest.approx(float(ends[0] - ends[1]), abs=1e-12)


def test_what_coalitions_leave_open_is_shared_equally() -> None:
    masks = torch.tensor([[True, False, False, False], [False, True, True, True]])
    result = solve(
        masks,
        torch.ones(2).double(),
        torch.tensor([[4.0, 6.0]]),
        torch.tensor([10.0]),
        torch.tensor([0.0]),
    )
    torch.testing.assert_close(result, torch.tensor([[4.0, 2.0, 2.0, 2.0]]).double())


def test_more_samples_come_nearer_to_the_truth() -> None:
    game, exact = random_game(11), kernel_shap(random_game(11), 11, 2**11)
    few, many = (
        torch.stack([kernel_shap(game, 11, samples, seed) for seed in range(20)])
        for samples in (60, 1000)
    )
    assert float((many - exact).square().mean()) < 0.2 * float((few - exact).square().mean())
    assert float((many - exact).abs().max()) < 0.1 * float(exact.abs().max())


def test_several_games_at_once_are_solved_as_alone() -> None:
    games = [random_game(9, seed) for seed in range(3)]
    masks, weights = coalitions(9, 200, torch_generator(0, "test"))
    ends = torch.tensor([[True], [False]]).expand(2, 9)
    values, both = (torch.stack([game(part) for game in games]) for part in (masks, ends))
    together = solve(masks, weights, values, both[:, 0], both[:, 1])
    alone = torch.stack([kernel_shap(game, 9, 200) for game in games])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)


def test_impossible_requests_are_errors() -> None:
    for features, samples in ((0, 10), (5, 1)):
        with pytest.raises(PastaError, match="coalitions"):
            coalitions(features, samples, torch_generator(0, "test"))
