// A ranking that starts empty: items wait in a pool and are put into places by buttons, by drag
// (mouse, pen, finger) or by keys. An untouched list is therefore never an answer.

import { el, newId, say } from "./dom.js";
import { t } from "./strings.js";

/**
 * `question`: {id, wording, note, help, lowest, highest, items: [{id, text}]}.
 * Returns {node, value(), focus()}; value() is null until every item has a place.
 */
export function rankingQuestion(question, start, changed) {
  const all = new Map(question.items.map((item) => [item.id, item]));
  let placed = (start ?? []).filter((id) => all.has(id));
  const title = newId("ranking");
  const list = el("ol", { class: "places", "aria-label": t("ranking.places") });
  const pool = el("ul", { class: "pool", "aria-label": t("ranking.pool") });
  const rest = el("p", { class: "hint", "aria-live": "polite" });

  function label(item) {
    const name = item.text && item.text !== item.id;
    return el(
      "span",
      { class: "item-text" },
      el("b", null, item.id),
      name ? el("span", null, item.text) : null,
    );
  }

  function move(id, place) {
    placed = placed.filter((other) => other !== id);
    if (place !== null) placed.splice(Math.max(0, Math.min(place, placed.length)), 0, id);
    draw();
    changed(value());
    say(
      place === null
        ? t("ranking.taken_out", { item: id })
        : t("ranking.moved", { item: id, place: placed.indexOf(id) + 1, places: all.size }),
    );
  }

  function button(text, name, action, disabled = false) {
    return el(
      "button",
      { type: "button", class: "small", "aria-label": name, title: name, disabled, onclick: action },
      text,
    );
  }

  function keep(id, which) {
    const node = list.querySelector(`[data-item="${CSS.escape(id)}"]`);
    const wanted = node?.querySelector(`[data-move="${which}"]:not(:disabled)`);
    (wanted ?? node?.querySelector("button:not(:disabled)"))?.focus();
  }

  function placedItem(id, place) {
    const item = all.get(id);
    const up = button(
      "↑",
      t("ranking.up", { item: id }),
      () => {
        move(id, place - 1);
        keep(id, "up");
      },
      place === 0,
    );
    const down = button(
      "↓",
      t("ranking.down", { item: id }),
      () => {
        move(id, place + 1);
        keep(id, "down");
      },
      place === placed.length - 1,
    );
    const out = button("✕", t("ranking.out", { item: id }), () => {
      move(id, null);
      pool.querySelector(`[data-item="${CSS.escape(id)}"] button`)?.focus();
    });
    up.dataset.move = "up";
    down.dataset.move = "down";
    const node = el(
      "li",
      { class: "place", "data-item": id },
      el("span", { class: "number", "aria-hidden": "true" }, place + 1),
      el("span", { class: "grip", "aria-hidden": "true" }, "⠿"),
      label(item),
      el("span", { class: "moves" }, up, down, out),
    );
    node.addEventListener("keydown", (event) => {
      if (!event.altKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      const by = event.key === "ArrowUp" ? -1 : 1;
      move(id, placed.indexOf(id) + by);
      keep(id, by < 0 ? "up" : "down");
    });
    draggable(node, id);
    return node;
  }

  function poolItem(item) {
    const place = () => {
      const waiting = [...all.keys()].filter((id) => !placed.includes(id));
      const next = waiting[waiting.indexOf(item.id) + 1] ?? waiting.find((id) => id !== item.id);
      move(item.id, placed.length);
      const node = next ? pool.querySelector(`[data-item="${CSS.escape(next)}"] button`) : null;
      if (node) node.focus();
      else keep(item.id, "up");
    };
    const node = el(
      "li",
      { class: "place waiting", "data-item": item.id },
      el("span", { class: "grip", "aria-hidden": "true" }, "⠿"),
      label(item),
      el(
        "span",
        { class: "moves" },
        button(
          t("ranking.put", { place: placed.length + 1 }),
          t("ranking.put_item", { item: item.id, place: placed.length + 1 }),
          place,
        ),
      ),
    );
    draggable(node, item.id);
    return node;
  }

  // A drag holds the item under the pointer; where it is let go decides its place.
  function draggable(node, id) {
    const grip = node.querySelector(".grip");
    grip.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    node.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.target.closest("button")) return;
      if (event.pointerType !== "mouse" && !event.target.closest(".grip")) return;
      event.preventDefault();
      const from = { x: event.clientX, y: event.clientY };
      let moving = false;
      node.setPointerCapture(event.pointerId);
      const target = (at) => {
        const area = list.getBoundingClientRect();
        if (at.clientY > area.bottom + 24 || at.clientY < area.top - 24) return null;
        const others = [...list.children].filter((one) => one.dataset.item && one !== node);
        return others.filter((one) => {
          const box = one.getBoundingClientRect();
          return box.top + box.height / 2 < at.clientY;
        }).length;
      };
      const drag = (at) => {
        moving ||= Math.hypot(at.clientX - from.x, at.clientY - from.y) > 5;
        if (!moving) return;
        node.classList.add("held");
        node.style.transform = `translate(${at.clientX - from.x}px, ${at.clientY - from.y}px)`;
        list.classList.toggle("open", target(at) !== null);
      };
      const stop = (at) => {
        node.removeEventListener("pointermove", drag);
        node.removeEventListener("pointerup", stop);
        node.removeEventListener("pointercancel", stop);
        node.classList.remove("held");
        node.style.transform = "";
        list.classList.remove("open");
        if (!moving || at.type === "pointercancel") return;
        const place = target(at);
        if (place !== null || placed.includes(id)) move(id, place);
      };
      node.addEventListener("pointermove", drag);
      node.addEventListener("pointerup", stop);
      node.addEventListener("pointercancel", stop);
    });
  }

  function draw() {
    list.replaceChildren(...placed.map(placedItem));
    for (let place = placed.length; place < all.size; place += 1) {
      list.append(el("li", { class: "place empty", "aria-hidden": "true" }, place + 1));
    }
    const waiting = question.items.filter((item) => !placed.includes(item.id));
    pool.replaceChildren(...waiting.map(poolItem));
    pool.hidden = waiting.length === 0;
    rest.textContent = waiting.length
      ? t("ranking.left", { left: waiting.length })
      : t("ranking.complete");
  }

  function value() {
    return placed.length === all.size ? [...placed] : null;
  }

  draw();
  const node = el(
    "fieldset",
    { class: "question ranking", "data-question": question.id, "aria-describedby": title },
    el("legend", null, question.wording),
    el("p", { class: "hint", id: title }, question.help ?? "", " ", t("ranking.how")),
    rest,
    el(
      "div",
      { class: "ranking-columns" },
      el(
        "div",
        null,
        el("p", { class: "end" }, `1 · ${question.lowest}`),
        list,
        el("p", { class: "end" }, `${all.size} · ${question.highest}`),
      ),
      el("div", null, pool),
    ),
  );
  return {
    node,
    value,
    partial: () => [...placed],
    focus: () => (pool.querySelector("button") ?? list.querySelector("button"))?.focus(),
  };
}
