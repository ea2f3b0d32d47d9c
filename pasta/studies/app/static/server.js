// Talking to the server so that no answer is lost and none counts twice: an answer is kept on this
// device until the server has said that it has it, and is sent again with the same key.

const LONGEST_WAIT = 30; // seconds between two tries

/** A key that nobody else makes; `crypto.randomUUID` needs https, this does not. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** What is kept on this device; a browser that keeps nothing still takes part. */
export const kept = {
  get(name) {
    try {
      return JSON.parse(localStorage.getItem(name));
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(name, JSON.stringify(value));
    } catch {
      // Private windows and full disks refuse; the page itself still has the answer.
    }
  },
  remove(name) {
    try {
      localStorage.removeItem(name);
    } catch {
      // As above.
    }
  },
};

/** The server said no, in words for a person. */
export class Refused extends Error {
  constructor(status, body) {
    const error = body?.error ?? {};
    super(error.message ?? `${status}`);
    this.status = status;
    this.code = error.code ?? "";
    this.field = error.field ?? null;
    this.state = body?.state ?? null;
  }
}

/** The server was not reached, or not well: worth another try after `wait` seconds. */
export class Unreached extends Error {
  constructor(wait) {
    super("unreached");
    this.wait = wait;
  }
}

export async function ask(address, options = {}) {
  let answer;
  try {
    answer = await fetch(address, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new Unreached(0);
  }
  if (answer.status >= 500 || answer.status === 429) {
    throw new Unreached(Number(answer.headers.get("Retry-After")) || 0);
  }
  let body = null;
  try {
    body = await answer.json();
  } catch {
    if (answer.ok) throw new Unreached(0); // cut off on the way
  }
  if (!answer.ok) throw new Refused(answer.status, body);
  return body;
}

export function post(address, csrf, body) {
  return ask(address, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf },
    body: JSON.stringify(body),
  });
}

function pause(seconds) {
  return new Promise((resolve) => {
    const stop = () => {
      clearTimeout(timer);
      window.removeEventListener("online", stop);
      resolve();
    };
    const timer = setTimeout(stop, seconds * 1000);
    window.addEventListener("online", stop);
  });
}

/**
 * Do something until the server was reached: `waiting(true)` is called at the first failure and
 * `waiting(false)` when it is over. What the server refuses is raised.
 */
export async function insist(action, waiting) {
  let told = false;
  for (let wait = 1; ; wait = Math.min(wait * 2, LONGEST_WAIT)) {
    try {
      const result = await action();
      if (told) waiting(false);
      return result;
    } catch (failure) {
      if (!(failure instanceof Unreached)) {
        if (told) waiting(false);
        throw failure;
      }
      if (!told) waiting(true);
      told = true;
      await pause(Math.max(wait, failure.wait));
    }
  }
}
