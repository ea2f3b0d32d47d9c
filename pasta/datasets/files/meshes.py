"""Read meshes and point clouds from files: OFF, PLY (text and binary), NPZ and plain rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pasta.errors import InputError

Points = NDArray[np.float64]
Row = dict[str, Any]  # of an element of a PLY file: numbers, and lists of them


class Mesh(NamedTuple):
    """Corners (corners, 3) and the three corners of each triangle (faces, 3)."""

    corners: Points
    faces: NDArray[np.int64]


class Cloud(NamedTuple):
    """Points (points, 3) and the number of the part of each, if parts are known."""

    points: Points
    parts: NDArray[np.int64] | None


def read_mesh(file: Path) -> Mesh:
    """Read an OFF or PLY file; polygons are cut into triangles.

    Raises
    ------
    InputError
        The file is damaged, has a corner that is not a number, or no faces.
    """
    if not file.is_file():
        raise InputError("there is no such file", file=file, expected="a mesh")
    content = file.read_bytes()
    try:
        corners, polygons = _read_off(content) if file.suffix == ".off" else _read_ply(content)
    except (ValueError, IndexError, KeyError, UnicodeDecodeError, TypeError) as error:
        raise InputError(
            f"cannot be read: {error}", file=file, expected=f"a whole {file.suffix[1:]} file"
        ) from None
    require_numbers(corners, file)
    if not polygons:
        raise InputError("a mesh without faces", file=file, expected="corners and triangles")
    triangles = [
        (one[0], one[place], one[place + 1]) for one in polygons for place in range(1, len(one) - 1)
    ]
    faces = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    wrong = faces[(faces < 0) | (faces >= len(corners))]
    if len(wrong):
        raise InputError(
            f"a face names the corner {wrong[0]}",
            file=file,
            expected=f"corners 0 to {len(corners) - 1}",
        )
    return Mesh(corners, faces)


def read_cloud(file: Path) -> Cloud:
    """Read points from a NPZ file (``points``, perhaps ``parts``) or from rows of numbers.

    Rows (``.txt``) are x, y, z, perhaps a normal, and at their end the part, as in ShapeNet-part.

    Raises
    ------
    InputError
        The file is damaged, empty, of another shape, or has a coordinate that is not a number.
    """
    parts: NDArray[np.int64] | None = None
    try:
        if file.suffix == ".npz":
            with np.load(file, allow_pickle=False) as arrays:
                points = np.asarray(arrays["points"], np.float64)
                parts = np.asarray(arrays["parts"]) if "parts" in arrays else None
        else:
            lines = file.read_text(encoding="ascii").split("\n")
            rows = np.array([line.split() for line in lines if line.strip()], dtype=np.float64)
            points = rows[:, :3] if rows.size else np.empty((0, 3))
            parts = rows[:, -1].astype(np.int64) if rows.size and rows.shape[1] in (4, 7) else None
    except FileNotFoundError:
        raise InputError("there is no such file", file=file, expected="points") from None
    except (OSError, ValueError, KeyError, IndexError, UnicodeDecodeError, EOFError) as error:
        raise InputError(
            f"cannot be read: {error}", file=file, expected="points, each with x, y and z"
        ) from None
    if points.ndim != 2 or points.shape[1] != 3:
        raise InputError(f"the points have the shape {points.shape}", file=file, expected="n x 3")
    if not len(points):
        raise InputError("an empty cloud", file=file, expected="points")
    require_numbers(points, file)
    if parts is not None and (parts.shape != (len(points),) or parts.min() < 0):
        raise InputError("the parts do not fit the points", file=file, expected="one for each")
    return Cloud(points, parts)


def require_numbers(points: Points, file: Path) -> None:
    """Raise an error that names the first point with a coordinate that is not a number."""
    wrong = np.flatnonzero(~np.isfinite(points).all(1))
    if len(wrong):
        raise InputError(
            f"point {wrong[0]} is at {tuple(points[wrong[0]].tolist())}",
            file=file,
            expected="coordinates that are numbers",
        )


def _read_off(content: bytes) -> tuple[Points, list[list[int]]]:
    lines = [line.partition("#")[0].split() for line in content.decode("ascii").splitlines()]
    lines = [line for line in lines if line]
    # some files of ModelNet40 have the counts in the first line: OFF490 518 0
    if not lines or not lines[0][0].startswith("OFF"):
        raise ValueError("it does not begin with OFF")
    glued = lines[0][0].removeprefix("OFF")
    first = [glued, *lines[0][1:]] if glued else lines[0][1:]
    counts, rest = (first, lines[1:]) if first else (lines[1], lines[2:])
    corners, faces = int(counts[0]), int(counts[1])
    if len(rest) < corners + faces:
        raise ValueError(f"{len(rest)} lines instead of {corners + faces} follow")
    points = np.array([line[:3] for line in rest[:corners]], np.float64).reshape(-1, 3)
    polygons = []
    for line in rest[corners : corners + faces]:
        polygon = [int(word) for word in line[1 : 1 + int(line[0])]]
        if len(polygon) != int(line[0]):
            raise ValueError(f"the face {' '.join(line)!r} is cut off")
        polygons.append(polygon)
    return points, polygons


_PLY = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "float": "f4", "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2",
    "int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8",
}  # fmt: skip
_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}


class _Element(NamedTuple):
    name: str
    number: int
    properties: list[tuple[str, str, str]]  # name, type, and type of the length of a list or ""


def _read_ply(content: bytes) -> tuple[Points, list[list[int]]]:
    head, mark, body = content.partition(b"end_header")
    if not head.startswith(b"ply") or not mark:
        raise ValueError("it has no PLY header")
    body = body[body.index(b"\n") + 1 :]
    elements: list[_Element] = []
    order = ""
    for line in head.decode("ascii").splitlines()[1:]:
        words = line.split()
        if not words:
            continue
        if words[0] == "format":
            order = _ORDERS[words[1]]
        elif words[0] == "element":
            elements.append(_Element(words[1], int(words[2]), []))
        elif words[0] == "property":
            listed = words[1] == "list"
            kind, length = (words[3], _PLY[words[2]]) if listed else (words[1], "")
            elements[-1].properties.append((words[-1], _PLY[kind], length))
    rows = _binary_rows(body, elements, order) if order else _text_rows(body, elements)
    vertices, faces = rows.get("vertex", []), rows.get("face", [])
    points = np.array([[row["x"], row["y"], row["z"]] for row in vertices], np.float64)
    names = ("vertex_indices", "vertex_index")
    polygons = [next(list(map(int, row[name])) for name in names if name in row) for row in faces]
    return points.reshape(-1, 3), polygons


def _text_rows(body: bytes, elements: list[_Element]) -> dict[str, list[Row]]:
    words = iter(body.decode("ascii").split())
    found: dict[str, list[Row]] = {}
    try:
        for element in elements:
            rows = found.setdefault(element.name, [])
            for _ in range(element.number):
                row: Row = {}
                for name, _, length in element.properties:
                    if length:
                        row[name] = [float(next(words)) for _ in range(int(next(words)))]
                    else:
                        row[name] = float(next(words))
                rows.append(row)
    except (StopIteration, RuntimeError):
        raise ValueError("it is cut off") from None
    return found


def _binary_rows(body: bytes, elements: list[_Element], order: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    place = 0
    for element in elements:
        rows = found.setdefault(element.name, [])
        if not any(length for _, _, length in element.properties):  # all rows are equally long
            kinds = np.dtype([(name, order + kind) for name, kind, _ in element.properties])
            table = np.frombuffer(body, kinds, element.number, place)
            place += element.number * kinds.itemsize
            rows += [dict(zip(kinds.names or (), row, strict=True)) for row in table.tolist()]
            continue
        for _ in range(element.number):
            row: Row = {}
            for name, kind, length in element.properties:
                number = 1
                if length:
                    number = int(np.frombuffer(body, order + length, 1, place)[0])
                    place += np.dtype(length).itemsize
                values = np.frombuffer(body, order + kind, number, place).tolist()
                place += number * np.dtype(kind).itemsize
                row[name] = values if length else values[0]
            rows.append(row)
    return found
