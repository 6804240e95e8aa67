// Bytes to a server and all that it answers on one connection, to compare two servers to the letter.

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** One part of what is sent; between two of them the server has time to look at the first. */
export type Part = string | Uint8Array;

export interface Exchange {
  readonly parts: readonly Part[];
  /** Answers after which the client leaves; 0: at once. Default: until the server closes. */
  readonly answers?: number;
  /** Done between two parts, when the server had time to look at the first. */
  readonly between?: () => Promise<void>;
}

/** What the server said, but for the date. */
export async function exchange(
  url: string,
  { parts, answers = Number.POSITIVE_INFINITY, between }: Exchange,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  let said = '';
  const over = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
    socket.on('error', () => resolve());
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1');
      if (answersIn(said) >= answers) resolve();
    });
  });
  await once(socket, 'connect');
  for (const [i, part] of parts.entries()) {
    if (i > 0) {
      await wait(20);
      await between?.();
    }
    socket.write(part);
  }
  if (answers > 0) await over;
  else await wait(20);
  socket.destroy();
  return said.replace(/^Date: .*\r\n/gim, '');
}

/** Whole answers in what was said so far. That a client may go on is none. */
function answersIn(said: string): number {
  let count = 0;
  let from = 0;
  for (let end = said.indexOf('\r\n\r\n'); end >= 0; end = said.indexOf('\r\n\r\n', from)) {
    const head = said.slice(from, end);
    const [, length = '0'] = /^content-length: (\d+)/im.exec(head) ?? [];
    from = end + 4 + Number(length);
    if (said.length < from) return count;
    if (!head.includes(' 100 Continue')) count++;
  }
  return count;
}
