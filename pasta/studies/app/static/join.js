// A public link: gives a person a link of their own, once for a browser.

import { Refused, insist, kept, post } from "./server.js";
import { loadStrings, t } from "./strings.js";

const { token, csrf, version } = document.body.dataset;
const OWN = `pasta-own-link-${token}`;
const button = document.getElementById("join");
const known = document.getElementById("known");
const line = document.getElementById("connection");
const problem = document.getElementById("problem");

await loadStrings(`/static/texts.en.json?v=${encodeURIComponent(version)}`);

const own = kept.get(OWN);
if (typeof own === "string" && own.startsWith("/t/")) {
  known.href = own;
  known.hidden = false;
}

button.addEventListener("click", async () => {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  try {
    const { link } = await insist(
      () => post(`/api/j/${encodeURIComponent(token)}`, csrf, {}),
      (on) => {
        line.hidden = !on;
        line.textContent = on ? t("join.waiting") : "";
      },
    );
    kept.set(OWN, link);
    window.location.assign(link);
  } catch (failure) {
    if (!(failure instanceof Refused)) throw failure;
    problem.textContent = failure.message;
    problem.hidden = false;
    button.setAttribute("aria-disabled", "false");
  }
});
