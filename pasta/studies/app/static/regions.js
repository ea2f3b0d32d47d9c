// Marking regions on a picture: a lasso or boxes, by mouse, pen, finger or keys.
//
// All coordinates are pixels of the picture, from its upper left corner.

import { el, newId, say, svg } from "./dom.js";
import { area, corners, simple, thinner } from "./shapes.js";
import { t } from "./strings.js";

const LEAST = 4; // square pixels on the screen under which a region is a slip of the hand

const text = (points) => points.map(([x, y]) => `${x},${y}`).join(" ");
const round = (value) => Math.round(value * 10) / 10;

/**
 * `picture`: {src, alt, width, height}; `tools`: some of "lasso" and "box"; `start`: regions
 * [{shape: "polygon"|"box", points}]. Returns {node, value(), focus()}.
 */
export function regionPicture(picture, tools, start, changed) {
  const { width, height } = picture;
  let regions = [...(start ?? [])];
  let tool = tools[0];
  let drawn = []; // the corners of the region that is being drawn
  let cursor = null; // where the keys are
  let byPointer = false;
  const how = newId("how");

  const done = svg("g", { class: "done" });
  const now = svg("g", { class: "now" });
  const cross = svg("g", { class: "cross" });
  const canvas = svg(
    "svg",
    {
      class: "marks",
      viewBox: `0 0 ${width} ${height}`,
      tabindex: 0,
      role: "application",
      "aria-label": t("regions.picture", { alt: picture.alt }),
      "aria-describedby": how,
      "aria-roledescription": t("regions.role"),
    },
    done,
    now,
    cross,
  );
  const image = el("img", { src: picture.src, alt: picture.alt, width, height, draggable: "false" });
  const list = el("ol", { class: "region-list", "aria-label": t("regions.list") });

  function place(event) {
    const box = canvas.getBoundingClientRect();
    const inside = (value, high) => Math.max(0, Math.min(high, round(value)));
    return [
      inside(((event.clientX - box.left) / box.width) * width, width),
      inside(((event.clientY - box.top) / box.height) * height, height),
    ];
  }

  function pixel() {
    const box = canvas.getBoundingClientRect();
    return box.width ? width / box.width : 1;
  }

  function add(shape, points) {
    drawn = [];
    const enough = points.length >= 3 && Math.abs(area(points)) >= LEAST * pixel() ** 2;
    if (enough) {
      regions = [...regions, { shape, points: points.map(([x, y]) => [round(x), round(y)]) }];
      changed(regions);
    }
    draw();
    say(enough ? t("regions.added", { count: regions.length }) : t("regions.too_small"));
  }

  function remove(index) {
    regions = regions.filter((_, k) => k !== index);
    changed(regions);
    draw();
    say(t("regions.removed", { count: regions.length }));
  }

  function finish() {
    if (tool === "box") {
      if (drawn.length === 2) add("box", corners(drawn[0], drawn[1]));
    } else if (drawn.length >= 3) {
      add("polygon", simple(byPointer ? thinner(drawn, pixel()) : drawn));
    } else {
      drawn = [];
      draw();
    }
  }

  // Pointer: press, draw, let go. A finger that draws does nothing else: else a browser may take
  // a quick stroke for the start of a scroll and swallow the next tap.
  canvas.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !event.isPrimary) return;
    event.preventDefault();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    cursor = null;
    byPointer = true;
    drawn = [place(event)];
    draw();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!byPointer || drawn.length === 0) return;
    if (tool === "box") {
      drawn = [drawn[0], place(event)];
    } else {
      const moves = event.getCoalescedEvents?.() ?? [];
      drawn = [...drawn, ...(moves.length ? moves : [event]).map(place)];
    }
    draw();
  });
  const letGo = (event) => {
    if (!byPointer || drawn.length === 0) return;
    if (event.type === "pointercancel") drawn = [];
    finish();
    drawn = [];
    byPointer = false;
    draw();
  };
  canvas.addEventListener("pointerup", letGo);
  canvas.addEventListener("pointercancel", letGo);

  // Keys: arrows move a cross, Enter sets a corner, the second corner ends a box and a corner set
  // on the first one (or F) ends a lasso.
  function setCorner() {
    byPointer = false;
    const [x, y] = cursor;
    if (tool === "box") {
      drawn = drawn.length === 0 ? [[x, y]] : [drawn[0], [x, y]];
      if (drawn.length === 2) finish();
      else say(t("regions.first_corner", { x: Math.round(x), y: Math.round(y) }));
    } else {
      const near = 6 * pixel();
      const closes =
        drawn.length >= 3 && Math.hypot(x - drawn[0][0], y - drawn[0][1]) <= near;
      if (closes) finish();
      else {
        drawn = [...drawn, [x, y]];
        say(t("regions.corner", { count: drawn.length, x: Math.round(x), y: Math.round(y) }));
      }
    }
    draw();
  }

  const keys = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, -1],
    ArrowDown: [0, 1],
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in keys) {
      const [dx, dy] = keys[event.key];
      const step = Math.max(width, height) / (event.shiftKey ? 100 : 20);
      const [x, y] = cursor ?? [width / 2, height / 2];
      cursor = [
        Math.max(0, Math.min(width, round(x + dx * step))),
        Math.max(0, Math.min(height, round(y + dy * step))),
      ];
      say(t("regions.at", { x: Math.round(cursor[0]), y: Math.round(cursor[1]) }));
      draw();
    } else if (event.key === "Enter" || event.key === " ") {
      cursor ??= [width / 2, height / 2];
      setCorner();
    } else if (event.key.toLowerCase() === "f") finish();
    else if (event.key === "Escape") {
      drawn = [];
      draw();
      say(t("regions.given_up"));
    } else if (event.key === "Delete" || event.key === "Backspace") {
      if (drawn.length) {
        drawn = drawn.slice(0, -1);
        draw();
      } else if (regions.length) remove(regions.length - 1);
    } else return;
    event.preventDefault();
  });
  canvas.addEventListener("blur", () => {
    cursor = null;
    draw();
  });
  canvas.addEventListener("focus", () => {
    if (canvas.matches(":focus-visible") && !byPointer) {
      cursor = [width / 2, height / 2];
      draw();
    }
  });

  function outline(points, name) {
    // Two lines, dark and light, are seen on every picture.
    return [
      svg("polygon", { points: text(points), class: `${name} under` }),
      svg("polygon", { points: text(points), class: name }),
    ];
  }

  function draw() {
    done.replaceChildren(
      ...regions.flatMap(({ points }, k) => [
        ...outline(points, "region"),
        svg("circle", { cx: points[0][0], cy: points[0][1], r: 9 * pixel(), class: "tag" }),
        svg(
          "text",
          {
            x: points[0][0],
            y: points[0][1],
            "font-size": 12 * pixel(),
            "text-anchor": "middle",
            "dominant-baseline": "central",
          },
          String(k + 1),
        ),
      ]),
    );
    let shape = drawn;
    if (tool === "box" && drawn.length) {
      shape = corners(drawn[0], drawn[1] ?? cursor ?? drawn[0]);
    } else if (drawn.length && cursor) shape = [...drawn, cursor];
    now.replaceChildren(
      ...(shape.length ? outline(shape, "drawing") : []),
      ...(drawn.length && cursor
        ? [svg("circle", { cx: drawn[0][0], cy: drawn[0][1], r: 4 * pixel(), class: "anchor" })]
        : []),
    );
    const arm = 10 * pixel();
    cross.replaceChildren(
      ...(cursor
        ? ["under", ""].flatMap((name) => [
            svg("line", {
              x1: cursor[0] - arm,
              x2: cursor[0] + arm,
              y1: cursor[1],
              y2: cursor[1],
              class: name,
            }),
            svg("line", {
              y1: cursor[1] - arm,
              y2: cursor[1] + arm,
              x1: cursor[0],
              x2: cursor[0],
              class: name,
            }),
          ])
        : []),
    );
    list.replaceChildren(
      ...regions.map((region, k) =>
        el(
          "li",
          null,
          el("span", null, t(`regions.${region.shape}`, { number: k + 1 })),
          el(
            "button",
            {
              type: "button",
              class: "small quiet",
              "aria-label": t("regions.remove_this", { number: k + 1 }),
              onclick: () => {
                remove(k);
                (list.querySelectorAll("button")[Math.min(k, regions.length - 1)] ?? canvas).focus();
              },
            },
            t("regions.remove"),
          ),
        ),
      ),
    );
    undo.disabled = regions.length === 0;
  }

  const choose = tools.map((name) =>
    el(
      "button",
      {
        type: "button",
        class: "small",
        "aria-pressed": String(name === tool),
        onclick: (event) => {
          tool = name;
          drawn = [];
          for (const other of choose) other.setAttribute("aria-pressed", String(other === event.currentTarget));
          draw();
        },
      },
      t(`regions.tool_${name}`),
    ),
  );
  const undo = el(
    "button",
    { type: "button", class: "small", onclick: () => remove(regions.length - 1) },
    t("regions.undo"),
  );
  const node = el(
    "div",
    { class: "regions" },
    el(
      "div",
      { class: "tools", role: "group", "aria-label": t("regions.tools") },
      tools.length > 1 ? choose : null,
      undo,
    ),
    el("div", { class: "ground" }, el("div", { class: "stack" }, image, canvas)),
    list,
    el(
      "details",
      { class: "hint" },
      el("summary", null, t("regions.keys_title")),
      el("p", { id: how }, t(tools.includes("lasso") ? "regions.keys" : "regions.keys_box")),
    ),
  );
  const resized = new ResizeObserver(draw);
  resized.observe(canvas);
  draw();
  return { node, value: () => regions, focus: () => canvas.focus() };
}
