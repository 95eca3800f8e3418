/* The page at /: a form that works without scripts, and what they add. Nothing
   leaves it but the run; nothing is kept in storage or in the address. */

import { showAbout } from "./about.js";
import { command } from "./command.js";
import { $, bytes, element, isolate } from "./dom.js";
import { replace } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { clear, receive, summary } from "./reply.js";
import { run } from "./stream.js";

const form = $("job"), context = $("context"), files = $("files");
let about = null;  // what the service says of itself
let abort = null;  // the running request's AbortController

for (const part of document.querySelectorAll("[data-scripted]"))
  part.hidden = false;

/* ---- Examples */

for (const [title, code, itsContext = ""] of EXAMPLES) {
  const button = element("button", { type: "button" }, title);
  button.addEventListener("click", () => {
    replace(code);
    context.value = itsContext;
    context.dispatchEvent(new Event("input", { bubbles: true }));
  });
  document.querySelector(".examples").append(button);
}

/* ---- Context: its errors while it is typed */

function contextError(text) {
  let value;
  try {
    value = JSON.parse(text.trim() || "{}");
  } catch (error) {
    return `Not JSON yet: ${error.message}.`;
  }
  if (value === null || typeof value !== "object" || Array.isArray(value))
    return 'An object is needed, such as {"rate": 0.05}.';
  const hidden = Object.keys(value).find((key) => key.startsWith("__"));
  return hidden ? `No name may begin with two underscores: ${hidden}.` : "";
}

function checkContext() {
  const wrong = contextError(context.value);
  context.setCustomValidity(wrong);
  context.setAttribute("aria-invalid", wrong !== "");
  $("context-error").textContent = wrong;
}
context.addEventListener("input", checkContext);

/* ---- Files: chosen and dropped ones together */

let chosen = [];

function setFiles(list) {
  const all = new DataTransfer();
  for (const file of list) all.items.add(file);
  chosen = list;
  files.files = all.files;
  $("chosen").replaceChildren(...list.map((file) => {
    const button = element("button", { type: "button", class: "link" },
      "Remove");
    button.setAttribute("aria-label", `Remove ${file.name}`);
    button.addEventListener("click", () => {
      setFiles(chosen.filter((other) => other !== file));
      files.focus();
    });
    return element("li", {}, isolate(file.name),
      element("span", { class: "hint" }, bytes(file.size)), button);
  }));
  const size = list.reduce((sum, file) => sum + file.size, 0);
  const most = about?.limits.max_body ?? Infinity;
  files.setCustomValidity(size < most ? ""
    : `${bytes(size)} are too many: a job may have ${bytes(most)}.`);
  update();
}

/* A second one of the same name takes the first one's place. */
const addFiles = (more) => setFiles([...chosen.filter((file) =>
  !more.some((other) => other.name === file.name)), ...more]);

files.addEventListener("change", () => addFiles([...files.files]));
for (const type of ["dragover", "dragleave", "drop"])
  document.addEventListener(type, (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();  // the browser would leave the page for the file
    event.stopPropagation();  // the editor would insert its text
    $("drop").classList.toggle("over", type === "dragover");
    if (type === "drop") addFiles([...event.dataTransfer.files]);
  }, true);

/* ---- The same job as a command */

function update() {
  if (!$("curl").open) return;
  const made = command(form);
  $("command").textContent = made.command;
  $("curl-hint").textContent = made.hint;
  $("copied").textContent = "";
}
form.addEventListener("input", update);
$("curl").addEventListener("toggle", update);

/* By selecting: navigator.clipboard is not there over plain HTTP. */
$("copy").addEventListener("click", () => {
  getSelection().selectAllChildren($("command"));
  $("copied").textContent = document.execCommand("copy")
    ? "Copied." : "It is selected: copy it with the keyboard.";
});

/* ---- Running */

function say(text, wrong = false) {
  $("status").className = wrong ? "wrong" : "";
  $("status").textContent = text;
}

/* Show the time used until the function that it returns is called, which
   gives it. */
function startClock() {
  const started = performance.now();
  const limit = Number($("timeout").value) || about?.limits.timeout;
  const used = () => (performance.now() - started) / 1e3;
  const tick = () => {
    $("elapsed").textContent = `${used().toFixed(1)} s`
      + (limit ? ` of ${limit} s` : "");
    if (limit) $("progress").value = used() / limit;
  };
  if (!limit) $("progress").removeAttribute("value");
  tick();
  $("clock").hidden = false;
  const ticking = setInterval(tick, 100);
  return () => {
    clearInterval(ticking);
    $("clock").hidden = true;
    return `${used().toFixed(1)} s`;
  };
}

/* The focus must not stay on a button that can no longer be pressed. */
function setRunning(running) {
  const [off, on] = running ? [$("run"), $("stop")] : [$("stop"), $("run")];
  const focused = document.activeElement === off;
  on.disabled = false;
  if (focused) on.focus();
  off.disabled = true;
}

async function runJob() {
  abort = new AbortController();
  clear();
  say("Running…");
  setRunning(true);
  const stopClock = startClock();
  try {
    for await (const [event, data] of run(form, abort.signal)) {
      receive(event, data);
      if (event === "done") say(summary(data), data.error !== null);
    }
    stopClock();
  } catch (error) {
    const after = stopClock();
    if (abort.signal.aborted)
      say(`Stopped after ${after}; what had come by then is kept.`);
    else {
      say(error.message, true);
      form.elements[error.member?.split(/\W/)[0]]?.focus();
    }
  }
  $("to-reply").hidden = false;
  abort = null;
  setRunning(false);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (abort) return;
  if ($("code").value.trim()) runJob();
  else say("There is no program to run.", true);
});
/* What the browser checks: it says so at the field, and the status here. */
form.addEventListener("invalid", ({ target }) => {
  say(`Not run. ${target.labels[0].textContent}: ${target.validationMessage}`,
    true);
}, true);
/* Before the editor has it. */
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.stopPropagation();
  form.requestSubmit();
}, true);
$("stop").addEventListener("click", () => abort.abort());

/* ---- At the start and at the end */

/* A browser may keep a page that was left, to come back to. */
addEventListener("pagehide", () => { $("key").value = ""; });

/* The browser may have kept what was typed, but for the key. */
if (!$("code").value.trim())
  document.querySelector(".examples button").click();
checkContext();
setFiles([...files.files]);

async function askAbout() {
  const answer = await fetch("about");
  if (!answer.ok) return;
  about = await answer.json();
  $("timeout").max = $("timeout").placeholder = about.limits.timeout;
  showAbout($("about-text"), about);
}
askAbout().catch(() => {});  // the page does without
