"""Score-CAM (Wang et al. 2020, doi:10.1109/CVPRW50498.2020.00020).

Each channel of the target layer, enlarged to the size of the image and scaled to 0-1, is a mask; a
channel weighs as much as the target's logit for the masked image, after a softmax over channels.
The result equals that of pytorch-grad-cam, but no enlarged channel is kept, and copies of several
images go through the network together.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from pasta.explanations.base import Given, method
from pasta.explanations.masking import Masked, target_scores

_SMALL = 1e-8  # as in pytorch-grad-cam, where maps are scaled


@method(
    "scorecam",
    title="ScoreCAM",
    functioning="perturbation",
    doi="10.1109/CVPRW50498.2020.00020",
    needs_layer=True,
)
def scorecam(given: Given) -> Tensor:
    """Activations, weighed by the scores of what they show of the image."""
    activations = given.passed.activations
    weights = channel_scores(given, activations).softmax(1)
    return torch.einsum("nc,nchw->nhw", weights, activations).float()


def channel_scores(given: Given, activations: Tensor) -> Tensor:
    """The target's logit (n, channels) for the image behind each channel.

    A channel that is the same everywhere scales to a mask of zeros. All these channels of an image
    are scored once.
    """
    constant = activations.amax((2, 3)) == activations.amin((2, 3))  # (n, channels)
    # Not exactly so after interpolation, whose rounding would be scaled up.
    maps = activations.masked_fill(constant[:, :, None, None], 0)
    kept = [different_channels(row) for row in constant]
    copies = [
        channel_copies(image, part[rows])
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


def channel_copies(image: Tensor, maps: Tensor) -> Masked:
    """The image behind each map (channels, h, w), enlarged and scaled to 0-1."""

    def build(rows: slice) -> Tensor:
        masks = interpolate(maps[rows, None], image.shape[1:], mode="bilinear", align_corners=True)
        low, high = masks.amin((2, 3), keepdim=True), masks.amax((2, 3), keepdim=True)
        return image * ((masks - low) / (high - low + _SMALL))

    return Masked(len(maps), build)
