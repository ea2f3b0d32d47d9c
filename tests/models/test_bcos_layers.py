"""The quick B-cos layers against the package's own, in value and in gradient."""

from __future__ import annotations

import pytest
import torch
from bcos.modules import BcosConv2d
from bcos.modules.norms import BatchNormUncentered2d
from torch import Tensor, nn

from pasta.models.bcos_layers import Cosine, QuickBatchNorm, QuickBcosConv2d, Uncentered


def images(seed: int = 0, channels: int = 4) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randn(3, channels, 6, 6, generator=random, dtype=torch.float64) + 0.4


def gradients(layer: nn.Module, seen: Tensor) -> tuple[Tensor, list[Tensor]]:
    """The output, and the derivatives of an uneven sum of it."""
    seen = seen.clone().requires_grad_()
    result = layer(seen)
    weights = torch.linspace(-1, 2, result.numel(), dtype=torch.float64).reshape(result.shape)
    parameters = [value for value in layer.parameters() if value.requires_grad]
    return result, list(torch.autograd.grad((result * weights).sum(), [seen, *parameters]))


def twins(library: nn.Module, quick: nn.Module) -> tuple[nn.Module, nn.Module]:
    for value in library.parameters():
        nn.init.normal_(value, 1, 0.3, generator=torch.Generator().manual_seed(1))
    quick.load_state_dict(library.state_dict())
    return library.double(), quick.double()


@pytest.mark.parametrize(
    "options", [{}, {"b": 1.5}, {"max_out": 2}, {"groups": 2}, {"stride": 2}], ids=str
)
def test_quick_convolution_equals_the_packages(options: dict[str, float]) -> None:
    sizes = {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "padding": 1}
    library, quick = twins(BcosConv2d(**sizes, **options), QuickBcosConv2d(**sizes, **options))
    expected, expected_gradients = gradients(library, images())
    found, found_gradients = gradients(quick, images())
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found_gradients, expected_gradients, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"momentum": None}], ids=str)
def test_quick_norm_equals_the_packages(options: dict[str, object], training: bool) -> None:
    library, quick = twins(BatchNormUncentered2d(4, **options), QuickBatchNorm(4, **options))
    library.train(training)
    quick.train(training)
    expected, expected_gradients = gradients(library, images())
    found, found_gradients = gradients(quick, images())
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found_gradients, expected_gradients, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(dict(quick.named_buffers()), dict(library.named_buffers()))


def test_derivatives_against_finite_differences() -> None:
    seen = images().requires_grad_()
    norm = images(1, channels=1).abs().requires_grad_()
    assert torch.autograd.gradcheck(Cosine.apply, (seen, norm))
    weight = torch.ones(4, dtype=torch.float64).requires_grad_()

    def normed(values: Tensor, weight: Tensor) -> Tensor:
        mean, variance = values.mean((0, 2, 3)), values.var((0, 2, 3), correction=0)
        result: Tensor = Uncentered.apply(values, weight, mean.detach(), variance.detach(), 1e-5)
        return result

    assert torch.autograd.gradcheck(normed, (seen, weight))
