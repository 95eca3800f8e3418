/* What a program writes, shown as a terminal would: a carriage return goes
   back to the start of the line, and what follows overwrites. Writing costs
   little however much there is: text is shown once a frame, in blocks of which
   the browser lays out those in view. A line too long for one is wrapped. */

const BLOCK = 4096;

/* Control characters as pictures, so that they are seen. */
const visible = (text) => text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g,
  (c) => c === "\x7f" ? "␡" : String.fromCharCode(0x2400 + c.charCodeAt(0)));

/* Text in pieces: whole lines, or of a longer line a part. */
function* pieces(text) {
  for (let from = 0, end; from < text.length; from = end) {
    end = text.lastIndexOf("\n", from + BLOCK - 1) + 1;
    if (end <= from) end = Math.min(from + BLOCK, text.length);
    if (/[\udc00-\udfff]/.test(text[end] ?? "")) end++;  // half a character
    yield text.slice(from, end);
  }
}

export class Terminal {
  constructor(pre) {
    this.pre = pre;
    this.clear();
  }

  clear() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.waiting = this.line = "";
    this.column = 0;
    this.room = 0;   // in the last block of what is finished
    this.live = [];  // the blocks of the line that is not finished
    this.pre.replaceChildren();
  }

  write(text) {
    this.waiting += text;
    this.frame ||= requestAnimationFrame(() => this.show());
  }

  /* Show what waits, and stay at the end if that is what the reader sees. */
  show() {
    const { scrollTop, scrollHeight, clientHeight } = this.pre;
    const [first, ...rest] = visible(this.waiting).split("\n");
    const finished = [];
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.waiting = "";
    this.overwrite(first);
    for (const next of rest) {
      finished.push(this.line, "\n");
      this.line = "";
      this.column = 0;
      this.overwrite(next);
    }
    for (const block of this.live) block.remove();
    for (const piece of pieces(finished.join(""))) this.append(piece);
    this.live = [...pieces(this.line)].map((piece) => this.startBlock(piece));
    if (scrollTop + clientHeight >= scrollHeight - 4)
      this.pre.scrollTop = this.pre.scrollHeight;
  }

  overwrite(text) {
    if (!text.includes("\r") && this.column === this.line.length) {
      this.line += text;
      this.column = this.line.length;
      return;
    }
    // By cells: slicing the line at each return would take quadratic time.
    const cells = this.line.split("");
    for (const cell of text.split(""))
      if (cell === "\r") this.column = 0;
      else cells[this.column++] = cell;
    this.line = cells.join("");
  }

  /* Small pieces share a block. */
  append(piece) {
    if (piece.length <= this.room)
      this.pre.lastChild.firstChild.appendData(piece);
    else {
      this.startBlock(piece);
      this.room = BLOCK;
    }
    this.room -= piece.length;
  }

  startBlock(piece) {
    const block = document.createElement("div");
    block.append(piece);
    if (piece.length >= BLOCK) block.className = "long";
    this.pre.append(block);
    return block;
  }
}
