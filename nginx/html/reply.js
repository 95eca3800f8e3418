/* The reply, part by part as it comes. */

import { $, bytes, count, element, isolate, isolated } from "./dom.js";
import { goTo, mark } from "./editor.js";
import { Terminal } from "./terminal.js";

const PARTS = ["output", "error", "result", "figures", "files", "notes"];
const terminal = new Terminal($("output"));
let printed = [];  // as it came, for saving it
let links = [];  // object URLs of the reply that is shown

const show = (part) => { $(`${part}-part`).hidden = false; };

export function clear() {
  for (const part of PARTS) $(`${part}-part`).hidden = true;
  for (const list of ["figures", "saved", "notes", "cost"])
    $(list).replaceChildren();
  $("nothing").hidden = false;
  terminal.clear();
  printed = [];
  $("output-save").hidden = true;
  mark(null);
  links.forEach(URL.revokeObjectURL);
  links = [];
}

/* One event of a run. */
export function receive(event, data) {
  $("nothing").hidden = true;
  ({ output, figure, file, done })[event]?.(data);
}

function output({ text }) {
  show("output");
  printed.push(text);
  terminal.write(text);
}

/* A URL for what came. Never of the type that the program claims: opened in a
   tab, an HTML file would be a page of this site. */
function urlOf(content, type = "application/octet-stream") {
  const url = URL.createObjectURL(new Blob(content, { type }));
  links.push(url);
  return url;
}

function decode(base64) {
  const text = atob(base64), raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) raw[i] = text.charCodeAt(i);
  return [raw];
}

function figure(data) {
  show("figures");
  const number = $("figures").childElementCount + 1;
  const title = `Figure ${number}`, download = `figure-${number}.png`;
  const href = urlOf(decode(data), "image/png");
  const button = element("button", { type: "button", class: "enlarge",
                                     title: "Enlarge" },
    element("img", { src: href,
                     alt: `${title}, drawn by the program: enlarge` }));
  button.addEventListener("click", () => enlarge(title, href, download));
  $("figures").append(element("figure", {}, button,
    element("figcaption", {}, title, element("a", { href, download,
      "aria-label": `Save ${title} as PNG` }, "Save PNG"))));
}

function enlarge(title, href, download) {
  $("large-title").textContent = title;
  $("large-image").src = href;
  $("large-image").alt = `${title}, drawn by the program`;
  Object.assign($("large-save"), { href, download });
  $("large").showModal();
}
$("large-close").addEventListener("click", () => $("large").close());
/* A click beside it closes, too. */
$("large").addEventListener("click", ({ target }) => {
  if (target === $("large")) $("large").close();
});

function file({ name, size, data }) {
  show("files");
  $("saved").append(element("li", {},
    element("a", { href: urlOf(decode(data)),
                   download: name.replace(/\//g, "_") }, isolate(name)),
    element("span", { class: "hint" }, bytes(size))));
}

/* A traceback whose places in the program lead to the editor. */
function traceback(text) {
  const parts = text.split(/(?<=^\s*File "main\.py", )line (\d+)/m);
  return parts.map((part, index) => {
    if (index % 2 === 0) return part;
    const link = element("button", { type: "button", class: "link",
                                     title: "Go to it in the editor" },
      `line ${part}`);
    link.addEventListener("click", () => goTo(Number(part)));
    return link;
  });
}

function showError(error) {
  show("error");
  $("error-title").textContent = error.type ?? `Error: ${error.kind}`;
  $("error-message").textContent = error.message;
  $("traceback").hidden = !error.traceback;
  $("traceback").replaceChildren(...traceback(error.traceback ?? ""));
  mark(error.line);
}

function done(reply) {
  terminal.show();
  $("output-save").href = urlOf(printed);
  $("output-save").hidden = false;
  if (reply.error) showError(reply.error);
  if (reply.result !== null) {
    show("result");
    $("result").textContent = reply.result;
  }
  if (reply.notes.length) show("notes");
  $("notes").append(...reply.notes.map((note) =>
    element("li", {}, isolate(note))));

  const cost = [`${reply.seconds.toFixed(2)} s`,
    `${reply.cpu_seconds.toFixed(2)} s of processor time`];
  if (reply.peak_memory) cost.push(`${bytes(reply.peak_memory)} of memory`);
  if (reply.market.length)
    cost.push(count(reply.market.length, "market-data call"));
  $("cost").textContent = `${cost.join(" · ")} · run ${reply.id}`;
}

/* A sentence on how the run ended. */
export function summary({ error, result }) {
  const got = [
    !$("output-part").hidden && "output", result !== null && "a result",
    count($("figures").childElementCount, "figure"),
    count($("saved").childElementCount, "file"),
  ].filter((part) => part && !part.startsWith("0 ")).join(", ");
  let end = "Finished";
  if (["empty", "figure", "limit"].includes(error?.kind))
    end += ", but see the error";
  else if (error)
    end = `Ended with ${isolated(error.type ?? error.kind)}`
      + (error.line ? ` in line ${error.line}` : "");
  return `${end}${got ? `: ${got}` : ""}.`;
}
