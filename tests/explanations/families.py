"""Small networks of the families whose explanations are hard to get right."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torchvision.models import ConvNeXt, EfficientNet, SwinTransformer, VisionTransformer
from torchvision.models.convnext import CNBlockConfig
from torchvision.models.efficientnet import MBConvConfig

from pasta.explanations.base import View
from pasta.explanations.hooks import hooked
from pasta.explanations.layers import Tokens
from pasta.models.base import Normalise
from pasta.models.resnet import ScaledResNet

torch.set_num_threads(1)  # batches this small only lose by being shared between cores


def lively(network: nn.Module, seed: int = 0) -> nn.Module:
    """The network in evaluation mode, with biases and statistics that are not all zero or one."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in (*network.named_parameters(), *network.named_buffers()):
            if name.endswith("running_var"):
                value.uniform_(0.5, 2, generator=random)
            elif value.ndim == 1 and value.is_floating_point():
                value.add_(torch.randn(value.shape, generator=random) * 0.3)
            elif name.endswith(("head.weight", "class_token")):
                value.normal_(generator=random)
    return network.eval()


def residual(bottleneck: bool = True) -> ScaledResNet:
    """For images of 64 pixels or so."""
    torch.manual_seed(0)
    network = ScaledResNet(8, (1, 1, 1, 2), 5, bottleneck=bottleneck)
    lively(network)
    return network


def residual_view() -> View:
    network = residual()
    return View(nn.Sequential(Normalise(), network), network.layer4[-1])


def transformer() -> VisionTransformer:
    """For images of 32 pixels."""
    torch.manual_seed(0)
    network = VisionTransformer(32, 8, 2, 2, hidden_dim=16, mlp_dim=24, num_classes=5)
    lively(network)
    return network


def efficient() -> EfficientNet:
    """Gates and SiLU, for images of 32 pixels."""
    torch.manual_seed(0)
    blocks = [MBConvConfig(1, 3, 1, 8, 8, 1), MBConvConfig(4, 3, 2, 8, 16, 2)]
    network = EfficientNet(blocks, dropout=0.0, num_classes=5, last_channel=32)
    lively(network)
    return network


def windowed() -> SwinTransformer:
    """Attention within windows, for images of 32 pixels."""
    torch.manual_seed(0)
    network = SwinTransformer([4, 4], 16, [2, 1], [2, 2], [4, 4], num_classes=5)
    lively(network)
    return network


def modern() -> ConvNeXt:
    """Convolutions with norms of layers, for images of 32 pixels."""
    torch.manual_seed(0)
    network = ConvNeXt([CNBlockConfig(8, 16, 1), CNBlockConfig(16, None, 1)], num_classes=5)
    lively(network)
    return network


def transformer_view() -> View:
    network = transformer()
    return View(network, network.encoder.layers[-1].ln_1, Tokens(prefix=1))


def output_of(network: nn.Module, layer: nn.Module, images: Tensor) -> Tensor:
    """What a layer gives in an ordinary pass."""
    outputs: list[Tensor] = []
    with hooked(layer, lambda _, __, output: outputs.append(output.clone())), torch.no_grad():
        network(images)
    return outputs[0]


def replaced(network: nn.Module, layer: nn.Module, image: Tensor, activations: Tensor) -> Tensor:
    """The plain way: the whole network runs, and the layer's output is replaced."""
    with hooked(layer, lambda *_: activations.clone()), torch.no_grad():
        logits: Tensor = network(image.expand(len(activations), -1, -1, -1))
    return logits
