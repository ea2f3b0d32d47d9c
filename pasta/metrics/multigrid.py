"""Multigrid for many pictures with holes at once: the preconditioner of linear imputation.

The finest grid has an unknown at each removed pixel. Blocks of 2 x 2 become one unknown of the next
coarser grid, the links between blocks add up, and links are weakened by half because corrections
that are constant within a block are too stiff (Braess 1995, doi:10.1007/BF02238488). The number of
iterations hardly depends on how large the holes are.

A field is (channels, n x height x width): a step to a neighbour is a shift of the whole line, and
what is shifted over an edge is zero, because each picture has zeros in its last row and column (one
or two of each, so that both numbers are even) and each line has zeros at both ends. What is the
same for all channels is one line. Fields are made once and written over, because asking the system
for memory takes longer than the sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import pad

_DAMPING = 0.9  # of Jacobi's method
_WEAKER = 0.5  # links of a coarser grid
_SMALLEST = 8  # side of the coarsest grid
_DOUBLINGS = 7  # of the number of Jacobi's sweeps there

# From a pixel to four of its neighbours, as rows down and columns across; from the other four,
# links lead here.
_TOWARDS = ((0, 1), (1, 0), (1, 1), (1, -1))
Shape = tuple[int, int, int]  # n, height, width


class Field:
    """Numbers at all places, and views of them as their neighbours see them."""

    def __init__(self, like: Tensor, channels: int, shape: Shape) -> None:
        self.shape, self.margin = shape, shape[2] + 1
        self.length = shape[0] * shape[1] * shape[2]
        self.room = like.new_zeros(channels, self.length + 2 * self.margin)
        self.line = self.shifted(0)

    def shifted(self, by: int) -> Tensor:
        """What is so far ahead of each place."""
        return self.room.narrow(1, self.margin + by, self.length)

    @cached_property
    def pictures(self) -> Tensor:
        """The same as (channels, n, height, width)."""
        return self.line.view(-1, *self.shape)


class Stencil:
    """The weighted sum of a pixel and its neighbours: (1 2 1) down times (1 2 1) across."""

    def __init__(self, like: Tensor, channels: int, shape: Shape) -> None:
        self.width = shape[2]
        self.down, self.sums = (Field(like, channels, shape) for _ in range(2))
        self.beside = self.down.shifted(1), self.down.shifted(-1)

    def __call__(self, field: Field) -> Tensor:
        """The sums, which the next call writes over."""
        above, below = field.shifted(-self.width), field.shifted(self.width)
        torch.add(above, below, out=self.down.line).add_(field.line, alpha=2)
        return torch.add(*self.beside, out=self.sums.line).add_(self.down.line, alpha=2)


@dataclass
class Links:
    """A matrix with nine numbers in a row: what the next coarser grid is made of."""

    shape: Shape
    towards: list[Tensor]  # the links from each unknown in the four directions, one line each
    known: Tensor  # the weight of the links to places that are known

    @property
    def distances(self) -> list[int]:
        """How far away the four neighbours are in the line."""
        return [down * self.shape[2] + across for down, across in _TOWARDS]

    def diagonal(self) -> Tensor:
        """The weight of all links of an unknown."""
        total = self.known.clone()
        for link, far in zip(self.towards, self.distances, strict=True):
            total += link
            total[far:] += link[:-far]
        return total

    def coarser(self) -> Links:
        """Links between blocks of 2 x 2: the sums of the links that cross their borders."""
        right, below, below_right, below_left = (link.view(self.shape) for link in self.towards)
        beside = right[:, 0::2, 1::2] + right[:, 1::2, 1::2] + below_right[:, 0::2, 1::2]
        # A block's lower right pixel is below left of the first pixel of the block beside it.
        beside[..., :-1] += below_left[:, 0::2, 2::2]
        under = below[:, 1::2, 0::2] + below[:, 1::2, 1::2]
        under = under + below_right[:, 1::2, 0::2] + below_left[:, 1::2, 1::2]
        crossing = (beside, under, below_right[:, 1::2, 1::2], below_left[:, 1::2, 0::2])
        wide = [_even(_WEAKER * link) for link in crossing]
        number, height, width = wide[0].shape
        around = _even(_blocks(self.known.view(self.shape)))
        return Links((number, height, width), [link.flatten() for link in wide], around.flatten())


class Grid(ABC):
    """One level: smooths, and knows what is left to do."""

    def __init__(self, shape: Shape, diagonal: Tensor, channels: int) -> None:
        self.shape, self.diagonal = shape, diagonal
        self.inverse = _damped_inverse(diagonal)
        self.unknown = (diagonal > 0).to(diagonal.dtype)
        self.residual, self.values, self.rest = (Field(diagonal, channels, shape) for _ in range(3))

    @abstractmethod
    def remaining(self) -> Tensor:
        """The residual minus the matrix times values."""

    def start(self) -> None:
        """Jacobi's first sweep, from nothing."""
        torch.mul(self.residual.line, self.inverse, out=self.values.line)

    def smooth(self) -> None:
        """One more sweep."""
        self.values.line.addcmul_(self.inverse, self.remaining())


class Finest(Grid):
    """The level of the pixels, where all links have the weights of the stencil: twelve times those
    of linear imputation."""

    def __init__(self, unknown: Tensor, inside: Tensor, channels: int) -> None:
        shape: Shape = (unknown.shape[0], unknown.shape[1], unknown.shape[2])
        line, stencil = Field(unknown, 1, shape), Stencil(unknown, 1, shape)
        line.pictures.copy_(inside)
        self.with_stencil = unknown.flatten() * stencil(line)[0]
        super().__init__(shape, self.with_stencil - 4 * unknown.flatten(), channels)
        line.pictures.copy_(unknown)
        self.known = self.with_stencil - unknown.flatten() * stencil(line)[0]
        self.stencil = Stencil(unknown, channels, shape)

    def links(self) -> Links:
        """The matrix entry by entry."""
        links = Links(self.shape, [], self.known)
        for far, (down, across) in zip(links.distances, _TOWARDS, strict=True):
            link = torch.zeros_like(self.unknown)
            torch.mul(self.unknown[:-far], self.unknown[far:], out=link[:-far])
            links.towards.append(link if down and across else link.mul_(2))
        return links

    def remaining(self) -> Tensor:
        rest = self.rest.line
        torch.addcmul(self.residual.line, self.with_stencil, self.values.line, value=-1, out=rest)
        return rest.addcmul_(self.unknown, self.stencil(self.values))

    def applied(self, field: Field, out: Field) -> None:
        """The matrix times a field that is zero where nothing is unknown."""
        torch.mul(field.line, self.with_stencil, out=out.line)
        out.line.addcmul_(self.unknown, self.stencil(field), value=-1)


class Coarse(Grid):
    """A level above the pixels, where each link has a weight of its own."""

    def __init__(self, links: Links, channels: int) -> None:
        super().__init__(links.shape, links.diagonal(), channels)
        weights = Field(self.diagonal, len(links.towards), links.shape)
        weights.line.copy_(torch.stack(links.towards))
        self.terms = [
            (weights.shifted(min(far, 0))[number], self.values.shifted(far))
            for number, distance in enumerate(links.distances)
            for far in (distance, -distance)
        ]

    def remaining(self) -> Tensor:
        rest = self.rest.line
        torch.addcmul(self.residual.line, self.diagonal, self.values.line, value=-1, out=rest)
        for link, neighbours in self.terms:
            rest.addcmul_(link, neighbours)
        return rest


class Transfer:
    """The way from a grid to the next coarser one and back."""

    def __init__(self, fine: Grid, coarse: Grid) -> None:
        number, height, width = fine.shape
        half, room = (number, height // 2, width), (slice(height // 2), slice(width // 2))
        self.half = fine.diagonal.new_empty(fine.values.line.shape[0], *half)
        self.upper, self.lower = (fine.rest.pictures[..., row::2, :] for row in (0, 1))
        self.left, self.right = self.half[..., 0::2], self.half[..., 1::2]
        self.sums, self.found = (
            field.pictures[..., *room] for field in (coarse.residual, coarse.values)
        )
        pairs = (number, height // 2, 2, width)
        self.values, self.unknown = fine.values.line.view(-1, *pairs), fine.unknown.view(pairs)

    def gather(self) -> None:
        """Sums over blocks of 2 x 2 of what is left to do."""
        torch.add(self.upper, self.lower, out=self.half)
        torch.add(self.left, self.right, out=self.sums)

    def spread(self) -> None:
        """Add what was found for a block to the values of all its unknowns."""
        self.left.copy_(self.found)
        self.right.copy_(self.found)
        self.values.addcmul_(self.unknown, self.half[..., None, :])


class Multigrid:
    """The finest grid and all coarser ones; the last one is small enough for a full matrix."""

    def __init__(self, unknown: Tensor, inside: Tensor, channels: int) -> None:
        self.finest = Finest(unknown, inside, channels)
        self.grids: list[Grid] = [self.finest]
        links = self.finest.links()
        while max(links.shape[1:]) > _SMALLEST or len(self.grids) == 1:
            links = links.coarser()
            self.grids.append(Coarse(links, channels))
        self.transfers = [Transfer(*pair) for pair in pairwise(self.grids)]
        self.last = _many_sweeps(links)

    def cycle(self, level: int = 0) -> None:
        """Smooth, correct on the next coarser grid, smooth: one symmetric V-cycle, from the
        residual of a grid to its values."""
        grid = self.grids[level]
        if level + 1 == len(self.grids):
            lines = grid.residual.line.view(-1, *self.last.shape[:2]).transpose(0, 1)
            grid.values.line.copy_(torch.bmm(lines, self.last).transpose(0, 1).flatten(1))
            return
        grid.start()
        grid.remaining()
        self.transfers[level].gather()
        self.cycle(level + 1)
        self.transfers[level].spread()
        grid.smooth()


def padded(fields: Tensor) -> Tensor:
    """With one or two rows and columns of zeros at the end."""
    height, width = fields.shape[-2:]
    return pad(fields, (0, 2 - width % 2, 0, 2 - height % 2))


def _damped_inverse(diagonal: Tensor) -> Tensor:
    """Zero where there is nothing."""
    some = diagonal > 0
    return torch.where(some, _DAMPING / torch.where(some, diagonal, 1), 0)


def _many_sweeps(links: Links) -> Tensor:
    """The matrices (n, size, size) of many sweeps of Jacobi's method, nearly an inverse.

    Libraries with two threads were seen to take seconds for inverting many tiny matrices while
    other programs kept the processors busy: each small step waits for both threads. Products have
    one step.
    """
    number, size = links.shape[0], links.shape[1] * links.shape[2]
    diagonal = links.diagonal().view(number, size)
    matrix = torch.diag_embed(diagonal)
    for link, far in zip(links.towards, links.distances, strict=True):
        apart = torch.diag_embed(link.view(number, size)[:, :-far], far)
        matrix -= apart + apart.mT
    inverse = _damped_inverse(diagonal)
    unit = torch.eye(size, dtype=matrix.dtype)
    left = unit - inverse[:, :, None] * matrix  # of an error, after a sweep
    total = unit + left
    for _ in range(_DOUBLINGS - 1):
        left = left @ left
        total = total + left @ total
    return total * inverse[:, None]


def _even(fields: Tensor) -> Tensor:
    """With zeros below and to the right, if the number of rows or columns is odd. One row and one
    column of zeros are there already."""
    height, width = fields.shape[-2:]
    return pad(fields, (0, width % 2, 0, height % 2))


def _blocks(fields: Tensor) -> Tensor:
    """Sums over blocks of 2 x 2."""
    rows = fields[..., 0::2, :] + fields[..., 1::2, :]
    return rows[..., 0::2] + rows[..., 1::2]
