"""Bicycles and motorbikes."""

from __future__ import annotations

import math

import numpy as np

from pasta.datasets.drawn.canvas import Canvas, Colour, ellipse, limb, shade, smooth
from pasta.datasets.drawn.stage import INK, gloss, shadow, solid, varnish
from pasta.datasets.drawn.surface import chance, random_colour
from pasta.datasets.drawn.vehicles import LAMP, RUBBER, STEEL, lamp, plate, wheel

LEATHER: tuple[Colour, ...] = ((48, 44, 44), (116, 72, 48), (84, 62, 52))


def _spoked(canvas: Canvas, x: float, radius: float, turn: float) -> None:
    """A wheel one can look through; all of its disc counts as wheel."""
    circle = ellipse(x, radius, radius * 0.94)
    canvas.mark(ellipse(x, radius, radius), "wheel")
    for number in range(7):
        angle = turn + math.pi * number / 7
        dx, dy = math.cos(angle) * radius * 0.9, math.sin(angle) * radius * 0.9
        canvas.stroke([(x - dx, radius - dy), (x + dx, radius + dy)], (190, 192, 196), 0.006)
    canvas.stroke([*circle, circle[0], circle[1]], RUBBER, 0.038)
    rim = ellipse(x, radius, radius * 0.83)
    canvas.stroke([*rim, rim[0], rim[1]], STEEL, 0.012)
    canvas.decorate(ellipse(x, radius, 0.025), STEEL)


def bicycle(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """A diamond or step-through frame between two thin wheels."""
    radius = rng.uniform(0.2, 0.23)
    rear, front = (-0.29, radius), (0.29, radius)
    crank, seat, post = (-0.04, radius * 0.95), (-0.13, 0.5), (0.2, 0.52)
    shadow(canvas, 0.95)
    for x, _ in (rear, front):
        _spoked(canvas, x, radius, rng.uniform(0, 1))
    low = chance(rng, 0.3)
    top = (-0.09, 0.36) if low else seat
    tubes = [(rear, crank), (rear, seat), (crank, seat), (crank, post), (top, post)]
    fork = [(post, (0.23, 0.4)), ((0.23, 0.4), front)]
    for start, end in tubes + fork:
        canvas.stroke([start, end], shade(colour, 0.6), 0.042)
        canvas.stroke([start, end], colour, 0.028)
    canvas.fill(ellipse(*crank, 0.068), shade(STEEL, 0.5), "chain_wheel")
    canvas.decorate(ellipse(*crank, 0.05), STEEL)
    canvas.decorate(ellipse(*crank, 0.02), INK)
    canvas.stroke([(rear[0], radius + 0.03), (crank[0], crank[1] + 0.062)], INK, 0.01)
    canvas.stroke([(rear[0], radius - 0.03), (crank[0], crank[1] - 0.062)], INK, 0.01)
    _pedals(canvas, crank, rng.uniform(0, math.pi))
    canvas.stroke([seat, (-0.145, 0.57)], STEEL, 0.022)
    leather = random_colour(rng, LEATHER)
    saddle = smooth(
        [(-0.26, 0.58), (-0.25, 0.64), (-0.14, 0.62), (-0.02, 0.605), (-0.02, 0.58), (-0.14, 0.565)]
    )
    canvas.fill(saddle, leather, "saddle")
    gloss(canvas, saddle * (0.7, 0.4) + (-0.042, 0.372), 0.2)
    _bars(canvas, rng, post, leather)
    if chance(rng, 0.75):
        lamp(canvas, 0.27, 0.53, 0.034, 0.036)
    if chance(rng, 0.35):
        canvas.stroke([(-0.42, 0.47), (-0.18, 0.47)], INK, 0.018)
        canvas.stroke([(-0.36, 0.47), rear], INK, 0.012)


def _pedals(canvas: Canvas, crank: tuple[float, float], angle: float) -> None:
    for turn in (angle, angle + math.pi):
        x, y = crank[0] + math.cos(turn) * 0.1, crank[1] + math.sin(turn) * 0.1
        canvas.stroke([crank, (x, y)], shade(STEEL, 0.7), 0.02)
        canvas.stroke([(x - 0.035, y), (x + 0.035, y)], INK, 0.026)


def _bars(
    canvas: Canvas, rng: np.random.Generator, post: tuple[float, float], grip: Colour
) -> None:
    bars = canvas.instance("handlebar")
    x, y = post
    canvas.stroke([(x, y), (x - 0.015, y + 0.09)], STEEL, 0.026, bars)
    paths = (
        [(x - 0.015, y + 0.09), (x + 0.06, y + 0.1), (x + 0.1, y + 0.06), (x + 0.06, y + 0.02)],
        [(x - 0.015, y + 0.09), (x + 0.05, y + 0.13), (x - 0.02, y + 0.17), (x - 0.1, y + 0.16)],
        [(x + 0.05, y + 0.09), (x - 0.015, y + 0.09), (x - 0.09, y + 0.11)],
    )
    path = paths[int(rng.integers(len(paths)))]
    canvas.stroke(path, shade(STEEL, 0.85), 0.03, bars)
    canvas.stroke(path[-2:], grip, 0.042, bars)


def motorbike(canvas: Canvas, rng: np.random.Generator, colour: Colour) -> None:
    """Fat tyres, an engine block, a tank and a long saddle."""
    paint = varnish(canvas, rng, colour)
    radius = rng.uniform(0.18, 0.2)
    shadow(canvas, 1.0)
    for x in (-0.31, 0.32):
        wheel(canvas, x, radius, radius)
        canvas.decorate(ellipse(x, radius, radius * 0.4), shade(INK, 1.8))
        canvas.decorate(ellipse(x, radius, radius * 0.14), STEEL)
    body = canvas.instance("body")
    canvas.stroke([(-0.31, radius), (-0.02, 0.24), (0.12, 0.46)], (60, 60, 66), 0.05, body)
    for offset in (0.0, 0.03):
        canvas.stroke(
            [(0.32 - offset, radius), (0.185 - offset, 0.55)],
            shade(STEEL, 0.7 + 8 * offset),
            0.026,
            body,
        )
    guard = ellipse(-0.31, radius, radius * 1.14)[2:13]
    canvas.stroke(guard, paint.colour, 0.04, body)
    guard = ellipse(0.32, radius, radius * 1.12)[3:13]
    canvas.stroke(guard, paint.colour, 0.035, body)
    _motor(canvas)
    canvas.fill(limb(-0.02, 0.16, -0.42, 0.17, 0.045, 0.07), shade(STEEL, 0.75), body)
    gloss(canvas, limb(-0.06, 0.17, -0.38, 0.185, 0.012), 0.5)
    rump = smooth([(-0.06, 0.46), (-0.42, 0.52), (-0.46, 0.46), (-0.24, 0.36), (-0.04, 0.36)])
    solid(canvas, rump, paint, body)
    tank = smooth(
        [(-0.08, 0.4), (-0.06, 0.5), (0.04, 0.57), (0.17, 0.56), (0.2, 0.44), (0.06, 0.38)]
    )
    solid(canvas, tank, paint, body)
    saddle = smooth(
        [(-0.04, 0.47), (-0.06, 0.52), (-0.2, 0.49), (-0.38, 0.56), (-0.45, 0.53), (-0.24, 0.44)]
    )
    canvas.fill(saddle, random_colour(rng, LEATHER), "saddle")
    gloss(canvas, saddle * (0.7, 0.35) + (-0.07, 0.335), 0.2)
    if chance(rng, 0.35):
        fairing = smooth([(0.12, 0.5), (0.2, 0.68), (0.32, 0.6), (0.34, 0.42), (0.2, 0.36)])
        solid(canvas, fairing, paint, body)
    lamp(canvas, 0.275, 0.53, 0.05, 0.055)
    bars = canvas.instance("handlebar")
    canvas.stroke([(0.19, 0.54), (0.16, 0.66), (0.06, 0.69)], shade(STEEL, 0.8), 0.03, bars)
    canvas.stroke([(0.1, 0.68), (0.03, 0.7)], INK, 0.045, bars)
    if chance(rng, 0.6):
        canvas.stroke([(0.16, 0.66), (0.13, 0.74)], STEEL, 0.015)
        canvas.fill(ellipse(0.12, 0.76, 0.045, 0.035), shade(STEEL, 0.6), "mirror")
    if chance(rng, 0.5):
        plate(canvas, -0.46, 0.39, 0.07, 0.055)
    canvas.decorate(ellipse(-0.46, 0.475, 0.02), shade(LAMP, 0.8))


def _motor(canvas: Canvas) -> None:
    """The engine block with its cooling fins."""
    block = smooth([(-0.1, 0.16), (-0.12, 0.38), (0.14, 0.4), (0.17, 0.2), (0.08, 0.12)], 1)
    canvas.fill(block, (96, 98, 104), "engine")
    for y in np.linspace(0.27, 0.36, 4).tolist():
        canvas.stroke([(-0.07, y), (0.11, y)], (182, 184, 188), 0.012)
    canvas.decorate(ellipse(0.02, 0.19, 0.055), (150, 152, 156))
    canvas.decorate(ellipse(0.02, 0.19, 0.03), (112, 114, 118))
