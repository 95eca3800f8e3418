"use strict";

const EXAMPLES = {
  table: `# The value of the last expression is the result.
loans = pd.DataFrame({
    "bank": ["North", "East", "West"],
    "amount": [250_000, 310_000, 180_000],
    "rate": [0.031, 0.028, 0.035],
})
loans["interest"] = loans.amount * loans.rate
print(f"Borrowed in all: {loans.amount.sum():,}")
loans
`,
  figure: `# Every figure that is open at the end comes back.
moves = np.random.default_rng(7).normal(0.0004, 0.01, (500, 3))
plt.plot(100 * np.exp(moves.cumsum(axis=0)),
         label=["North", "East", "West"])
plt.title("Three made-up prices")
plt.legend()
print("Best day:", f"{moves.max():.1%}")
`,
  excel: `# Each member of the dict becomes a sheet.
sales = pd.DataFrame({
    "month": pd.date_range("2025-01-01", periods=6, freq="MS"),
    "region": ["North", "South"] * 3,
    "revenue": [2388, 1592, 2686.5, 1830.8, 2985, 2009.9],
})
totals = sales.groupby("region")[["revenue"]].sum()
save_excel({"Sales": sales, "By region": totals}, "sales.xlsx")
print(totals)
`,
  market: `# Frames run from the oldest row to the newest.
prices = fmp.historical_prices("AAPL", years=5)
prices["average"] = prices["close"].rolling(200).mean()
prices[["close", "average"]].plot(title="AAPL, five years")
save_excel(prices, "AAPL.xlsx")
quote = fmp.quote("AAPL")
print(f"{quote['name']}: {quote['price']} ({quote['changePercentage']:+.2f} %)")
`,
};

const $ = (id) => document.getElementById(id);
const code = $("code"), context = $("context"), files = $("files");
const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
let abort = null;  // the running request's AbortController
let links = [];    // object URLs of the reply that is shown

function bytes(n) {
  if (n < 1000) return count(n, "byte");
  return n < 1e6 ? `${(n / 1e3).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}

/* An element with text and attributes. Text only: what a program sends back
   must never be read as markup. */
function element(name, text = "", attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes))
    made.setAttribute(key, value);
  return made;
}

/* ---- The program and its input */

/* In place of the selection, such that undo still works: only execCommand
   can do that. */
function insert(text) {
  code.focus();
  if (!document.execCommand("insertText", false, text))
    code.setRangeText(text, code.selectionStart, code.selectionEnd, "end");
}

function indent() {
  const { selectionStart: from, selectionEnd: to, value } = code;
  const first = value.lastIndexOf("\n", from - 1) + 1;
  if (!value.slice(from, to).includes("\n")) {
    insert(" ".repeat(4 - (from - first) % 4));
    return;
  }
  // Whole lines, without one that the selection only touches.
  const lines = value.slice(first, to).replace(/^(?=.)/gm, "    ");
  code.setSelectionRange(first, to);
  insert(lines);
  code.setSelectionRange(first, first + lines.length);
}

let leaving = false;  // Escape was the last key: Tab leaves the field
code.addEventListener("keydown", (event) => {
  if (event.key === "Tab" && !leaving && !event.shiftKey && !event.ctrlKey
      && !event.altKey && !event.metaKey) {
    event.preventDefault();
    indent();
  }
  leaving = event.key === "Escape";
});

function checkContext() {
  let wrong = "";
  try {
    const value = JSON.parse(context.value.trim() || "{}");
    if (value === null || typeof value !== "object" || Array.isArray(value))
      wrong = 'An object is needed, such as {"rate": 0.05}.';
  } catch (error) {
    wrong = `Not JSON yet: ${error.message}`;
  }
  context.setCustomValidity(wrong);
  context.setAttribute("aria-invalid", wrong !== "");
  $("context-error").textContent = wrong;
}
context.addEventListener("input", checkContext);

function showFiles() {
  const chosen = [...files.files].map((f) => `${f.name} (${bytes(f.size)})`);
  $("files-hint").textContent = chosen.length
    ? chosen.join(", ") : "They will be in the program's working directory.";
  $("files-clear").hidden = !chosen.length;
}
files.addEventListener("change", showFiles);
$("files-clear").addEventListener("click", () => {
  files.value = "";
  showFiles();
  files.focus();
});

for (const button of document.querySelectorAll("[data-example]"))
  button.addEventListener("click", () => {
    code.select();
    insert(EXAMPLES[button.dataset.example]);
    code.setSelectionRange(0, 0);
    code.scrollTop = 0;
  });

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1] ?? "");
    reader.onerror = () => reject(
      new Error(`${file.name} cannot be read; choose it again.`));
    reader.readAsDataURL(file);
  });
}

/* The request's body. The context goes in as it was typed: through
   JSON.parse, large integers and long fractions would lose digits. */
async function job() {
  const members = { code: code.value };
  if ($("timeout").value) members.timeout = Number($("timeout").value);
  if (files.files.length)
    members.files = await Promise.all([...files.files].map(
      async (file) => ({ name: file.name, data: await base64(file) })));
  const text = JSON.stringify(members);
  const typed = context.value.trim();
  return typed ? `${text.slice(0, -1)},"context":${typed}}` : text;
}

/* ---- Running */

async function send(signal) {
  const body = await job();
  signal.throwIfAborted();
  let answer;
  try {
    answer = await fetch("run", {
      method: "POST", body, signal,
      headers: { "Content-Type": "application/json",
                 "Accept": "application/json" },
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Error("The service cannot be reached, or the connection broke.");
  }
  const reply = await answer.json().catch((error) => {
    if (signal.aborted) throw error;
    throw new Error(`The service answered ${answer.status}, but not in JSON.`);
  });
  if (!answer.ok) {
    throw new Error(`${reply.title ?? answer.status}: `
      + (reply.detail ?? "no reason was given."));
  }
  return reply;
}

async function run() {
  const started = performance.now();
  const elapsed = () => `${((performance.now() - started) / 1e3).toFixed(1)} s`;
  const ticking = setInterval(() => {
    $("elapsed").textContent = elapsed();
  }, 100);
  abort = new AbortController();
  clear();
  $("status").className = "";
  $("status").textContent = "Running…";
  buttons(true);
  try {
    show(await send(abort.signal));
  } catch (error) {
    const stopped = abort.signal.aborted;
    $("status").className = stopped ? "" : "wrong";
    $("status").textContent = stopped
      ? `Stopped after ${elapsed()}; nothing of this run was kept.`
      : error.message;
  }
  clearInterval(ticking);
  $("elapsed").textContent = "";
  abort = null;
  buttons(false);
}

/* The focus must not stay on a button that can no longer be pressed. */
function buttons(running) {
  const [off, on] = running ? [$("run"), $("stop")] : [$("stop"), $("run")];
  const focused = document.activeElement === off;
  on.disabled = false;
  if (focused) on.focus();
  off.disabled = true;
}

$("job").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!abort) run();
});
/* What the browser checks: it says so at the field, and the status here. */
$("job").addEventListener("invalid", ({ target }) => {
  clear();
  $("status").className = "wrong";
  $("status").textContent =
    `Not run. ${target.labels[0].textContent}: ${target.validationMessage}`;
}, true);
$("job").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    $("job").requestSubmit();
  }
});
$("stop").addEventListener("click", () => abort?.abort());

/* ---- The reply */

function clear() {
  $("reply").replaceChildren();
  $("to-reply").hidden = true;
  links.forEach(URL.revokeObjectURL);
  links = [];
}

function part(title, ...content) {
  $("reply").append(element("h3", title), ...content);
}

/* It may scroll, so the keyboard has to reach it. */
const pre = (text, label) => element("pre", text,
  { tabindex: 0, role: "region", "aria-label": label });

/* A link that saves base64 data. Never as the type that the program claims:
   opened in a tab, an HTML file would be a page of this site. */
function download(name, data) {
  const raw = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const url = URL.createObjectURL(
    new Blob([raw], { type: "application/octet-stream" }));
  links.push(url);
  return element("a", name, { href: url, download: name.replace(/\//g, "_") });
}

function figure(data, index, all) {
  const made = element("figure");
  const caption = element("figcaption");
  caption.append(download(`figure-${index + 1}.png`, data));
  made.append(element("img", "", {
    src: `data:image/png;base64,${data}`,
    alt: `Figure ${index + 1} of ${all.length}, drawn by the program`,
  }), caption);
  return made;
}

function list(items) {
  const made = element("ul");
  made.append(...items.map((content) => {
    const item = element("li");
    item.append(...content);
    return item;
  }));
  return made;
}

function showError(error) {
  const content = [element("p", error.message, { class: "wrong message" })];
  if (error.traceback) content.push(pre(error.traceback, "Traceback"));
  part(`Error: ${error.type ?? error.kind}`, ...content);
}

function show(reply) {
  const { output, result, figures, files: saved, error, notes } = reply;
  const dropped = reply.output_dropped;
  if (output)
    part(dropped ? `Output, ${bytes(dropped)} left out` : "Output",
      pre(output, "Output"));
  if (result !== null) part("Result", pre(result, "Result"));
  if (figures.length) part("Figures", ...figures.map(figure));
  if (saved.length)
    part("Files", list(saved.map((file) =>
      [download(file.name, file.data), ` ${bytes(file.size)}`])));
  if (error) showError(error);
  if (notes.length) part("Notes", list(notes.map((note) => [note])));

  const cost = [`${reply.seconds.toFixed(2)} s`,
    `${reply.cpu_seconds.toFixed(2)} s of CPU`];
  if (reply.peak_memory) cost.push(`${bytes(reply.peak_memory)} of memory`);
  part("Cost", element("p", `${cost.join(", ")}; run ${reply.id}`,
    { class: "cost" }));

  const got = [output && "output", result !== null && "a result",
    figures.length && count(figures.length, "figure"),
    saved.length && count(saved.length, "file")].filter(Boolean).join(", ");
  let end = "Finished";
  if (["empty", "figure", "limit"].includes(error?.kind))
    end += ", but see the error";
  else if (error)
    end = `Ended with ${error.type ?? error.kind}`
      + (error.line ? ` in line ${error.line}` : "");
  $("status").className = error ? "wrong" : "";
  $("status").textContent = `${end}${got ? `: ${got}` : ""}.`;
  $("to-reply").hidden = false;
}

/* A reload may have kept what was typed. */
if (!code.value) code.value = EXAMPLES.table;
checkContext();
showFiles();
