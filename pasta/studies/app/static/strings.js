// The words of the pages: one file for a language, fetched once.

import { ask, insist } from "./server.js";

let words = {};

export async function loadStrings(address) {
  words = await insist(() => ask(address, { cache: "default" }), () => {});
}

/** The text called `key`, with `{name}` replaced by what `values` holds for it. */
export function t(key, values = {}) {
  const text = words[key];
  if (text === undefined) throw new Error(`no text is called ${key}`);
  return text.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}
