"""Point clouds as a modality: clusters, removal to the centre, neighbours, and shaded pictures.

Clouds are tensors (n, 3, points) with the coordinates x, y and z (up), usually within distance 1
of the origin. Points have no order: whatever is done here to a cloud whose points change places is
done to the same points. The exception is :func:`split_points`, which knows no coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from sklearn.cluster import KMeans
from torch import Tensor

from pasta.compute import to_numpy
from pasta.errors import PastaError
from pasta.explanations.modality import MODALITIES, Modality
from pasta.explanations.rendering import PAPER, SIZE, blend
from pasta.models.data import as_tensor

WIDTH = 2.0  # of a cloud that lies within distance 1 of the origin
GREY = (206, 204, 200)  # of a point that nothing is said about
VIEWS = ((0.45, 0.3), (0.45 + np.pi, 0.3))  # turns around the z axis and upwards, of both sides
FINER = 3  # pictures are drawn larger and reduced


def resize_map(maps: Tensor, size: tuple[int, ...]) -> Tensor:
    """Maps (n, points) as they are: to other points values are interpolated with their places."""
    if tuple(maps.shape[1:]) != tuple(size):
        raise PastaError(
            f"a map has {maps.shape[1]} values for {size[0]} points; where they belong must be "
            "known: interpolate_points takes the places of both"
        )
    return maps


def segment_points(cloud: Tensor, _segmenter: str = "kmeans", segments: int = 16) -> Tensor:
    """Labels (points,) 0, 1, ... of about ``segments`` clusters of points that lie together.

    K-means of the coordinates, the only segmenter, whatever is asked for. The same cloud has the
    same clusters each time, in any order of its points.
    """
    points = to_numpy(cloud.nan_to_num().cpu().double()).T
    order = np.lexsort(points.T)
    number = min(segments, len(np.unique(points, axis=0)))
    found = KMeans(number, n_init=1, random_state=0).fit_predict(points[order])
    labels = np.empty(len(points), np.int64)
    labels[order] = np.unique(found, return_inverse=True)[1]
    return torch.from_numpy(labels).to(cloud.device)


def split_points(size: tuple[int, ...], side: int) -> Tensor:
    """Number the groups of ``side`` points that are stored one after the other.

    Examples
    --------
    >>> split_points((5,), 2)
    tensor([0, 0, 1, 1, 2])
    """
    return torch.arange(size[0]) // side


def shift_points(clouds: Tensor, share: float) -> Tensor:
    """Move clouds along x by a share of their usual width, which is 2.

    Points that leave the ball of points around the origin sideways (x beyond -1 or 1) go to the
    origin, as pixels that leave an image turn black.
    """
    moved = clouds.clone()
    moved[:, 0] += WIDTH * share
    return torch.where(moved[:, :1].abs() > WIDTH / 2, 0.0, moved) if share else moved


def remove_points(clouds: Tensor, removed: Tensor) -> Tensor:
    """Move the removed points (n, points) to the centre, which is the origin."""
    return torch.where(removed[:, None], 0.0, clouds)


def blur_cloud(cloud: Tensor, deviation: float, _kernel: int = 0) -> Tensor:
    """Move each point to the mean of all points, weighted by a Gaussian of their distance."""
    weights = torch.cdist(cloud.T, cloud.T).square().div(-2 * deviation**2).softmax(1)
    return cloud @ weights.T


def draw_points(
    points: NDArray[Any],
    colours: NDArray[Any],
    size: int,
    view: tuple[float, float],
    strength: NDArray[Any] | None = None,
) -> NDArray[np.uint8]:
    """Draw coloured points as small balls, the near ones over the far ones, which are paler.

    Parameters
    ----------
    points
        Coordinates (points, 3).
    colours
        Bytes (points, 3).
    size
        Width and height of the picture.
    view
        How far the cloud is turned around the z axis and then looked at from above, in radians.
    strength
        How important each point is, from 0 to 1: important points are larger and never pale.
    """
    wide = size * FINER
    across, near, up = _looked_at(np.asarray(points, np.float64), view)
    reach = max(float(np.abs([across, up]).max()), 1e-9)
    scale = 0.46 * wide / reach
    radius = wide * float(np.clip(0.45 / np.sqrt(len(points)), 0.011, 0.03))
    left, top = wide / 2 + scale * across * 0.97, wide / 2 - scale * up * 0.97
    depth = (near - near.min()) / max(float(np.ptp(near)), 1e-9)  # 0 far, 1 near
    canvas = Image.new("RGB", (wide, wide), PAPER)
    draw, paper = ImageDraw.Draw(canvas), np.array(PAPER, np.float64)
    for number in np.argsort(near, kind="stable"):
        important = 0.0 if strength is None else float(strength[number])
        haze = 0.5 * (1 - depth[number]) * (1 - important)
        seen = (1 - haze) * colours[number] + haze * paper
        ball = radius * (0.75 + 0.25 * depth[number]) * (1 + 0.7 * important)
        x, y = left[number], top[number]
        for share, offset, tone in ((1.0, 0.0, 0.62), (0.86, 0.06, 1.0), (0.38, 0.3, None)):
            lit = seen * tone if tone else 0.55 * seen + 0.45 * 255
            middle_x, middle_y, half = x - offset * ball, y - offset * ball, share * ball
            box = (middle_x - half, middle_y - half, middle_x + half, middle_y + half)
            draw.ellipse(box, fill=tuple(int(value) for value in lit))
    return np.asarray(canvas.reduce(FINER), dtype=np.uint8)


def _looked_at(points: NDArray[np.float64], view: tuple[float, float]) -> NDArray[np.float64]:
    """Coordinates to the right, towards the viewer and up, around the middle of the cloud's box."""
    turn, above = view
    x, y, z = (points - (points.min(0) + points.max(0)) / 2).T
    across, ahead = np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y
    near = np.cos(above) * ahead + np.sin(above) * z
    up = np.cos(above) * z - np.sin(above) * ahead
    return np.stack([across, near, up])


def render_cloud(
    points: NDArray[Any], shown: NDArray[Any], signed: bool, size: int = SIZE
) -> NDArray[np.uint8]:
    """Draw a cloud (points, 3) from two opposite sides in the colours of its map (points,)."""
    grey = np.broadcast_to(np.array(GREY, np.uint8), (1, len(points), 3))
    told = np.isfinite(shown).all() and np.any(shown)
    colours = blend(grey, np.asarray(shown)[None], signed)[0] if told else grey[0]
    strength = np.clip(np.abs(shown) if signed else shown, 0, 1) if told else None
    pictures = [draw_points(points, colours, size, view, strength) for view in VIEWS]
    return np.concatenate(pictures, axis=1)


CLOUD = MODALITIES.register("point cloud")(
    Modality(
        "point cloud",
        axes=("points",),
        channels=3,
        load=as_tensor,
        resize=resize_map,
        segment=segment_points,
        split=split_points,
        shift=shift_points,
        remove=remove_points,
        blur=blur_cloud,
        render=render_cloud,
    )
)
