// Examples that stand below the instructions: drawn, so that nobody sees a sample beforehand.

import { el, newId, svg } from "./dom.js";
import { bars, barScale } from "./parts.js";
import { t } from "./strings.js";

const HEAD = "M26 40 L30 12 L46 27 Q50 26 54 27 L70 12 L74 40 Q78 62 50 68 Q22 62 26 40 Z";
const LASSO = "M21 42 L27 7 L46 23 L55 23 L73 7 L80 42 L76 62 L51 73 L25 64 Z";
const CONCEPTS = [
  ["ears", 0.8],
  ["whiskers", 0.55],
  ["fur", 0.3],
  ["wheel", -0.35],
];

function cat(...over) {
  return [
    svg("rect", { width: 100, height: 100, fill: "#b4c8c2" }),
    svg("rect", { y: 76, width: 100, height: 24, fill: "#8f9673" }),
    svg("ellipse", { cx: 50, cy: 80, rx: 22, ry: 22, fill: "#b98657" }),
    svg("path", { d: HEAD, fill: "#c4935f" }),
    svg("ellipse", { cx: 40, cy: 43, rx: 3, ry: 4.5, fill: "#3d2c22" }),
    svg("ellipse", { cx: 60, cy: 43, rx: 3, ry: 4.5, fill: "#3d2c22" }),
    svg("path", { d: "M47 52 H53 L50 56 Z", fill: "#96504e" }),
    svg("path", {
      d: "M44 55 L22 52 M44 58 L23 61 M56 55 L78 52 M56 58 L77 61",
      stroke: "#3d2c22",
      "stroke-width": 0.8,
    }),
    ...over,
  ];
}

function warmth() {
  const id = newId("warm");
  const stop = (offset, opacity) =>
    svg("stop", { offset, "stop-color": "#d8571b", "stop-opacity": opacity });
  return [
    svg("rect", { width: 100, height: 100, fill: "#58618a", opacity: 0.55 }),
    svg(
      "radialGradient",
      { id, cx: 0.5, cy: 0.34, r: 0.42 },
      stop(0, 0.95),
      stop(0.55, 0.5),
      stop(1, 0),
    ),
    svg("rect", { width: 100, height: 100, fill: `url(#${id})` }),
  ];
}

function lasso() {
  return [
    svg("path", { d: LASSO, class: "example-line under" }),
    svg("path", { d: LASSO, class: "example-line" }),
  ];
}

function drawing(alt, ...over) {
  return el(
    "div",
    { class: "ground" },
    svg("svg", { viewBox: "0 0 100 100", role: "img", "aria-label": alt }, ...cat(...over)),
  );
}

function figure(caption, ...content) {
  return el("figure", { class: "card picture" }, ...content, el("figcaption", null, caption));
}

function saliency(caption) {
  const pair = el(
    "div",
    { class: "pair" },
    drawing(t("examples.cat")),
    drawing(t("examples.cat_warm"), ...warmth()),
  );
  return figure(caption, pair);
}

function concepts() {
  const picture = { bars: CONCEPTS.map(([name, value]) => ({ name: t(`examples.${name}`), value })) };
  return figure(t("examples.concepts"), bars(picture.bars, barScale([picture])));
}

function words() {
  const marked = new Set(t("examples.marked").split(" "));
  const text = t("examples.text")
    .split(" ")
    .flatMap((word) => [marked.has(word) ? el("mark", null, word) : word, " "]);
  return figure(t("examples.words"), el("p", { class: "read" }, ...text));
}

const OF = {
  ratings: () => [saliency(t("examples.saliency")), concepts()],
  prediction: () => [saliency(t("examples.prediction"))],
  attention: () => [
    figure(t("examples.lasso"), drawing(t("examples.cat_lasso"), ...lasso())),
    words(),
  ],
};

/** The examples of a kind of study; nothing for a kind that has none. */
export function examplesOf(kind) {
  const made = OF[kind]?.();
  if (!made) return null;
  const title = newId("examples");
  return el(
    "section",
    { "aria-labelledby": title, class: "drawn-examples" },
    el("h2", { id: title }, t("examples.title")),
    ...made,
  );
}
