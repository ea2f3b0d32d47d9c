// Pieces that several pages show: pictures with their explanation, examples, bars, prose.

import { el, newId, svg } from "./dom.js";
import { t } from "./strings.js";

/** Text that the server has made of Markdown; it holds no HTML of people who take part. */
export function prose(html, title) {
  const text = el("div", { class: "prose" });
  const read = new DOMParser().parseFromString(html, "text/html");
  text.append(...read.body.childNodes);
  const heading = text.querySelector("h1");
  if (!heading) text.prepend(el("h1", null, title));
  return text;
}

const number = (value) => new Intl.NumberFormat("en", { maximumSignificantDigits: 2 }).format(value);

const STRONGEST = 10; // concepts in a chart; a model may know many more

/** What bars are drawn to; charts that are compared share one. */
export function barScale(pictures) {
  const values = pictures.flatMap((picture) => picture.bars ?? []).map(({ value }) => value);
  return {
    largest: Math.max(...values.map(Math.abs), 1e-12),
    signed: values.some((value) => value < 0),
  };
}

/** Concepts and how much each counted: bars to the right speak for the class, to the left against. */
export function bars(all, { largest, signed }) {
  const values = [...all]
    .sort((one, other) => Math.abs(other.value) - Math.abs(one.value))
    .slice(0, STRONGEST);
  const zero = signed ? 50 : 0;
  const reach = signed ? 50 : 100;
  return el(
    "ul",
    { class: "bars", "aria-label": t(signed ? "bars.signed" : "bars.caption") },
    ...values.map(({ name, value }) => {
      const length = (Math.abs(value) / largest) * reach;
      return el(
        "li",
        null,
        el("span", { class: "name" }, name.replaceAll("_", " ")),
        el("span", { class: "figure" }, value < 0 ? `−${number(-value)}` : number(value)),
        svg(
          "svg",
          { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
          svg("rect", { x: 0, y: 0, width: 100, height: 10, class: "track" }),
          svg("rect", {
            x: value < 0 ? zero - length : zero,
            y: 0,
            width: length,
            height: 10,
            class: value < 0 ? "against" : "for",
          }),
          signed ? svg("line", { x1: 50, x2: 50, y1: 0, y2: 10, class: "axis" }) : "",
        ),
      );
    }),
  );
}

/** A picture with its title; an explanation by concepts is a chart of bars instead. */
export function pictureFigure(picture, scale = barScale([picture])) {
  const caption = picture.title ? el("figcaption", { id: newId("title") }, picture.title) : null;
  return el(
    "figure",
    { class: "picture" },
    caption,
    picture.bars?.length
      ? bars(picture.bars, scale)
      : el(
          "div",
          { class: "ground" },
          el("img", {
            src: picture.src,
            alt: picture.alt,
            width: picture.width,
            height: picture.height,
          }),
        ),
  );
}

/** An example: picture, explanation if there is one, and what the model said. */
export function exampleCard(example) {
  return el(
    "figure",
    { class: "example" },
    el(
      "div",
      { class: example.explanation ? "pair" : "" },
      pictureFigure(example.picture),
      example.explanation ? pictureFigure(example.explanation) : null,
    ),
    el(
      "figcaption",
      null,
      el("span", { class: "said" }, t("example.said"), " "),
      el("b", null, example.shown),
    ),
  );
}

/** A box that says "there is nothing", so that an empty answer is one on purpose; gone when there is. */
export function nothingBox(text, start, changed) {
  const input = el("input", { type: "checkbox", checked: start, onchange: () => changed(input.checked) });
  const node = el("label", { class: "tick" }, input, text);
  return {
    node,
    value: () => input.checked,
    hide(on) {
      node.hidden = on;
      if (on) input.checked = false;
    },
  };
}
