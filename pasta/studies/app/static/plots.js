// The plots of the dashboard as plain SVG: numbers in, drawing out.

import { svg } from "./dom.js";

const round = (value) => Math.round(value * 100) / 100;

/** A bar of parts: [{share, name, title}], shares of the whole from the left. */
export function stacked(parts, label) {
  let from = 0;
  return svg(
    "svg",
    { viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "stacked", role: "img", "aria-label": label },
    svg("rect", { x: 0, y: 0, width: 100, height: 6, class: "rest" }),
    ...parts.map(({ share, name, title }) => {
      const bar = svg(
        "rect",
        { x: round(from * 100), y: 0, width: round(share * 100), height: 6, class: name },
        svg("title", null, title),
      );
      from += share;
      return bar;
    }),
  );
}

/** One cell for each item: filled from below by the share of answers that are in. */
export function cells(items, words, label) {
  const across = Math.max(24, Math.min(50, Math.ceil(Math.sqrt(items.length * 4))));
  const rows = Math.ceil(items.length / across);
  return svg(
    "svg",
    { viewBox: `0 0 ${across * 10} ${rows * 10}`, class: "cells", role: "img", "aria-label": label },
    ...items.map((item, k) => {
      const [x, y] = [(k % across) * 10 + 1, Math.floor(k / across) * 10 + 1];
      const share = item.wanted ? Math.min(1, item.answered / item.wanted) : 0;
      return svg(
        "g",
        null,
        svg("title", null, words(item)),
        svg("rect", { x, y, width: 8, height: 8, rx: 1.2, class: "rest" }),
        svg("rect", {
          x,
          y: round(y + 8 - 8 * share),
          width: 8,
          height: round(8 * share),
          rx: 1.2,
          class: share >= 1 ? "full" : "part",
        }),
      );
    }),
  );
}

function ticks(high, wanted) {
  const raw = high / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((by) => by * power).find((by) => by >= raw);
  const found = [];
  for (let value = 0; value <= high + step / 1e6; value += step) found.push(round(value));
  return found;
}

/** Dots [{x, y, marked, title, label}] with y from 0 to 1; marked ones are squares with a label. */
export function scatter(dots, names, label) {
  const [width, height] = [560, 320];
  const edge = { left: 52, right: 18, top: 32, bottom: 44 };
  const high = Math.max(1, ...dots.map(({ x }) => x)) * 1.08;
  const across = (x) => round(edge.left + (x / high) * (width - edge.left - edge.right));
  const up = (y) => round(height - edge.bottom - y * (height - edge.top - edge.bottom));
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "scatter", role: "img", "aria-label": label },
    svg("text", { x: 4, y: 12, class: "name" }, names.y),
    ...[0, 0.25, 0.5, 0.75, 1].map((y) =>
      svg(
        "g",
        null,
        svg("line", { x1: edge.left, x2: width - edge.right, y1: up(y), y2: up(y), class: "grid" }),
        svg("text", { x: edge.left - 8, y: up(y) + 4, "text-anchor": "end" }, `${y * 100} %`),
      ),
    ),
    ...ticks(high, 6).map((x) =>
      svg("text", { x: across(x), y: height - edge.bottom + 18, "text-anchor": "middle" }, String(x)),
    ),
    svg(
      "text",
      { x: (edge.left + width - edge.right) / 2, y: height - 6, "text-anchor": "middle", class: "name" },
      names.x,
    ),
    ...dots.map((dot) => {
      const [x, y] = [across(dot.x), up(dot.y)];
      const mark = dot.marked
        ? svg("rect", { x: x - 5, y: y - 5, width: 10, height: 10, class: "marked" })
        : svg("circle", { cx: x, cy: y, r: 5, class: "dot" });
      const right = x < width * 0.8;
      return svg(
        "g",
        null,
        svg("title", null, dot.title),
        mark,
        dot.marked
          ? svg(
              "text",
              { x: right ? x + 9 : x - 9, y: y + 4, "text-anchor": right ? "start" : "end", class: "name" },
              dot.label,
            )
          : "",
      );
    }),
  );
}
