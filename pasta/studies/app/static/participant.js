// The page of a participant: asks the server what comes next, shows it, and sends the answer.

import { el, paragraphs, say, show } from "./dom.js";
import { Refused, ask, insist, kept, newKey, post } from "./server.js";
import { loadStrings, t } from "./strings.js";

const { token, version } = document.body.dataset;
const address = `/api/t/${encodeURIComponent(token)}`;
const place = document.getElementById("page");
const line = document.getElementById("connection");
const OUTBOX = `pasta-answer-${token}`;
const DRAFT = `pasta-draft-${token}`;

// Which file shows which kind of step; only the one that is needed is fetched.
const PAGES = {
  consent: "./pages-start.js",
  demographics: "./pages-start.js",
  instructions: "./pages-start.js",
  check: "./pages-start.js",
  done: "./pages-end.js",
  declined: "./pages-end.js",
  withdrawn: "./pages-end.js",
  full: "./pages-end.js",
  ended: "./pages-end.js",
  before: "./pages-ratings.js",
  stars: "./pages-ratings.js",
  rankings: "./pages-ratings.js",
  training: "./pages-prediction.js",
  choice: "./pages-prediction.js",
  regions: "./pages-attention.js",
  words: "./pages-attention.js",
  goodness: "./pages-attention.js",
};

let { csrf } = document.body.dataset;
let state = null;
let key = ""; // of the answer to this page
let clock = null; // time on this page while it was seen
let sending = false;
let shown = 0; // counts pages, so that a slow one does not overwrite a newer one

/** Seconds that a page was in sight; goes on where it stopped when the page is opened again. */
function stopwatch(before) {
  let total = before;
  let since = document.hidden ? null : performance.now();
  return {
    seconds: () => total + (since === null ? 0 : (performance.now() - since) / 1000),
    run(on) {
      if (on && since === null) since = performance.now();
      else if (!on && since !== null) {
        total += (performance.now() - since) / 1000;
        since = null;
      }
    },
  };
}

function saveDraft(content) {
  if (!state?.step || !clock) return;
  const old = kept.get(DRAFT);
  const same = old?.step === state.step.id;
  kept.set(DRAFT, {
    step: state.step.id,
    seconds: clock.seconds(),
    content: content ?? (same ? old.content : null),
  });
}

function waiting(on) {
  line.hidden = !on;
  line.textContent = on ? t("connection.kept") : "";
  if (!on) say(t("connection.sent"));
}

function header() {
  const { progress, study } = state;
  const working = !["done", "declined", "withdrawn", "full", "ended"].includes(state.step.kind);
  const bar = document.getElementById("way");
  const where = document.getElementById("where");
  bar.max = Math.max(1, progress.of);
  bar.value = progress.done;
  bar.setAttribute("aria-valuetext", t("progress.of", { done: progress.done, of: progress.of }));
  const begun = progress.done > 0 || ["before", "stars", "training", "choice", "regions", "words",
    "goodness", "rankings"].includes(state.step.kind);
  const parts = [];
  if (working && begun) parts.push(t("progress.of", { done: progress.done, of: progress.of }));
  if (working && begun && progress.minutes_left !== null) {
    parts.push(
      progress.minutes_left < 1.5
        ? t("progress.nearly")
        : t("progress.left", { minutes: Math.round(progress.minutes_left) }),
    );
  }
  where.replaceChildren(...parts.map((part) => el("span", null, part)));
  bar.hidden = !working;
  document.getElementById("pause").hidden = !working;
  document.title = `${t(`title.${state.step.kind}`)} · ${study.title}`;
}

async function render(next, notice) {
  shown += 1;
  const turn = shown;
  state = next;
  csrf = state.csrf ?? csrf;
  const { step } = state;
  const page = PAGES[step.kind];
  if (!page) throw new Error(`no page shows ${step.kind}`);
  const module = await import(page);
  if (turn !== shown) return;
  const draft = kept.get(DRAFT);
  const same = draft?.step === step.id;
  key = newKey();
  clock = stopwatch(same ? draft.seconds : 0);
  const view = module[step.kind](step, {
    draft: same ? draft.content : null,
    save: saveDraft,
    study: state.study,
  });
  header();
  const problem = el("p", { class: "problem", id: "problem", role: "alert", hidden: true });
  const form = el("form", { novalidate: true, class: `step-${step.kind}` }, view.node, problem);
  if (view.answer) {
    form.append(
      el(
        "div",
        { class: "actions" },
        el("button", { type: "submit", class: "main" }, view.label ?? t("next")),
        view.other
          ? el("button", { type: "button", onclick: () => send(view, view.other.answer()) }, view.other.label)
          : null,
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const found = view.problem?.();
      if (found) complain(found);
      else send(view, view.answer());
    });
  }
  show(place, notice ? el("div", { class: "notice warm", role: "status" }, notice) : "", form);
  const heading = place.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
  view.shown?.();
  for (const src of state.next_pictures ?? []) new Image().src = src;
}

function complain({ text, focus }) {
  const problem = document.getElementById("problem");
  problem.hidden = false;
  problem.textContent = text;
  focus?.();
}

function busy(on) {
  sending = on;
  const button = place.querySelector("button[type=submit]");
  button?.setAttribute("aria-disabled", String(on));
}

/** Send an answer; a second click while the first one is on its way does nothing. */
async function send(view, answer) {
  if (sending) return;
  document.getElementById("problem").hidden = true;
  saveDraft();
  const parcel = {
    step: state.step.id,
    key,
    seconds: Math.round(clock.seconds() * 1000) / 1000,
    answer,
  };
  kept.set(OUTBOX, parcel);
  await deliver(parcel);
}

async function deliver(parcel) {
  busy(true);
  try {
    const reply = await insist(() => post(`${address}/answer`, csrf, parcel), waiting);
    kept.remove(OUTBOX);
    kept.remove(DRAFT);
    busy(false);
    await render(reply.state);
  } catch (failure) {
    busy(false);
    await refused(failure, parcel);
  }
}

async function refused(failure, parcel) {
  if (!(failure instanceof Refused)) throw failure;
  if (failure.code === "csrf" && !parcel.renewed) {
    const fresh = await insist(() => ask(address), waiting);
    csrf = fresh.csrf;
    await deliver({ ...parcel, renewed: true });
    return;
  }
  kept.remove(OUTBOX);
  if (failure.status === 422 && state) {
    const field = failure.field
      ? place.querySelector(`[data-question="${CSS.escape(failure.field)}"] :is(input, textarea, button)`)
      : null;
    complain({ text: failure.message, focus: () => field?.focus() });
    return;
  }
  if (failure.state) {
    kept.remove(DRAFT);
    await render(failure.state, failure.message);
    return;
  }
  show(place, el("h1", null, t("error.title")), ...paragraphs(failure.message));
}

async function open() {
  const parcel = kept.get(OUTBOX);
  if (parcel) {
    await deliver(parcel);
    return;
  }
  try {
    const [next] = await Promise.all([insist(() => ask(address), waiting)]);
    await render(next);
  } catch (failure) {
    await refused(failure, {});
  }
}

function prepareDialog() {
  const dialog = document.getElementById("break");
  const leave = document.getElementById("leave");
  document.getElementById("pause").addEventListener("click", () => {
    saveDraft();
    clock?.run(false);
    leave.hidden = state?.can_withdraw === false;
    leave.open = false;
    place.hidden = true;
    dialog.showModal();
  });
  dialog.addEventListener("close", () => {
    place.hidden = false;
    clock?.run(true);
  });
  document.getElementById("go-on").addEventListener("click", () => dialog.close());
  document.getElementById("withdraw").addEventListener("click", async () => {
    try {
      const reply = await insist(() => post(`${address}/withdraw`, csrf, { confirm: true }), waiting);
      kept.remove(OUTBOX);
      kept.remove(DRAFT);
      dialog.close();
      await render(reply.state);
    } catch (failure) {
      dialog.close();
      await refused(failure, { renewed: true });
    }
  });
}

document.addEventListener("visibilitychange", () => {
  if (!document.getElementById("break").open) clock?.run(!document.hidden);
  if (document.hidden) saveDraft();
});
window.addEventListener("pagehide", () => saveDraft());
// Back from the browser's memory: what it kept may be old.
window.addEventListener("pageshow", (event) => {
  if (event.persisted && !sending) open();
});

/** Whatever goes wrong on a page is said on it; what was answered is kept. */
function broken() {
  sending = false;
  show(
    place,
    el("h1", null, t("error.title")),
    el("p", null, t("error.page")),
    el(
      "div",
      { class: "actions" },
      el("button", { type: "button", class: "main", onclick: () => window.location.reload() }, t("error.reload")),
    ),
  );
}

window.addEventListener("unhandledrejection", broken);

await loadStrings(`/static/texts.en.json?v=${encodeURIComponent(version)}`);
prepareDialog();
await open().catch(broken);
