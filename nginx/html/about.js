/* What a program can use, as the service tells it at GET /about. */

import { bytes, element, isolate } from "./dom.js";

const seconds = (n) => `${n} s`;
const LIMITS = [
  ["timeout", "Time", seconds], ["memory", "Memory", bytes],
  ["processes", "Processes and threads", String],
  ["work_size", "Working directory", bytes],
  ["max_body", "A job with its files", bytes],
  ["max_output", "Output kept", bytes], ["max_figures", "Figures", String],
  ["max_files", "Files", String], ["max_file_bytes", "All files", bytes],
  ["fmp_calls", "Market-data calls", String],
];

/* A list of terms, each with what is said of it. */
const terms = (kind, entries) => element("dl", { class: kind },
  ...entries.flatMap(([term, said]) =>
    [element("dt", {}, term), element("dd", {}, isolate(said))]));

const heading = (text) => element("h2", {}, text);

/* Without a warm interpreter, the service knows its limits alone. */
export function showAbout(place, { python, libraries, helpers, limits }) {
  const parts = [heading("Limits"), terms("words",
    LIMITS.map(([key, title, unit]) => [title, unit(limits[key])]))];
  if (helpers) {
    const [methods, functions] = [true, false].map((wanted) =>
      helpers.filter((helper) => helper.name.includes(".") === wanted)
        .map((helper) => [helper.signature ?? helper.name, helper.summary]));
    parts.unshift(heading("Helpers"), terms("long", functions),
      element("details", {}, element("summary", {}, "Their methods"),
        terms("long", methods)));
  }
  if (libraries) {
    // Of two names for one, the short one.
    const listed = libraries.filter(({ name, alias }) => name !== alias
      || !libraries.some((other) => other.name === name
                                    && other.alias !== name));
    parts.unshift(heading(`Python ${python} and libraries`),
      element("p", { class: "hint" }, "All are there without an import."),
      terms("code", listed.map(({ name, alias, version }) =>
        [name === alias ? name : `${name} as ${alias}`, version ?? ""])));
  }
  place.replaceChildren(...parts);
}
