"""Class activation maps, and maps from factorised activations.

Gradient methods weigh the same activations by the same gradients, so that one pass serves them all.
Eigen-CAM and Deep Feature Factorization take the activations apart: into principal components and
into non-negative factors.

Score-CAM (Wang et al. 2020, doi:10.1109/CVPRW50498.2020.00020) uses each channel of the target
layer, enlarged to the size of the image and scaled to 0-1, as a mask; a channel weighs as much as
the target's logit for the masked image, after a softmax over channels. The result equals that of
pytorch-grad-cam, but no enlarged channel is kept (grad-cam keeps masked images of all channels: 1.2
GB for one image of 224 pixels and ResNet50's 2048), and copies of several images go through the
network together.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import NMF
from torch import Tensor
from torch.nn.functional import interpolate

from pasta import compute
from pasta.explanations.base import BACKBONES, Given, Passes, method
from pasta.explanations.entries import enlarge, repeat, stretch
from pasta.explanations.masking import Masked, target_scores
from pasta.explanations.settings import FactorizationParams
from pasta.readings import Reading

cam = partial(method, functioning="gradient", needs_layer=True)
_SMALL = 1e-8  # as in pytorch-grad-cam, where maps are scaled
_LATEC_SMALL = 1e-7  # as in LATEC's code
_SMOOTH = {  # by the number of spatial axes
    axes: {"mode": mode, "align_corners": True}
    for axes, mode in {1: "linear", 2: "bilinear", 3: "trilinear"}.items()
}


@cam(
    "gradcam",
    doi="10.1109/ICCV.2017.74",
    any_modality=True,
    backbones=(*BACKBONES, "vgg19"),
)
def gradcam(given: Given) -> Tensor:
    """Each channel weighs as much as its mean gradient (Selvaraju 2017)."""
    shared = given.passed
    weights = shared.gradients.mean(_places(shared.gradients))
    return _read(given, "gradcam", _weighted(weights, shared.activations))


@cam("hirescam", any_modality=True, doi="10.48550/arXiv.2011.08891")
def hirescam(given: Given) -> Tensor:
    """Gradient x activation, cell by cell (Draelos 2020)."""
    shared = given.passed
    return (shared.gradients * shared.activations).sum(1)


@cam("gradcam_elementwise", any_modality=True, doi="10.1609/aaai.v36i2.20123")
def gradcam_elementwise(given: Given) -> Tensor:
    """Gradient x activation, rectified before the channels are summed (Pillai 2021)."""
    shared = given.passed
    return (shared.gradients * shared.activations).relu().sum(1)


@cam("gradcam++", doi="10.1109/WACV.2018.00097", any_modality=True)
def gradcam_plus_plus(given: Given) -> Tensor:
    """Positive gradients, weighed by higher powers of themselves (Chattopadhay 2018).

    The powers stand for higher derivatives of an exponential of the score. LATEC's released code
    sums the activations of a volume over two of its three axes only.
    """
    shared = given.passed
    squares, places = shared.gradients**2, _places(shared.gradients)
    summed = places[:2] if cam_reading(given, "gradcam") == "released" else places
    mass = shared.activations.sum(summed, keepdim=True)
    shares = squares / (2 * squares + mass * squares * shared.gradients + 1e-6)
    weights = (shares * shared.gradients.relu()).sum(places)
    return _read(given, "gradcam", _weighted(weights, shared.activations))


@cam("xgradcam", doi="10.48550/arXiv.2008.02312", any_modality=True)
def xgradcam(given: Given) -> Tensor:
    """Gradients averaged where the channel is active (Fu 2020)."""
    shared = given.passed
    places = _places(shared.gradients)
    mass = shared.activations.sum(places) + 1e-7
    weights = (shared.gradients * shared.activations).sum(places) / mass
    return _weighted(weights, shared.activations)


@cam("layercam", doi="10.1109/TIP.2021.3089943", any_modality=True)
def layercam(given: Given) -> Tensor:
    """Positive gradient x activation, cell by cell (Jiang 2021)."""
    shared = given.passed
    return (shared.gradients.relu() * shared.activations).sum(1)


def _places(maps: Tensor) -> tuple[int, ...]:
    """The spatial axes of (n, channels, *any)."""
    return tuple(range(2, maps.ndim))


def _weighted(weights: Tensor, activations: Tensor) -> Tensor:
    return torch.einsum("nc,nc...->n...", weights, activations)


def cam_reading(given: Given, section: str) -> Reading:
    """Which reading of CAM methods is asked for; GradCAM and GradCAM++ share a section."""
    found = given.settings.get(section)
    return "corrected" if found is None else getattr(found, "reading", "corrected")


def _read(given: Given, section: str, maps: Tensor) -> Tensor:
    """The maps as a reading wants them.

    LATEC repeats enlarged maps over the channels. Its text has absolute values for transformers,
    its code the positive part for all networks, each map from 0 to 1.
    """
    reading = cam_reading(given, section)
    if reading == "corrected":
        return maps
    of_tokens = given.view.reshape is not None
    rectified = maps.abs() if reading == "paper" and of_tokens else maps.relu()
    large = enlarge(rectified.float(), given.size, nearest=len(given.size) == 3)
    return repeat(stretch(large) if reading == "released" else large, given.images.shape[1])


@method(
    "eigencam",
    functioning="factorization",
    doi="10.1109/IJCNN48605.2020.9206626",
    needs_layer=True,
)
def eigencam(given: Given) -> Tensor:
    """The activations along their first principal component (Muhammad 2020)."""
    return first_component(given.passed.activations)


@method(
    "eigengradcam",
    functioning="gradient and factorization",
    doi="10.1109/IJCNN48605.2020.9206626",
    needs_layer=True,
)
def eigengradcam(given: Given) -> Tensor:
    """The first principal component of gradient x activation, which knows of the class."""
    return first_component(given.passed.activations * given.passed.gradients)


@method(
    "dff",
    functioning="factorization",
    doi="10.1007/978-3-030-01264-9_21",
    needs_layer=True,
)
def deep_feature_factorization(given: Given) -> Tensor:
    """The non-negative factor of the activations that speaks most for the class (Collins 2018).

    Each image's activations are factorised into a few places (maps) x features; a factor's voice
    is how much it adds to the class score to first order, with gradients averaged over the cells.
    """
    settings: FactorizationParams = given.settings["dff"]
    shared = given.passed
    voices = shared.gradients.mean((2, 3))
    maps = [
        _loudest_factor(activations, voice, settings.components)
        for activations, voice in zip(shared.activations, voices, strict=True)
    ]
    return torch.stack(maps)


def first_component(maps: Tensor) -> Tensor:
    """Project (n, channels, h, w) on the first principal direction of its cells, image by image.

    Cells are centred. The sign of a singular vector is free, so what is shown as important may be
    the background: here it is LAPACK's choice, as in the authors' code.
    """
    number, channels, height, width = maps.shape
    cells = maps.reshape(number, channels, -1).transpose(1, 2)
    cells = cells - cells.mean(1, keepdim=True)
    projected = np.stack([_project(one) for one in compute.to_numpy(cells)])
    return torch.from_numpy(projected).reshape(number, height, width).to(maps.device)


def _project(cells: NDArray[Any]) -> NDArray[Any]:
    if not np.isfinite(cells).all():
        return np.full(len(cells), np.nan, cells.dtype)
    # NumPy's decomposition, not torch's: theirs may differ in sign, and people compare maps with
    # those of pytorch-grad-cam.
    directions = np.linalg.svd(cells, full_matrices=False)[2]
    projected: NDArray[Any] = cells @ directions[0]
    return projected


def _loudest_factor(activations: Tensor, voice: Tensor, components: int) -> Tensor:
    channels, height, width = activations.shape
    cells = compute.to_numpy(activations.relu().reshape(channels, -1).T).astype(np.float64)
    components = min(components, *cells.shape)
    if not np.isfinite(cells).all() or not cells.any():
        return activations.sum(0) * 0  # nothing to factorise; not a number stays visible
    model = NMF(components, init="nndsvda", tol=1e-3, max_iter=300, random_state=0)
    places = model.fit_transform(cells)
    gains = (model.components_ @ compute.to_numpy(voice).astype(np.float64)) * places.sum(0)
    loudest = places[:, int(gains.argmax())]
    return torch.from_numpy(loudest).to(activations).reshape(height, width)


@method(
    "scorecam",
    functioning="perturbation",
    doi="10.1109/CVPRW50498.2020.00020",
    needs_layer=True,
    any_modality=True,
    passes=lambda settings, sizes: Passes(
        forward=min(settings.channels or sizes.channels, sizes.channels)
    ),
)
def scorecam(given: Given) -> Tensor:
    """Activations, weighed by the scores of what they show of the image.

    In LATEC's readings masks are enlarged as blocks of equal values, not smoothly.
    """
    activations = most_varied(given.passed.activations, given.settings["scorecam"].channels)
    weights = channel_scores(given, activations).softmax(1)
    return _read(given, "scorecam", _weighted(weights, activations).float())


def most_varied(activations: Tensor, number: int | None) -> Tensor:
    """The channels (n, number, h, w) of each image whose activations vary most, in their order."""
    if number is None or number >= activations.shape[1]:
        return activations
    variances = activations.flatten(2).var(2)
    kept = variances.topk(number, dim=1).indices.sort(dim=1).values
    return activations.take_along_dim(kept.view(*kept.shape, *[1] * (activations.ndim - 2)), 1)


def channel_scores(given: Given, activations: Tensor) -> Tensor:
    """The target's logit (n, channels) for the image behind each channel.

    A channel that is the same everywhere scales to a mask of zeros. All these channels of an image
    are scored once.
    """
    places = _places(activations)
    constant = activations.amax(places) == activations.amin(places)  # (n, channels)
    # Not exactly so after interpolation, whose rounding would be scaled up.
    maps = activations.masked_fill(constant.view(*constant.shape, *[1] * len(places)), 0)
    kept = [different_channels(row) for row in constant]
    blocks = cam_reading(given, "scorecam") != "corrected"
    copies = [
        channel_copies(image, part[rows], blocks)
        for image, part, rows in zip(given.images, maps, kept, strict=True)
    ]
    scores = activations.new_empty(constant.shape)
    found = target_scores(given, copies, logits=True)
    for row, flat, rows, score in zip(scores, constant, kept, found, strict=True):
        row[flat] = score[-1]
        row[rows] = score
    return scores


def different_channels(constant: Tensor) -> Tensor:
    """Numbers of all channels that vary, then of one that does not, if there is one."""
    return torch.cat([(~constant).nonzero()[:, 0], constant.nonzero()[:1, 0]])


def channel_copies(image: Tensor, maps: Tensor, blocks: bool = False) -> Masked:
    """The image behind each map (channels, h, w), enlarged (smoothly or as blocks of equal values)
    and scaled to 0-1."""
    places, small = _places(image[None]), _LATEC_SMALL if blocks else _SMALL
    how: dict[str, Any] = {"mode": "nearest"} if blocks else _SMOOTH[image.ndim - 1]

    def build(rows: slice) -> Tensor:
        masks = interpolate(maps[rows, None], image.shape[1:], **how)
        low, high = masks.amin(places, keepdim=True), masks.amax(places, keepdim=True)
        return image * ((masks - low) / (high - low + small))

    return Masked(len(maps), build)
