// Consent, questions about the person, instructions, and checks of what was understood.

import { el, newId } from "./dom.js";
import { examplesOf } from "./examples.js";
import { exampleCard, pictureFigure, prose } from "./parts.js";
import { t } from "./strings.js";

export function consent(step) {
  return {
    node: el("div", { class: "narrow-column" }, prose(step.html, t("title.consent"))),
    label: t("consent.agree"),
    answer: () => ({ agreed: true }),
    other: { label: t("consent.decline"), answer: () => ({ agreed: false }) },
  };
}

export function demographics(step, { draft, save }) {
  const start = draft ?? {};
  const ids = ["age", "sex", "country"].map(newId);
  const age = el("input", {
    id: ids[0],
    type: "number",
    inputmode: "numeric",
    min: 18,
    max: 120,
    step: 1,
    autocomplete: "off",
    value: start.age ?? "",
  });
  const sex = el(
    "select",
    { id: ids[1] },
    ...["", "female", "male", "other"].map((value) =>
      el("option", { value, selected: value === (start.sex ?? "") }, t(`about.sex_${value || "none"}`)),
    ),
  );
  const country = el("input", {
    id: ids[2],
    type: "text",
    maxlength: 60,
    autocomplete: "country-name",
    value: start.country ?? "",
  });
  const values = () => ({
    age: age.value.trim() === "" ? null : Number(age.value),
    sex: sex.value || null,
    country: country.value.trim() || null,
  });
  const node = el(
    "div",
    { class: "narrow-column", oninput: () => save(values()) },
    el("h1", null, t("title.demographics")),
    el("p", { class: "lead" }, t("about.why")),
    el(
      "div",
      { class: "card" },
      ...[age, sex, country].map((field, k) => {
        const name = ["age", "sex", "country"][k];
        return el(
          "div",
          { class: "field", "data-question": name },
          el("label", { for: ids[k] }, t(`about.${name}`)),
          field,
        );
      }),
    ),
  );
  return {
    node,
    answer: values,
    problem() {
      const years = values().age;
      const wrong = age.validity.badInput || (years !== null && !Number.isInteger(years));
      return wrong ? { text: t("about.age_wrong"), focus: () => age.focus() } : null;
    },
  };
}

export function instructions(step, { study }) {
  return {
    node: el(
      "div",
      { class: "narrow-column" },
      prose(step.html, t("title.instructions")),
      examplesOf(study.kind),
    ),
    label: t("instructions.understood"),
    answer: () => ({}),
  };
}

function checkQuestion(question, number, start, changed) {
  const name = newId("check");
  const inputs = question.options.map((option) =>
    el("input", { type: "radio", name, value: option, checked: option === start, onchange: changed }),
  );
  const node = el(
    "fieldset",
    { class: "card question", "data-question": question.id },
    el("legend", null, question.wording),
    el(
      "div",
      { class: question.picture ? "asked-picture" : "" },
      question.picture ? pictureFigure(question.picture) : null,
      el(
        "div",
        { class: "options" },
        ...inputs.map((input) => el("label", { class: "tick" }, input, input.value)),
      ),
    ),
  );
  return {
    id: question.id,
    node,
    value: () => inputs.find((input) => input.checked)?.value ?? null,
    focus: () => inputs[0].focus(),
  };
}

export function check(step, { draft, save }) {
  const values = () => Object.fromEntries(questions.map((one) => [one.id, one.value()]));
  const questions = step.questions.map((question, k) =>
    checkQuestion(question, k + 1, draft?.[question.id], () => save(values())),
  );
  const wrong = step.wrong ?? 0;
  return {
    node: el(
      "div",
      { class: step.examples?.length ? "" : "narrow-column" },
      el("h1", null, step.title ?? t("title.check")),
      wrong > 0
        ? el(
            "div",
            { class: "notice warm", role: "status" },
            el("p", null, t(wrong === 1 ? "check.one_wrong" : "check.wrong", { wrong })),
          )
        : null,
      step.examples?.length
        ? el(
            "section",
            { "aria-label": t("check.examples") },
            el("h2", null, t("check.examples")),
            el("p", { class: "hint" }, t("check.examples_hint")),
            el("div", { class: "examples" }, ...step.examples.map(exampleCard)),
          )
        : null,
      el("div", { class: step.examples?.length ? "questions-grid" : "" }, ...questions.map(({ node }) => node)),
    ),
    answer: values,
    problem() {
      const open = questions.find((one) => one.value() === null);
      return open ? { text: t("check.open"), focus: open.focus } : null;
    },
  };
}
