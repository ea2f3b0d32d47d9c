// A scale of stars or of numbers: radio buttons underneath, so that arrows, Tab and screen readers
// work as everywhere.

import { el, newId, svg } from "./dom.js";
import { t } from "./strings.js";

const STAR = "M12 2.6l2.9 6 6.6.9-4.8 4.6 1.2 6.5L12 17.5l-5.9 3.1 1.2-6.5L2.5 9.5l6.6-.9z";

function star() {
  return svg(
    "svg",
    { viewBox: "0 0 24 24", "aria-hidden": "true", class: "star" },
    svg("path", { d: STAR }),
  );
}

/**
 * A question that is answered on a scale.
 *
 * `question`: {id, wording, note, help, lowest, highest}; `scale`: {low, high, look: "stars" or
 * "numbers"}. Returns {node, value(), focus()}; `changed` is called after every choice.
 */
export function scaleQuestion(question, scale, start, changed) {
  const name = newId("scale");
  const ends = newId("ends");
  const many = scale.high - scale.low + 1;
  const inputs = [];
  const row = el("div", { class: `scale ${scale.look} of-${many}` });
  for (let value = scale.low; value <= scale.high; value += 1) {
    const input = el("input", {
      type: "radio",
      name,
      value,
      class: "unseen",
      id: `${name}-${value}`,
      "aria-describedby": ends,
      checked: start === value,
      onchange: () => {
        paint();
        changed(value);
      },
    });
    inputs.push(input);
    const words = scale.look === "stars" ? t("stars.value", { value, high: scale.high }) : value;
    row.append(
      el(
        "label",
        { for: `${name}-${value}`, class: "grade" },
        input,
        scale.look === "stars" ? star() : el("span", { "aria-hidden": "true" }, value),
        el("span", { class: "unseen" }, words),
      ),
    );
  }
  const chosen = el("output", { class: "chosen", for: name, "aria-hidden": "true" });

  function value() {
    const input = inputs.find((one) => one.checked);
    return input ? Number(input.value) : null;
  }

  function paint() {
    const now = value();
    for (const input of inputs) {
      input.parentElement.classList.toggle("filled", now !== null && Number(input.value) <= now);
      input.parentElement.classList.toggle("picked", Number(input.value) === now);
    }
    chosen.textContent = now === null ? "" : t("scale.chosen", { value: now, high: scale.high });
  }

  const node = el(
    "fieldset",
    { class: "question", "data-question": question.id },
    el("legend", null, question.wording),
    question.note ? el("p", { class: "hint" }, `(${question.note})`) : null,
    question.help ? el("p", { class: "hint" }, question.help) : null,
    el("div", { class: "scale-row" }, row, chosen),
    el(
      "p",
      { class: "ends", id: ends },
      el("span", null, el("b", null, String(scale.low)), ` ${question.lowest ?? ""}`),
      el("span", null, el("b", null, String(scale.high)), ` ${question.highest ?? ""}`),
    ),
  );
  paint();
  return { node, value, focus: () => (inputs.find((one) => one.checked) ?? inputs[0]).focus() };
}
