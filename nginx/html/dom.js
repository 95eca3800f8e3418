/* Making elements. Text only: what a program sends back must never be read
   as markup. */

export const $ = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    made.setAttribute(key, value);
  made.append(...content);  // strings become text
  return made;
}

/* Text from outside: a mark in it that turns the direction of writing ends with
   it. As an element, and for sentences. */
export const isolate = (text) => element("bdi", {}, text);
export const isolated = (text) => `\u2068${text}\u2069`;

export const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

export function bytes(n) {
  if (n < 1024) return count(n, "byte");
  const unit = Math.min(Math.floor(Math.log2(n) / 10), 3);
  return `${Number((n / 1024 ** unit).toFixed(1))} ${"KMG"[unit - 1]}iB`;
}
