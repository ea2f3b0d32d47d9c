// Marking words and phrases of a text: touch or click a word, drag over several, or use keys.

import { el, newId, say } from "./dom.js";
import { t } from "./strings.js";

/**
 * `words`: the words of the text in order; `start`: indices that are marked already. Returns
 * {node, value(), focus()}; value() holds indices in order.
 */
export function markWords(words, name, start, changed) {
  const marked = new Set(start ?? []);
  const how = newId("how");
  let here = 0; // the word that the keys are at
  let anchor = null; // where a drag or a selection with Shift began
  let before = null; // what was marked when it began
  const count = el("p", { class: "hint", role: "status" });

  const nodes = words.map((word, index) =>
    el(
      "span",
      { role: "option", class: "word", "data-index": index, "aria-selected": "false" },
      word,
    ),
  );
  const text = el(
    "div",
    {
      class: "words",
      role: "listbox",
      "aria-multiselectable": "true",
      "aria-label": name,
      "aria-describedby": how,
      tabindex: 0,
    },
    ...nodes.flatMap((node) => [node, " "]),
  );
  nodes.forEach((node) => {
    node.id = newId("word");
  });

  function paint() {
    nodes.forEach((node, index) => {
      node.setAttribute("aria-selected", String(marked.has(index)));
      node.classList.toggle("joined", marked.has(index) && marked.has(index + 1));
      node.classList.toggle("here", index === here);
    });
    text.setAttribute("aria-activedescendant", nodes[here]?.id ?? "");
    count.textContent = t("words.count", { count: marked.size });
  }

  function span(from, to, on) {
    marked.clear();
    for (const index of before) marked.add(index);
    for (let k = Math.min(from, to); k <= Math.max(from, to); k += 1) {
      if (on) marked.add(k);
      else marked.delete(k);
    }
    paint();
  }

  function told() {
    changed(value());
    say(t("words.count", { count: marked.size }));
  }

  const wordAt = (event) => {
    const node = document.elementFromPoint(event.clientX, event.clientY)?.closest?.(".word");
    return node && text.contains(node) ? Number(node.dataset.index) : null;
  };

  let on = true;
  text.addEventListener("pointerdown", (event) => {
    const index = wordAt(event);
    if (index === null || event.button !== 0 || !event.isPrimary) return;
    // A finger scrolls; what it touches is marked when it leaves without having scrolled.
    if (event.pointerType !== "touch") {
      event.preventDefault();
      text.focus({ preventScroll: true });
    }
    here = index;
    anchor = index;
    before = new Set(marked);
    on = !marked.has(index);
    if (event.pointerType !== "touch") span(index, index, on);
  });
  text.addEventListener("pointermove", (event) => {
    if (anchor === null || event.pointerType === "touch") return;
    const index = wordAt(event);
    if (index === null || index === here) return;
    here = index;
    span(anchor, index, on);
  });
  const end = (event) => {
    if (anchor === null) return;
    if (event.type === "pointerup") {
      if (event.pointerType === "touch") span(anchor, wordAt(event) ?? anchor, on);
      told();
    } else if (event.pointerType !== "touch") span(anchor, here, on);
    anchor = null;
  };
  window.addEventListener("pointerup", end);
  window.addEventListener("pointercancel", end);

  const steps = { ArrowLeft: -1, ArrowRight: 1 };
  function below(by) {
    // The nearest word of the line above or below.
    const box = nodes[here].getBoundingClientRect();
    const middle = box.left + box.width / 2;
    let best = here;
    let least = Infinity;
    nodes.forEach((node, index) => {
      const other = node.getBoundingClientRect();
      const lines = (other.top - box.top) * by;
      if (lines <= box.height / 2) return;
      const far = lines * 1000 + Math.abs(other.left + other.width / 2 - middle);
      if (far < least) [least, best] = [far, index];
    });
    return best;
  }

  text.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    let to = null;
    if (event.key in steps) to = here + steps[event.key];
    else if (event.key === "ArrowDown") to = below(1);
    else if (event.key === "ArrowUp") to = below(-1);
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = words.length - 1;
    else if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      before = new Set(marked);
      span(here, here, !marked.has(here));
      told();
      return;
    } else return;
    event.preventDefault();
    to = Math.max(0, Math.min(words.length - 1, to));
    if (event.shiftKey) {
      if (!text.dataset.from) {
        text.dataset.from = String(here);
        before = new Set(marked);
      }
      here = to;
      span(Number(text.dataset.from), here, true);
      told();
    } else {
      delete text.dataset.from;
      here = to;
      paint();
    }
    nodes[here].scrollIntoView({ block: "nearest" });
  });

  function value() {
    return [...marked].sort((a, b) => a - b);
  }

  const clear = el(
    "button",
    {
      type: "button",
      class: "small",
      onclick: () => {
        marked.clear();
        paint();
        told();
      },
    },
    t("words.clear"),
  );
  paint();
  const node = el(
    "div",
    { class: "marking" },
    text,
    el("div", { class: "tools" }, count, clear),
    el(
      "details",
      { class: "hint" },
      el("summary", null, t("words.keys_title")),
      el("p", { id: how }, t("words.keys")),
    ),
  );
  return { node, value, focus: () => text.focus() };
}
