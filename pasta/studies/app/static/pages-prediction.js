// The prediction study: look at what the model said, then say what it will say.

import { el, newId } from "./dom.js";
import { exampleCard, pictureFigure } from "./parts.js";
import { t } from "./strings.js";

function reservoir(examples) {
  if (!examples?.length) return null;
  const title = newId("reservoir");
  return el(
    "section",
    { class: "reservoir", "aria-labelledby": title },
    el("h2", { id: title }, t("prediction.reservoir")),
    el("ul", { class: "strip" }, ...examples.map((example) => el("li", null, exampleCard(example)))),
  );
}

function where(step, phase) {
  return el(
    "p",
    { class: "step" },
    t(phase, { session: step.session, number: step.number, of: step.of }),
  );
}

export function training(step) {
  const { example } = step;
  return {
    node: el(
      "div",
      null,
      where(step, "prediction.training"),
      el("h1", null, t("prediction.model_said"), " ", el("span", { class: "class-name" }, example.shown)),
      el("p", { class: "lead" }, t(example.explanation ? "prediction.study" : "prediction.study_plain")),
      el(
        "div",
        { class: example.explanation ? "pair large" : "single" },
        pictureFigure(example.picture),
        example.explanation ? pictureFigure(example.explanation) : null,
      ),
      reservoir(step.reservoir),
    ),
    answer: () => ({}),
  };
}

export function choice(step, { draft, save }) {
  const name = newId("class");
  const inputs = step.classes.map((value) =>
    el("input", {
      type: "radio",
      name,
      value,
      checked: draft?.class === value,
      onchange: () => save({ class: value }),
    }),
  );
  return {
    node: el(
      "div",
      null,
      where(step, "prediction.test"),
      el("h1", null, t("prediction.what")),
      reservoir(step.reservoir),
      el(
        "div",
        { class: "asked-picture" },
        pictureFigure(step.picture),
        el(
          "fieldset",
          { class: "question", "data-question": "class" },
          el("legend", null, t("prediction.the_model_says")),
          el(
            "div",
            { class: "options large" },
            ...inputs.map((input) => el("label", { class: "tick" }, input, input.value)),
          ),
          el("p", { class: "hint" }, t("prediction.not_the_truth")),
        ),
      ),
    ),
    answer: () => ({ class: inputs.find((input) => input.checked).value }),
    problem: () =>
      inputs.some((input) => input.checked)
        ? null
        : { text: t("prediction.open"), focus: () => inputs[0].focus() },
  };
}
