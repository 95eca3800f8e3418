/* Sending a job and reading what comes of it, while it comes. */

/* The service's answer when there was no run. */
export class Refused extends Error {
  constructor({ title, detail, member }, status) {
    super(`${title ?? status}: ${detail ?? "no reason was given."}`);
    this.member = member;
  }
}

/* The lines of a body. A line may be tens of megabytes in many pieces, so each
   piece is looked at once. */
async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pieces = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const [first, ...rest] = value.split("\n");
    pieces.push(first);
    for (const next of rest) {
      yield pieces.join("");
      pieces = [next];
    }
  }
}

/* The events of an event stream, as [event, data]. */
async function* events(body) {
  let event = "message", data = [];
  for await (const line of lines(body)) {
    if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
    else if (line === "") {
      if (data.length) yield [event, JSON.parse(data.join("\n"))];
      event = "message";
      data = [];
    }
  }
}

/* Run the job in a form; give its events, of which "done" is the last. Throws
   Refused when there was no run, AbortError when the signal came. */
export async function* run(form, signal) {
  try {
    const answer = await fetch(form.action, {
      method: "POST", body: new FormData(form), signal,
      headers: { Accept: "text/event-stream" },
    });
    if (!answer.ok)
      throw new Refused(await answer.json().catch(() => ({})), answer.status);
    for await (const event of events(answer.body)) {
      yield event;
      if (event[0] === "done") return;
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // What fetch says of a network that failed is of no use to a reader.
    throw new Error("The service cannot be reached, or the connection broke.");
  }
  throw new Error("The connection broke before the run's end.");
}
