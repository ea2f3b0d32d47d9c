// The attention study: regions of pictures, words of texts, and how good an explanation is.

import { el } from "./dom.js";
import { nothingBox, pictureFigure } from "./parts.js";
import { regionPicture } from "./regions.js";
import { scaleQuestion } from "./stars.js";
import { t } from "./strings.js";
import { markWords } from "./words.js";

function heading(step) {
  return [
    el("p", { class: "step" }, t("attention.class", { name: step.class })),
    el("h1", null, step.wording),
  ];
}

const TOOLS = { polygon: "lasso", box: "box" };

/** A page on which people mark something, or say that there is nothing to mark. */
function marking(step, { draft, save }, name, kind, make) {
  const now = () => ({ [name]: made.value(), nothing: nothing.value() });
  const nothing = nothingBox(t(`attention.nothing_${kind}`), draft?.nothing ?? false, () => save(now()));
  const made = make(draft?.[name], () => {
    nothing.hide(made.value().length > 0);
    save(now());
  });
  nothing.hide(made.value().length > 0);
  return {
    node: el(
      "div",
      { class: "middle-column" },
      ...heading(step),
      el("div", { class: "card question", "data-question": name }, made.node, nothing.node),
    ),
    answer: () => ({ [name]: made.value() }),
    problem: () =>
      made.value().length || nothing.value()
        ? null
        : { text: t(`attention.open_${kind}`), focus: made.focus },
  };
}

export function regions(step, kept) {
  const tools = step.shapes.map((shape) => TOOLS[shape]);
  const page = marking(step, kept, "regions", "picture", (start, changed) =>
    regionPicture(step.picture, tools, start, changed),
  );
  const sent = ({ shape, points }) =>
    shape === "box" ? { shape, points: [points[0], points[2]] } : { shape, points };
  return { ...page, answer: () => ({ regions: page.answer().regions.map(sent) }) };
}

export function words(step, kept) {
  return marking(step, kept, "words", "text", (start, changed) =>
    markWords(step.words, step.wording, start, changed),
  );
}

export function goodness(step, { draft, save }) {
  const question = { id: "rating", wording: step.wording, lowest: step.lowest, highest: step.highest };
  const scale = { low: 1, high: step.scale ?? 10, look: "numbers" };
  const asked = scaleQuestion(question, scale, draft?.rating, (rating) => save({ rating }));
  return {
    node: el(
      "div",
      null,
      el("p", { class: "step" }, t("attention.class", { name: step.class })),
      el("h1", null, t("attention.goodness")),
      el(
        "div",
        { class: "two-columns" },
        step.picture ? pictureFigure(step.picture) : null,
        el("div", { class: "card" }, asked.node),
      ),
    ),
    answer: () => ({ rating: asked.value() }),
    problem: () => (asked.value() ? null : { text: t("attention.open_rating"), focus: asked.focus }),
  };
}
