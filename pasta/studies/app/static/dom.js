// Small helpers to build pages. Text always becomes text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, String(value));
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An element with attributes (`onclick` and the like are listeners) and children. */
export function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for a drawing. */
export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

let count = 0;

/** An id that no other element of this page has. */
export function newId(stem) {
  count += 1;
  return `${stem}-${count}`;
}

/** Tell a screen reader something without moving the focus. */
export function say(text) {
  const place = document.getElementById("said");
  if (!place) return;
  // The same words twice are read twice only if the text changes in between.
  place.textContent = place.textContent === text ? `${text}\u00a0` : text;
}

/** Put something new in place of what a node holds, and start reading at its top. */
export function show(place, ...children) {
  place.replaceChildren(...children);
  window.scrollTo(0, 0);
}

/** Text with its blank lines as paragraphs. */
export function paragraphs(text) {
  return text.split(/\n\s*\n/).map((part) => el("p", null, part.trim()));
}
