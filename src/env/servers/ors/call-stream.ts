// Server-sent events of the Open Reward Standard: `task_id`, then pieces of one text, the last of them as `end`; or an `error`.

/** What a stream came to: all pieces joined, or what the server said was wrong; undefined where it broke off. */
export type StreamEnd = { readonly text: string } | { readonly error: string } | undefined;

/** @param chunks  of the body, cut anywhere */
export async function streamEnd(chunks: AsyncIterable<string>): Promise<StreamEnd> {
  let pieces = '';
  for await (const { event, data } of eventsIn(chunks)) {
    if (event === 'error') return { error: data };
    if (event === 'chunk' || event === 'end') pieces += data;
    if (event === 'end') return { text: pieces };
  }
  return undefined;
}

/** The first event of this name; undefined where there is none. */
export async function firstEvent(chunks: AsyncIterable<string>, name: string): Promise<string | undefined> {
  let found: string | undefined;
  for await (const { event, data } of eventsIn(chunks)) if (event === name) found ??= data;
  return found;
}

interface Event {
  readonly event: string;
  readonly data: string;
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html, as far as clients of this standard read it. */
async function* eventsIn(chunks: AsyncIterable<string>): AsyncGenerator<Event> {
  let rest = '';
  let event = '';
  let data: string[] = [];
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop()!;
    for (const line of lines) {
      if (line === '') {
        if (event !== '' || data.length > 0) yield { event, data: data.join('\n') };
        event = '';
        data = [];
      } else if (line.startsWith('event:')) event = line.slice('event:'.length).trim();
      // As the reference's client does: blanks before a piece do not count.
      else if (line.startsWith('data:')) data.push(line.slice('data:'.length).trimStart());
    }
  }
}
