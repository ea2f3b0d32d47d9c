// The rating study: own words and boxes, stars for the explanation and its changes, rankings.

import { el, newId } from "./dom.js";
import { barScale, nothingBox, pictureFigure } from "./parts.js";
import { rankingQuestion } from "./ranking.js";
import { regionPicture } from "./regions.js";
import { scaleQuestion } from "./stars.js";
import { t } from "./strings.js";

function said(predicted) {
  return el("h1", null, t("ratings.said"), " ", el("span", { class: "class-name" }, predicted));
}

/** Corners in pixels as fractions of the picture, and back. */
function toFractions({ points }, { width, height }) {
  const [x0, y0] = points[0];
  const [x1, y1] = points[2];
  return [x0 / width, y0 / height, x1 / width, y1 / height];
}

function toCorners([x0, y0, x1, y1], { width, height }) {
  const [left, top, right, bottom] = [x0 * width, y0 * height, x1 * width, y1 * height];
  return {
    shape: "box",
    points: [
      [left, top],
      [right, top],
      [right, bottom],
      [left, bottom],
    ],
  };
}

export function before(step, { draft, save }) {
  const { picture } = step;
  const words = step.questions.find((question) => question.kind === "text");
  const boxes = step.questions.find((question) => question.kind === "boxes");
  const id = newId("words");
  const hint = newId("hint");
  const field = el(
    "textarea",
    { id, rows: 5, maxlength: 2000, "aria-describedby": hint, oninput: () => save(now()) },
  );
  field.value = draft?.text ?? "";
  const nothing = nothingBox(t("ratings.nothing_helps"), draft?.nothing ?? false, () => save(now()));
  const start = (draft?.boxes ?? []).map((box) => toCorners(box, picture));
  const drawing = regionPicture(picture, ["box"], start, () => {
    nothing.hide(drawing.value().length > 0);
    save(now());
  });
  const found = () => drawing.value().map((region) => toFractions(region, picture));
  const now = () => ({ text: field.value, boxes: found(), nothing: nothing.value() });
  nothing.hide(drawing.value().length > 0);
  const node = el(
    "div",
    null,
    el("p", { class: "step" }, t("ratings.first_you")),
    said(step.predicted),
    el(
      "div",
      { class: "two-columns" },
      el(
        "div",
        { class: "card question", "data-question": words.id },
        el("div", { class: "phone-only" }, pictureFigure(picture)),
        el("label", { for: id, class: "wording" }, words.wording),
        el("p", { class: "hint", id: hint }, words.help ?? ""),
        field,
      ),
      el(
        "fieldset",
        { class: "card question", "data-question": boxes.id },
        el("legend", null, boxes.wording),
        el("p", { class: "hint" }, boxes.help ?? ""),
        drawing.node,
        nothing.node,
      ),
    ),
  );
  return {
    node,
    answer: () => ({ [words.id]: field.value.trim(), [boxes.id]: found() }),
    problem() {
      if (!field.value.trim()) return { text: t("ratings.words_open"), focus: () => field.focus() };
      if (drawing.value().length === 0 && !nothing.value()) {
        return { text: t("ratings.boxes_open"), focus: drawing.focus };
      }
      return null;
    },
  };
}

export function stars(step, { draft, save }) {
  const scale = { low: 1, high: step.stars ?? 5, look: "stars" };
  const questions = [];
  const values = () => Object.fromEntries(questions.map(({ id, value }) => [id, value()]));
  const left = el("p", { class: "hint", role: "status" });
  const update = () => {
    const open = questions.filter(({ value }) => value() === null).length;
    left.textContent = open ? t("ratings.open", { open }) : t("ratings.all_answered");
  };
  const shared = barScale(step.phases.flatMap((phase) => phase.pictures));
  const phases = step.phases.map((phase) => {
    const asked = phase.questions.map((question) => {
      const made = scaleQuestion(question, scale, draft?.[question.id], () => {
        update();
        save(values());
      });
      questions.push({ id: question.id, ...made });
      return made.node;
    });
    const title = newId("phase");
    return el(
      "section",
      { class: "phase", "aria-labelledby": title },
      el("h2", { id: title }, phase.title),
      phase.text ? el("p", { class: "hint" }, phase.text) : null,
      el(
        "div",
        { class: "two-columns" },
        el(
          "div",
          { class: `pictures of-${phase.pictures.length}` },
          ...phase.pictures.map((picture) => pictureFigure(picture, shared)),
        ),
        el("div", { class: "card" }, ...asked),
      ),
    );
  });
  update();
  return {
    node: el("div", null, said(step.predicted), ...phases, left),
    answer: values,
    problem() {
      const open = questions.filter(({ value }) => value() === null);
      return open.length
        ? { text: t("ratings.open", { open: open.length }), focus: open[0].focus }
        : null;
    },
  };
}

export function rankings(step, { draft, save }) {
  const questions = step.questions.map((question) => {
    const made = rankingQuestion(question, draft?.[question.id], () => save(partial()));
    return { id: question.id, wording: question.wording, ...made };
  });
  const partial = () => Object.fromEntries(questions.map((one) => [one.id, one.partial()]));
  return {
    node: el(
      "div",
      null,
      el("h1", null, t("title.rankings")),
      el("p", { class: "lead" }, t("ranking.intro")),
      ...questions.map(({ node }) => el("div", { class: "card" }, node)),
    ),
    answer: () => Object.fromEntries(questions.map((one) => [one.id, one.value()])),
    problem() {
      const open = questions.find((one) => one.value() === null);
      return open ? { text: t("ranking.open", { question: open.wording }), focus: open.focus } : null;
    },
  };
}
