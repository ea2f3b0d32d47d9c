// Where a way through the study ends.

import { el, say } from "./dom.js";
import { prose } from "./parts.js";
import { t } from "./strings.js";

function ending(kind) {
  return (step) => ({
    node: el("div", { class: "narrow-column" }, prose(step.html ?? "", t(`title.${kind}`))),
  });
}

export const declined = ending("declined");
export const withdrawn = ending("withdrawn");
export const full = ending("full");
export const ended = ending("ended");

export function done(step) {
  const copy = el(
    "button",
    {
      type: "button",
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(step.code);
          copy.textContent = t("done.copied");
          say(t("done.copied"));
        } catch {
          say(t("done.copy_by_hand"));
        }
      },
    },
    t("done.copy"),
  );
  return {
    node: el(
      "div",
      { class: "narrow-column" },
      prose(step.html ?? "", t("title.done")),
      step.code
        ? el(
            "section",
            { class: "card" },
            el("h2", null, t("done.code")),
            el("p", { class: "hint" }, t("done.code_hint")),
            el("div", { class: "tools" }, el("output", { class: "code" }, step.code), copy),
          )
        : null,
    ),
  };
}
