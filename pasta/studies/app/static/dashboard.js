// The dashboard: asks for the overview every few seconds and draws what has changed.

import { el, newId } from "./dom.js";
import { cells, scatter, stacked } from "./plots.js";
import { openReplay } from "./replay.js";
import { loadStrings, t } from "./strings.js";

const EVERY = 4000; // milliseconds between two questions to the server
const board = document.getElementById("board");
const live = document.getElementById("live");
let tag = null;

const percent = (share) => `${Math.round(share * 100)} %`;
const plain = (value, digits = 0) =>
  new Intl.NumberFormat("en", { maximumFractionDigits: digits }).format(value);
const moment = (text) =>
  new Date(text).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

function tile(name, value, ...hints) {
  return el(
    "div",
    { class: "tile" },
    el("dt", null, name),
    el("dd", null, value),
    ...hints.filter(Boolean).map((hint) => el("dd", { class: "hint" }, hint)),
  );
}

function tiles({ answers, people, places, expected_end: end }) {
  const also = (names) =>
    names
      .filter((name) => people[name])
      .map((name) => `${people[name]} ${t(`board.${name}`)}`)
      .join(" · ");
  const complete = places.all > 0 && places.finished >= places.all;
  return el(
    "dl",
    { class: "tiles" },
    tile(t("board.answers"), plain(answers)),
    tile(
      t("board.people"),
      t("board.of", { part: people.started, all: people.invited }),
      `${people.active} ${t("board.active")}`,
      also(["finished", "declined", "withdrawn", "ended"]),
    ),
    tile(
      t("board.places"),
      t("board.of", { part: places.finished, all: places.all }),
      places.taken ? `${places.taken} ${t("board.taken")}` : null,
      places.expired ? t("board.expired", { expired: places.expired }) : null,
    ),
    tile(
      t("board.end"),
      complete ? t("board.all_done") : end ? moment(end) : t("board.no_end"),
    ),
  );
}

function section(title, hint, ...content) {
  const id = newId("section");
  return el(
    "section",
    { class: "card", "aria-labelledby": id },
    el("h2", { id }, title),
    hint ? el("p", { class: "hint" }, hint) : null,
    ...content,
  );
}

function conditions(list) {
  const row = ({ name, places, taken, finished }) => {
    const label = name || t("board.no_condition");
    const words = t("board.of", { part: finished, all: places });
    return el(
      "li",
      null,
      el("span", null, label),
      stacked(
        places
          ? [
              { share: finished / places, name: "full", title: `${finished} ${t("board.finished")}` },
              { share: taken / places, name: "part", title: `${taken} ${t("board.taken")}` },
            ]
          : [],
        `${label}: ${words}, ${taken} ${t("board.taken")}`,
      ),
      el("span", { class: "figure" }, words),
    );
  };
  const key = (name, text) => el("li", null, el("span", { class: `swatch ${name}` }), text);
  return section(
    t("board.conditions"),
    null,
    el("ul", { class: "rows" }, ...list.map(row)),
    el(
      "ul",
      { class: "key" },
      key("full", t("board.finished")),
      key("part", t("board.taken")),
      key("rest", t("board.free")),
    ),
  );
}

function table(head, rows, label) {
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    el(
      "table",
      null,
      el("thead", null, el("tr", null, ...head.map((text) => el("th", { scope: "col" }, text)))),
      el("tbody", null, ...rows),
    ),
  );
}

function items(list) {
  if (!list.length) return null;
  const full = list.filter((item) => item.answered >= item.wanted).length;
  const none = list.filter((item) => item.answered === 0).length;
  const summary = t("board.items_summary", { full, all: list.length, none });
  const rows = list.map((item) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, item.id),
      el("td", null, plain(item.answered)),
      el("td", null, plain(item.wanted)),
    ),
  );
  return section(
    t("board.items"),
    t("board.items_hint"),
    cells(list, (item) => t("board.cell", item), summary),
    el("p", null, summary),
    el(
      "details",
      { id: "items-table" },
      el("summary", null, t("board.items_table")),
      table([t("board.item"), t("board.answered"), t("board.wanted")], rows, t("board.items")),
    ),
  );
}

function soFar(measures) {
  const title = t("board.so_far");
  if (!measures?.length) return section(title, null, el("p", { class: "muted" }, t("board.so_far_none")));
  const rows = measures.map(({ measure, about, value, n }) =>
    el(
      "tr",
      null,
      el("th", { scope: "row" }, about),
      el("td", { class: "wide" }, measure),
      el("td", null, value === null ? "–" : plain(value, 2)),
      el("td", null, plain(n)),
    ),
  );
  const head = ["about", "measure", "value", "n"].map((name) => t(`board.${name}`));
  return section(title, t("board.so_far_hint"), table(head, rows, title));
}

function screening(stages) {
  if (!stages?.length) return null;
  const most = Math.max(1, ...stages.map((stage) => stage.in));
  return section(
    t("board.screening"),
    null,
    el(
      "ul",
      { class: "rows" },
      ...stages.map((stage) => {
        const words = `${stage.in} ${t("board.in")}, ${stage.out} ${t("board.out")}`;
        return el(
          "li",
          null,
          el("span", null, stage.stage),
          stacked(
            [
              { share: (stage.in - stage.out) / most, name: "full", title: words },
              { share: stage.out / most, name: "warm", title: words },
            ],
            `${stage.stage}: ${words}`,
          ),
          el("span", { class: "figure" }, words),
        );
      }),
    ),
  );
}

function pace(persons) {
  const known = persons.filter((one) => one.median_seconds !== null && one.straight_lining !== null);
  if (!known.length) return null;
  return section(
    t("board.pace"),
    t("board.pace_hint"),
    scatter(
      known.map((one) => ({
        x: one.median_seconds,
        y: one.straight_lining,
        marked: one.flags.length > 0,
        label: one.person,
        title: `${one.person}: ${plain(one.median_seconds, 1)} s, ${percent(one.straight_lining)}`,
      })),
      { x: t("board.pace_x"), y: t("board.pace_y") },
      t("board.pace"),
    ),
  );
}

function checks(person) {
  const parts = person.checks.map((one) =>
    t(one.passed ? "board.tries" : "board.not_passed", one),
  );
  if (person.catch) parts.push(t("board.catch", person.catch));
  return parts.join("; ") || "–";
}

function persons(list) {
  if (!list.length) return section(t("board.persons"), null, el("p", { class: "muted" }, t("board.nobody")));
  const ordered = [...list].sort(
    (a, b) => b.flags.length - a.flags.length || a.person.localeCompare(b.person),
  );
  const conditioned = list.some((one) => one.condition);
  const head = ["person", conditioned ? "condition" : null, "flags", "done", "seconds", "same", "run", "checks", "last"];
  const rows = ordered.map((one) =>
    el(
      "tr",
      { class: one.flags.length ? "flagged" : "" },
      el("th", { scope: "row" }, one.person),
      conditioned ? el("td", null, one.condition ?? "–") : null,
      el(
        "td",
        null,
        one.flags.length
          ? one.flags.map((flag) => el("span", { class: "flag" }, flag))
          : el("span", { class: "muted" }, t("board.no_flags")),
      ),
      el("td", null, t("board.of", { part: one.done, all: one.of })),
      el("td", null, one.median_seconds === null ? "–" : plain(one.median_seconds, 1)),
      el("td", null, one.straight_lining === null ? "–" : percent(one.straight_lining)),
      el("td", null, one.same_in_a_row ?? "–"),
      el("td", { class: "wide" }, checks(one)),
      el("td", null, one.last_at ? moment(one.last_at) : "–"),
      el(
        "td",
        null,
        el(
          "button",
          {
            type: "button",
            class: "small",
            "data-person": one.person,
            "aria-label": `${t("board.replay")}: ${one.person}`,
            onclick: () => openReplay(one.person),
          },
          t("board.replay"),
        ),
      ),
    ),
  );
  const names = head.filter(Boolean).map((name) => t(`board.${name}`));
  return section(
    t("board.persons"),
    t("board.persons_hint"),
    table([...names, ""], rows, t("board.persons")),
  );
}

function draw(overview) {
  const focused = document.activeElement?.dataset?.person;
  const open = document.getElementById("items-table")?.open;
  const scrolled = [...board.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  board.replaceChildren(
    tiles(overview),
    el(
      "div",
      { class: "board-columns" },
      el("div", null, ...[conditions(overview.conditions), items(overview.items)].filter(Boolean)),
      el(
        "div",
        null,
        ...[
          soFar(overview.so_far),
          screening(overview.screening),
          pace(overview.persons),
        ].filter(Boolean),
      ),
    ),
    persons(overview.persons),
  );
  if (open) document.getElementById("items-table").open = true;
  board.querySelectorAll(".scroll").forEach((one, k) => {
    one.scrollLeft = scrolled[k] ?? 0;
  });
  if (focused) board.querySelector(`[data-person="${CSS.escape(focused)}"]`)?.focus();
}

async function update() {
  let answer;
  try {
    answer = await fetch("/admin/api/overview", {
      credentials: "same-origin",
      headers: tag ? { "If-None-Match": tag } : {},
    });
  } catch {
    live.textContent = t("board.lost");
    return;
  }
  if (answer.status === 401 || answer.status === 403) {
    window.location.assign("/admin/login");
    return;
  }
  if (answer.status !== 304) {
    if (!answer.ok) {
      live.textContent = t("board.lost");
      return;
    }
    tag = answer.headers.get("ETag");
    draw(await answer.json());
  }
  live.textContent = t("board.live");
}

async function keepUpdating() {
  if (!document.hidden) await update();
  setTimeout(keepUpdating, EVERY);
}

await loadStrings(`/static/texts.en.json?v=${encodeURIComponent(document.body.dataset.version)}`);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) update();
});
await keepUpdating();
