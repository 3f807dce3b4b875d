// The REST API of the server and its events. The key, where one is needed, stays in this tab.

const KEY = "stitch-key";
const base = document.baseURI.split("#")[0];

export class Failure extends Error {
  constructor(status, told) {
    super(told.message || `the server answered ${status}`);
    this.status = status;
    this.hint = told.hint || "";
  }
}

export function useKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

function headers(more = {}) {
  const key = sessionStorage.getItem(KEY);
  return key ? { Authorization: `Bearer ${key}`, ...more } : more;
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(new URL(path, base), options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, { message: "The server cannot be reached.", hint: "Begin it again, then try once more." });
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => ({}));
  if (response.status === 401) dispatchEvent(new CustomEvent("key-needed", { detail: told.message }));
  throw new Failure(response.status, told);
}

export async function ask(path, given = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  const response = await send(`v1/${path}?${query}`, { headers: headers(), signal });
  return response.json();
}

export async function tell(path, body, signal = undefined) {
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined && value !== ""));
  const response = await send(`v1/${path}`, {
    method: "POST",
    headers: headers({ "Content-Type": "application/json" }),
    body: JSON.stringify(given),
    signal,
  });
  return response.json();
}

// All pages of a list.
export async function all(path, listed, given = {}, signal = undefined) {
  const rows = [];
  let after;
  do {
    const page = await ask(path, { limit: 1000, ...given, after }, signal);
    rows.push(...page[listed]);
    after = page.next;
  } while (after);
  return rows;
}

// What happens, as it happens. It begins again after a break, and tells then that something may have been missed.
export async function follow(heard, signal) {
  let last;
  while (!signal.aborted) {
    try {
      const response = await send("v1/events", { headers: headers(last ? { "Last-Event-ID": last } : {}), signal });
      heard("connected", {});
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text = (text + value).replaceAll("\r\n", "\n");
        const parts = text.split("\n\n");
        text = parts.pop();
        for (const part of parts) {
          const fields = Object.fromEntries(
            part
              .split("\n")
              .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
          );
          if (fields.id) last = fields.id;
          if (fields.event) heard(fields.event, JSON.parse(fields.data || "{}"));
        }
      }
    } catch (error) {
      if (signal.aborted || error.status === 401 || error.status === 403) return;
    }
    heard("disconnected", {});
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}
