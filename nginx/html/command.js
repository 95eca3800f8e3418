/* The job as a curl command that a shell takes as it stands. */

import { isolated } from "./dom.js";

/* One word for a POSIX shell, whatever it holds. */
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/* What curl reads as one file name in a form's field. */
const path = (text) => `"${text.replace(/[\\"]/g, "\\$&")}"`;

/* Linux takes no argument over 128 KiB, and none with a NUL. */
const fits = (text) =>
  new Blob([text]).size < 120_000 && !text.includes("\0");

/* Give {command, hint} for a form; the key is not in it. */
export function command(form) {
  const words = [`curl ${quote(form.action)}`];
  const besides = [...form.files.files].map((file) =>
    isolated(file.name));
  for (const name of ["code", "context", "timeout"]) {
    const { value } = form.elements[name];
    if (!value.trim()) continue;
    if (fits(value)) words.push(`--form-string ${quote(`${name}=${value}`)}`);
    else {
      words.push(`-F ${quote(`${name}=<${name}.txt`)}`);
      besides.push(`${name}.txt (the ${name}: too long for a command)`);
    }
  }
  if (form.key.value) words.push("--form-string 'key=YOUR-KEY'");
  for (const file of form.files.files)
    words.push(`-F ${quote(`files=@${path(file.name)}`)}`);
  const hint = ["Run it in a shell; the reply is JSON."];
  if (besides.length)
    hint.push(`Needs beside it: ${besides.join(", ")}.`);
  if (form.key.value) hint.push("Put your key in place of YOUR-KEY.");
  return { command: words.join(" \\\n  "), hint: hint.join(" ") };
}
