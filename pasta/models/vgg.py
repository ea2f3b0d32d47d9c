"""VGG-19 and slim relatives (Simonyan and Zisserman 2015, doi:10.48550/arXiv.1409.1556)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torchvision.models.vgg import VGG, make_layers

from pasta.models.base import MODELS, BlackBox, History, Normalise, Progress
from pasta.models.data import ModelContext, TrainingData
from pasta.models.resnet import load_torchvision_weights
from pasta.models.settings import VggParams
from pasta.models.training import fit_black_box, seeded

_GRID = 7  # rows and columns of what the linear layers read
HEAD = "classifier.6"  # the last layer


class ScaledVgg(VGG):
    """torchvision's VGG with other widths; width 64, blocks (2, 2, 4, 4, 4) is VGG-19."""

    def __init__(self, settings: VggParams, outputs: int) -> None:
        nn.Module.__init__(self)  # the parent's constructor knows one width of linear layers only
        plan: list[str | int] = []
        channels = [settings.width * times for times in (1, 2, 4, 8, 8)]
        for width, blocks in zip(channels, settings.blocks, strict=True):
            plan += [*[width] * blocks, "M"]
        self.features = make_layers(plan, settings.batch_norm)
        self.avgpool = nn.AdaptiveAvgPool2d((_GRID, _GRID))
        hidden = settings.hidden
        self.classifier = nn.Sequential(
            *(nn.Linear(channels[-1] * _GRID**2, hidden), nn.ReLU(True), nn.Dropout()),
            *(nn.Linear(hidden, hidden), nn.ReLU(True), nn.Dropout()),
            nn.Linear(hidden, outputs),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(module.bias)  # type: ignore[arg-type]


class VggClassifier(BlackBox):
    """A VGG on normalised images."""

    def __init__(self, classes: Sequence[str], settings: VggParams) -> None:
        super().__init__(classes)
        self.normalise = Normalise()
        self.network = ScaledVgg(settings, len(self.classes))

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(self.normalise(images))
        return logits

    def cam_layers(self) -> list[nn.Module]:
        """The last activations before the last pooling."""
        return [self.network.features[-2]]


@MODELS.register("vgg19", title="VGG-19", family="convolutional", doi="10.48550/arXiv.1409.1556")
class VggRecipe:
    """Cross-entropy from random or ImageNet weights."""

    @staticmethod
    def build(context: ModelContext, settings: VggParams) -> VggClassifier:
        """A network with random weights."""
        with seeded(context, "vgg19"):
            return VggClassifier(context.classes, settings)

    @staticmethod
    def fit(
        model: VggClassifier, data: TrainingData, settings: VggParams, progress: Progress
    ) -> History:
        """Train all layers, from torchvision's weights but for the last layer where it has some."""
        if settings.weights:
            load_torchvision_weights(model.network, "vgg19", settings.weights, (HEAD,))
        with seeded(data, "vgg19 dropout"):  # torch draws it from its own state
            return fit_black_box(model, data, settings.training, "vgg19", progress)
