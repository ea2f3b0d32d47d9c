// Trial replay: what a person saw and answered, one page after the other.

import { el, svg } from "./dom.js";
import { exampleCard, pictureFigure } from "./parts.js";
import { corners } from "./shapes.js";
import { t } from "./strings.js";

const dialog = document.getElementById("replay");

function marked(picture, regions) {
  const outline = (points, name) =>
    svg("polygon", { points: points.map(([x, y]) => `${x},${y}`).join(" "), class: name });
  return el(
    "div",
    { class: "ground" },
    el(
      "div",
      { class: "stack" },
      el("img", { src: picture.src, alt: picture.alt, width: picture.width, height: picture.height }),
      svg(
        "svg",
        {
          class: "marks still",
          viewBox: `0 0 ${picture.width} ${picture.height}`,
          "aria-hidden": "true",
        },
        ...regions.flatMap((points) => [outline(points, "region under"), outline(points, "region")]),
      ),
    ),
  );
}

/** What was on the page, as far as it helps to understand the answer. */
function seen(step, answer) {
  const parts = [];
  const said = step.predicted ?? step.class ?? step.example?.shown;
  if (said) parts.push(el("p", null, t("ratings.said"), " ", el("b", null, said)));
  if (step.wording) parts.push(el("p", null, step.wording));
  if (step.kind === "before" && step.picture) {
    const { width, height } = step.picture;
    const boxes = (answer["Q0.2"] ?? []).map(([x0, y0, x1, y1]) =>
      corners([x0 * width, y0 * height], [x1 * width, y1 * height]),
    );
    parts.push(marked(step.picture, boxes));
  } else if (step.kind === "regions") {
    const regions = (answer.regions ?? []).map(({ shape, points }) =>
      shape === "box" && points.length === 2 ? corners(points[0], points[1]) : points,
    );
    parts.push(marked(step.picture, regions));
  } else if (step.kind === "words") {
    const chosen = new Set(answer.words ?? []);
    parts.push(
      el(
        "p",
        { class: "read" },
        ...step.words.flatMap((word, k) => [chosen.has(k) ? el("mark", null, word) : word, " "]),
      ),
    );
  } else if (step.picture) parts.push(pictureFigure(step.picture));
  if (step.kind === "check") {
    const asked = step.questions.map((question) =>
      el(
        "li",
        null,
        el("b", null, question.id),
        ` ${question.wording}`,
        question.picture ? pictureFigure(question.picture) : null,
      ),
    );
    parts.push(el("h3", null, step.title), el("ul", { class: "asked" }, ...asked));
  }
  if (step.example) parts.push(exampleCard(step.example));
  for (const phase of step.phases ?? []) {
    parts.push(
      el("h3", null, phase.title),
      el("div", { class: `pictures of-${phase.pictures.length}` }, ...phase.pictures.map((picture) => pictureFigure(picture))),
    );
  }
  return parts;
}

function asText(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (Array.isArray(value)) {
    if (!value.length) return "–";
    if (value.every((one) => typeof one !== "object")) return value.join(", ");
    return t("board.marks", { count: value.length });
  }
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

function values(title, answer) {
  const pairs = Object.entries(answer ?? {});
  if (!pairs.length) return null;
  return el(
    "section",
    null,
    el("h3", null, title),
    el(
      "dl",
      { class: "pairs" },
      ...pairs.flatMap(([name, value]) => [el("dt", null, name), el("dd", null, asText(value))]),
    ),
  );
}

function draw({ person, answers }, index) {
  const number = answers.length ? Math.max(0, Math.min(index, answers.length - 1)) : -1;
  const record = answers[number];
  const button = (text, action, disabled = false, main = false) =>
    el("button", { type: "button", class: main ? "main" : "", disabled, onclick: action }, text);
  const to = (other, wanted) => () => {
    draw({ person, answers }, other);
    const buttons = dialog.querySelectorAll(".actions button");
    (buttons[wanted].disabled ? buttons[2] : buttons[wanted]).focus();
  };
  dialog.replaceChildren(
    el("h2", { id: "replay-title" }, t("board.replay_of", { person })),
    el(
      "div",
      { class: "actions" },
      button(t("board.replay_previous"), to(number - 1, 0), number <= 0),
      button(t("board.replay_next"), to(number + 1, 1), number >= answers.length - 1),
      button(t("board.replay_close"), () => dialog.close()),
    ),
    record
      ? el(
          "div",
          { class: "record" },
          el(
            "p",
            { class: "step", role: "status" },
            t("board.replay_step", { number: number + 1, of: answers.length }),
            " · ",
            t(`title.${record.step.kind}`),
            " · ",
            t("board.replay_at", {
              time: new Date(record.at).toLocaleString(),
              seconds: record.seconds === null ? "–" : Math.round(record.seconds * 10) / 10,
            }),
          ),
          el(
            "div",
            { class: "record-columns" },
            el("div", null, ...seen(record.step, record.answer ?? {})),
            el(
              "div",
              null,
              values(t("board.replay_answer"), record.answer),
              values(t("board.replay_expected"), record.expected),
            ),
          ),
        )
      : el("p", { class: "muted" }, t("board.replay_none")),
  );
}

export async function openReplay(person) {
  const answer = await fetch(`/admin/api/people/${encodeURIComponent(person)}`, {
    credentials: "same-origin",
  });
  if (!answer.ok) {
    dialog.replaceChildren(
      el("h2", { id: "replay-title" }, t("board.replay_of", { person })),
      el("p", { class: "problem" }, t("board.lost")),
    );
    dialog.showModal();
    return;
  }
  draw(await answer.json(), 0);
  dialog.showModal();
}
