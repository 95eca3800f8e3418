/* The program's editor: CodeMirror over the form's textarea, which always has
   the same text. Where CodeMirror is not served, the textarea itself. */

import { $ } from "./dom.js";

const area = $("code");
const cm = globalThis.CodeMirror?.fromTextArea(area, {
  mode: "python", lineNumbers: true, indentUnit: 4, matchBrackets: true,
  // What a screen reader can follow.
  inputStyle: "contenteditable", screenReaderLabel: "Program",
  extraKeys: {
    Tab: (editor) => editor.execCommand(
      editor.somethingSelected() ? "indentMore" : "insertSoftTab"),
    "Shift-Tab": "indentLess",
    "Ctrl-/": "toggleComment", "Cmd-/": "toggleComment",
  },
});
let marked = null;  // the line at fault

if (cm) {
  const input = cm.getInputField();
  input.setAttribute("role", "textbox");
  input.setAttribute("aria-multiline", "true");
  input.setAttribute("aria-describedby", area.getAttribute("aria-describedby"));
  area.labels[0].addEventListener("click", () => cm.focus());
  area.required = false;  // the browser could not point at a hidden field
  let leaving = false;  // Escape was the last key: Tab is the browser's
  cm.on("keydown", (_, event) => {
    if (event.key === "Tab" && leaving) event.codemirrorIgnore = true;
    else if (event.key !== "Shift") leaving = event.key === "Escape";
  });
  cm.on("blur", () => { leaving = false; });
  cm.on("changes", () => {
    cm.save();
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

/* Put another program in its place; the editor can undo that. */
export function replace(text) {
  if (cm) cm.setValue(text);
  else area.value = text;
}

/* Mark a line, from 1, as the one at fault; null: none. */
export function mark(line) {
  if (marked) cm?.removeLineClass(marked, "wrap", "at-fault");
  marked = line && cm?.addLineClass(line - 1, "wrap", "at-fault");
}

/* Go to a line, from 1, and mark it. */
export function goTo(line) {
  mark(line);
  if (cm) {
    cm.focus();
    cm.setCursor(line - 1, 0);
    cm.scrollIntoView(null, 80);
  } else {
    const before = area.value.split("\n").slice(0, line - 1).join("\n").length;
    area.focus();
    area.setSelectionRange(before + (line > 1), before + (line > 1));
  }
}
