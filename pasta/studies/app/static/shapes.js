// Plain geometry of what is drawn on pictures: polygons and boxes as lists of [x, y].

/** Twice the area with its sign. */
export function area(points) {
  let sum = 0;
  for (let k = 0; k < points.length; k += 1) {
    const [x, y] = points[k];
    const [u, v] = points[(k + 1) % points.length];
    sum += x * v - u * y;
  }
  return sum / 2;
}

function crossing([ax, ay], [bx, by], [cx, cy], [dx, dy]) {
  const across = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx);
  if (across === 0) return null;
  const s = ((cx - ax) * (dy - cy) - (cy - ay) * (dx - cx)) / across;
  const r = ((cx - ax) * (by - ay) - (cy - ay) * (bx - ax)) / across;
  if (s < 0 || s > 1 || r < 0 || r > 1) return null;
  return [ax + s * (bx - ax), ay + s * (by - ay)];
}

function firstCrossing(points) {
  const size = points.length;
  for (let i = 0; i < size; i += 1) {
    for (let j = i + 2; j < size; j += 1) {
      if (i === 0 && j === size - 1) continue;
      const at = crossing(points[i], points[i + 1], points[j], points[(j + 1) % size]);
      if (at) return { i, j, at };
    }
  }
  return null;
}

/**
 * A line drawn by hand as a polygon that does not cross itself.
 *
 * Where it crosses itself, as it mostly does where its two ends meet, the larger loop stays.
 */
export function simple(points) {
  let rest = withoutDoubles(points);
  for (let cuts = 0; cuts < 100; cuts += 1) {
    const found = rest.length > 3 ? firstCrossing(rest) : null;
    if (!found) return rest;
    const inner = [found.at, ...rest.slice(found.i + 1, found.j + 1)];
    const outer = [found.at, ...rest.slice(found.j + 1), ...rest.slice(0, found.i + 1)];
    rest = withoutDoubles(Math.abs(area(inner)) > Math.abs(area(outer)) ? inner : outer);
  }
  return [];
}

function withoutDoubles(points) {
  return points.filter(([x, y], k) => {
    const [u, v] = points[(k + 1) % points.length];
    return points.length < 2 || Math.hypot(x - u, y - v) > 1e-9;
  });
}

/** Leave out points of a line that lie closer than `tolerance` to the line without them. */
export function thinner(points, tolerance) {
  if (points.length < 3) return points;
  const [ax, ay] = points[0];
  const [bx, by] = points.at(-1);
  const length = Math.hypot(bx - ax, by - ay);
  let furthest = 0;
  let place = 0;
  for (let k = 1; k < points.length - 1; k += 1) {
    const [x, y] = points[k];
    const far =
      length === 0
        ? Math.hypot(x - ax, y - ay)
        : Math.abs((bx - ax) * (ay - y) - (ax - x) * (by - ay)) / length;
    if (far > furthest) [furthest, place] = [far, k];
  }
  if (furthest <= tolerance) return [points[0], points.at(-1)];
  const left = thinner(points.slice(0, place + 1), tolerance);
  return [...left.slice(0, -1), ...thinner(points.slice(place), tolerance)];
}

/** The corners of a box from two opposite ones. */
export function corners([ax, ay], [bx, by]) {
  const [left, right] = [Math.min(ax, bx), Math.max(ax, bx)];
  const [top, bottom] = [Math.min(ay, by), Math.max(ay, by)];
  return [
    [left, top],
    [right, top],
    [right, bottom],
    [left, bottom],
  ];
}
