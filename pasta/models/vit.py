"""ViT-B/16 and small hybrids with a residual stem (doi:10.48550/arXiv.2010.11929)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torchvision.models.vision_transformer import VisionTransformer

from pasta.models.base import MODELS, BlackBox, History, Normalise, Progress
from pasta.models.data import ModelContext, TrainingData
from pasta.models.resnet import ScaledResNet, load_torchvision_weights
from pasta.models.settings import StemParams, TransformerParams
from pasta.models.training import fit_black_box, seeded

STEM_STAGES = ("conv1", "bn1", "layer1", "layer2", "layer3")


class ResidualStem(nn.Module):
    """The first three stages of a residual network and a projection to tokens, at stride 16."""

    def __init__(self, settings: StemParams, hidden: int) -> None:
        super().__init__()
        whole = ScaledResNet(
            settings.width, (*settings.blocks, 1), 1, bottleneck=settings.bottleneck
        )
        self.stages = nn.ModuleDict(
            {name: getattr(whole, name) for name in (*STEM_STAGES, "relu", "maxpool")}
        )
        self.project = nn.Conv2d(whole.stage_channels[2], hidden, 1)

    def forward(self, images: Tensor) -> Tensor:
        """Feature maps with one cell per token."""
        stages = self.stages
        maps = stages["maxpool"](stages["relu"](stages["bn1"](stages["conv1"](images))))
        maps = stages["layer3"](stages["layer2"](stages["layer1"](maps)))
        tokens: Tensor = self.project(maps)
        return tokens

    def take_over(self, network: ScaledResNet) -> None:
        """Begin with another network's stages."""
        for name in STEM_STAGES:
            self.stages[name].load_state_dict(getattr(network, name).state_dict())


class TransformerClassifier(BlackBox):
    """A vision transformer on normalised images of one size."""

    def __init__(self, classes: Sequence[str], settings: TransformerParams, size: int) -> None:
        super().__init__(classes)
        self.normalise = Normalise()
        self.network = VisionTransformer(
            image_size=size,
            patch_size=settings.patch,
            num_layers=settings.layers,
            num_heads=settings.heads,
            hidden_dim=settings.hidden,
            mlp_dim=settings.mlp,
            num_classes=len(self.classes),
        )
        if settings.stem.kind == "residual":
            self.network.conv_proj = ResidualStem(settings.stem, settings.hidden)
        # torchvision starts with a zero head: nothing would reach the layers below at first.
        nn.init.trunc_normal_(self.network.heads.head.weight, std=0.02)
        self.token_grid = (size // settings.patch, size // settings.patch)

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(self.normalise(images))
        return logits

    def cam_layers(self) -> list[nn.Module]:
        """The first norm of the last block: the last place where image tokens still matter."""
        last: nn.Module = self.network.encoder.layers[-1].ln_1
        return [last]


@MODELS.register("vit_b_16", title="ViT-B", family="transformer", doi="10.48550/arXiv.2010.11929")
class TransformerRecipe:
    """Cross-entropy from random or ImageNet weights."""

    @staticmethod
    def build(context: ModelContext, settings: TransformerParams) -> TransformerClassifier:
        """A network with random weights."""
        with seeded(context, "vit_b_16"):
            return TransformerClassifier(context.classes, settings, context.size)

    @staticmethod
    def fit(
        model: TransformerClassifier,
        data: TrainingData,
        settings: TransformerParams,
        progress: Progress,
    ) -> History:
        """Train all layers, from torchvision's weights where the settings name some."""
        if settings.needs:
            model.network.conv_proj.take_over(data.shared["resnet50"].network)
        if settings.weights:
            skip = () if settings.keep_head else ("heads",)
            load_torchvision_weights(model.network, "vit_b_16", settings.weights, skip)
            if settings.keep_head:
                return History()
        return fit_black_box(model, data, settings.training, "vit_b_16", progress)
