"""FullGrad: the terms add up to the logit, and each lies where it belongs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torchvision.models import swin_t

from pasta import explain
from pasta.errors import PastaError
from pasta.explanations.base import Given, View, shared_pass
from pasta.explanations.methods.fullgrad import Whole, fullgrad, rescaled_sum, whole_pass
from pasta.models.base import Normalise
from pasta.models.resnet import ScaledResNet
from tests.explanations.families import lively, residual, transformer, transformer_view
from tests.explanations.networks import SmallNet, in_quadrant, pictures, quadrant_view

TARGETS = torch.tensor([0, 3, 1])


def plain() -> nn.Module:
    """Biased convolutions, all kinds of pooling, a head of two layers."""
    convolutions = [nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    more = [nn.Conv2d(6, 8, 3, padding="same", groups=2), nn.LeakyReLU(0.1), nn.AvgPool2d(2)]
    head = [nn.Flatten(), nn.Linear(8 * 16, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 5)]
    return lively(nn.Sequential(*convolutions, *more, *head))


class Shifted(nn.Module):
    """Sums and differences with constants on either side, in place and not."""

    def __init__(self) -> None:
        super().__init__()
        self.rest = plain()

    def forward(self, images: Tensor) -> Tensor:
        images = 0.5 - (torch.tensor([[[[0.2]], [[0.3]], [[0.4]]]]) - images) - 1
        images = torch.rsub(images, 2.0, alpha=3)
        images += 0.25
        result: Tensor = self.rest(torch.sub(images, torch.ones(3, 1, 1), alpha=0.5))
        return result


def whole(view: View, images: Tensor, targets: Tensor = TARGETS) -> Whole:
    found = whole_pass(view, images, targets).found
    assert isinstance(found, Whole)
    return found


def scaled(maps: Tensor) -> Tensor:
    low, high = maps.amin((1, 2), keepdim=True), maps.amax((1, 2), keepdim=True)
    return (maps - low) / (high - low)


@pytest.mark.parametrize(
    ("build", "size"),
    [
        (residual, 64),
        (lambda: residual(bottleneck=False), 48),
        (lambda: nn.Sequential(Normalise(), residual()), 64),
        (plain, 16),
        (Shifted, 16),
    ],
    ids=["bottlenecks", "basic blocks", "normalised", "plain", "shifted"],
)
def test_all_terms_of_a_piecewise_linear_network_add_up_to_the_logit(
    build: Callable[[], nn.Module], size: int
) -> None:
    network = build().double()
    found = whole(View(network), pictures(3, size).double())
    assert found.logits.abs().min() > 1e-3
    torch.testing.assert_close(found.total, found.logits, rtol=1e-9, atol=1e-12)


def test_the_map_is_the_papers_formula() -> None:
    network = residual().double()
    network.relu = nn.ReLU()  # not in place: the outputs are looked at later
    for block in network.modules():
        if hasattr(block, "downsample"):
            block.relu = nn.ReLU()
    images = pictures(2, 64).double().requires_grad_()
    outputs: list[tuple[nn.BatchNorm2d, Tensor]] = []
    norms = [one for one in network.modules() if isinstance(one, nn.BatchNorm2d)]
    handles = [
        one.register_forward_hook(lambda norm, _, output: outputs.append((norm, output)))
        for one in norms
    ]
    score = network(images)[torch.arange(2), TARGETS[:2]].sum()
    gradients = torch.autograd.grad(score, [images, *(output for _, output in outputs)])
    for handle in handles:
        handle.remove()
    expected = torch.zeros(2, 64, 64, dtype=torch.double)
    terms = [gradients[0] * images.detach()]
    for (norm, _), gradient in zip(outputs, gradients[1:], strict=True):
        assert norm.running_mean is not None
        assert norm.running_var is not None
        spread = (norm.running_var + norm.eps).sqrt()
        bias = norm.bias - norm.running_mean * norm.weight / spread
        terms.append(gradient * bias.detach()[None, :, None, None])
    for term in terms:
        for image in range(2):
            for channel in term[image].abs():
                rescaled = (channel - channel.min()) / (channel.max() - channel.min() + 1e-7)
                if channel.max() - channel.min() > 1e-5 * channel.max():
                    expected[image] += nn.functional.interpolate(
                        rescaled[None, None], (64, 64), mode="bilinear"
                    )[0, 0]
    found = whole(View(network), images.detach(), TARGETS[:2]).maps
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("build", [residual, plain], ids=["residual", "plain"])
def test_maps_equal_grad_cams(build: Callable[[], nn.Module]) -> None:
    from pytorch_grad_cam import FullGrad
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    network = build()
    images = pictures(3, 64 if isinstance(network, ScaledResNet) else 16)
    goals = [ClassifierOutputTarget(int(target)) for target in TARGETS]
    with FullGrad(network, []) as cam:
        theirs = cam(images, goals)
    ours = scaled(fullgrad(Given(View(network), images, TARGETS)))
    np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-4)


def test_a_flat_channel_gives_nothing_and_each_other_one_at_most_one() -> None:
    flat = torch.full((1, 1, 4, 4), 3.0) + 1e-6 * torch.rand(1, 1, 4, 4)
    ramp = -torch.arange(16.0).reshape(1, 1, 4, 4)
    found = rescaled_sum(torch.cat([flat, ramp], 1))
    torch.testing.assert_close(found, torch.arange(16.0).reshape(1, 4, 4) / 15)


def test_only_what_the_network_looks_at_is_marked() -> None:
    images = pictures(3)
    maps = fullgrad(Given(quadrant_view(), images, torch.tensor([1, 0, 1])))
    torch.testing.assert_close(in_quadrant(maps), torch.ones(3))


class ClassToken(nn.Module):
    """Looks at its class token only, which no image can change."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 4, 4, stride=4)
        self.token = nn.Parameter(torch.ones(1, 1, 4))
        self.head = nn.Linear(4, 5, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.token.expand(len(images), -1, -1), patches], 1)
        result: Tensor = self.head(tokens[:, 0])
        return result


def test_the_class_token_counts_but_has_no_place() -> None:
    found = whole(View(ClassToken().double()), pictures(3).double())
    torch.testing.assert_close(found.total, found.logits)
    assert not found.maps.any()


@pytest.mark.parametrize("kind", ["residual", "transformer"])
def test_the_target_layer_gets_what_a_pass_of_its_own_would_give_it(kind: str) -> None:
    network = residual()
    view = View(network, network.layer4[-1]) if kind == "residual" else transformer_view()
    images = pictures(3, 64 if kind == "residual" else 32)
    ours, reference = whole_pass(view, images, TARGETS), shared_pass(view, images, TARGETS)
    torch.testing.assert_close(ours.activations, reference.activations)
    torch.testing.assert_close(ours.gradients, reference.gradients)
    assert not ours.activations.requires_grad
    assert reference.gradients.abs().max() > 0


def test_the_target_layer_may_be_followed_by_a_change_in_place() -> None:
    network = residual()
    images, block = pictures(2, 64), network.layer4[0]
    passed = whole_pass(View(network, block.bn1), images, TARGETS[:2])
    block.relu = nn.ReLU()
    reference = shared_pass(View(network, block.bn1), images, TARGETS[:2])
    assert passed.activations.min() < 0
    torch.testing.assert_close(passed.activations, reference.activations)
    torch.testing.assert_close(passed.gradients, reference.gradients)


@pytest.mark.parametrize("kind", ["small", "residual", "transformer", "swin"])
def test_an_image_has_the_same_map_alone_and_in_a_batch(kind: str) -> None:
    if kind == "swin":
        torch.manual_seed(0)
    networks: dict[str, Callable[[], nn.Module]] = {
        "small": lambda: SmallNet().eval(),
        "residual": residual,
        "transformer": transformer,
        "swin": lambda: lively(swin_t(num_classes=5)),
    }
    view, images = View(networks[kind]()), pictures(3, 32)
    together = whole(view, images)
    for number in range(3):
        part = slice(number, number + 1)
        alone = whole(view, images[part], TARGETS[part])
        room = 1e-5 * float(together.maps.max())
        torch.testing.assert_close(alone.maps[0], together.maps[number], rtol=0, atol=room)
        torch.testing.assert_close(alone.total[0], together.total[number], rtol=1e-4, atol=1e-5)


def test_the_method_uses_the_shared_pass_or_makes_its_own() -> None:
    view, images = transformer_view(), pictures(3, 32)
    shared = Given(view, images, TARGETS, run_pass=whole_pass)
    maps = fullgrad(shared)
    assert maps is shared.passed.found.maps
    assert maps.shape == (3, 32, 32)
    torch.testing.assert_close(maps, fullgrad(Given(view, images, TARGETS)))


class Failing(SmallNet):
    """Fails behind its layers."""

    def forward(self, images: Tensor) -> Tensor:
        raise RuntimeError(f"no head for {tuple(super().forward(images).shape)}")


def test_nothing_is_left_on_the_network_after_an_error() -> None:
    network = Failing()
    network.head.bias.requires_grad_(False)
    with pytest.raises(RuntimeError, match="no head"):
        whole_pass(View(network, network.last), pictures(3), TARGETS)
    assert not any(one._forward_hooks for one in network.modules())
    still = {name for name, value in network.named_parameters() if value.requires_grad}
    assert still == {name for name, _ in network.named_parameters()} - {"head.bias"}
    assert not torch.overrides.has_torch_function((torch.zeros(1),))  # true within any mode


def test_a_network_in_training_mode_is_refused_because_its_images_would_mix() -> None:
    with pytest.raises(PastaError, match="evaluation mode"):
        whole_pass(View(residual().train()), pictures(3, 64), TARGETS)


def test_weights_that_are_standardised_on_the_way_are_no_images() -> None:
    """NFNets standardise their weights by a batch norm in training mode."""
    import timm

    network = timm.create_model("nfnet_f0", num_classes=3).eval()
    maps, statuses = explain(network, pictures(1, 64), [0], ["fullgrad"], return_status=True)
    assert statuses["fullgrad"] == ["ok"] and maps["fullgrad"].max() == 1
