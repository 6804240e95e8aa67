// Streams that remember what was written to them, and what a terminal would show of it.

import { Writable } from 'node:stream';

export type RecordingStream = NodeJS.WriteStream & { readonly text: () => string };

export function recordingStream(isTTY = false, columns = 120): RecordingStream {
  const written: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      done();
    },
  });
  return Object.assign(stream, { isTTY, columns, text: () => written.join('') }) as unknown as RecordingStream;
}

const ESCAPE = '\u001b';
const TOKEN = new RegExp(`${ESCAPE}\\[\\??[\\d;]*[A-Za-z]|[\\s\\S]`, 'gu');
const MOVE = new RegExp(`^${ESCAPE}\\[(\\d*)([A-Z])$`);

/** The lines on a terminal this wide after `written`: it wraps, moves its cursor up and clears; other controls are ignored. */
export function screenAfter(written: string, columns: number): string[] {
  const rows: string[][] = [[]];
  let row = 0;
  let column = 0;
  for (const [token] of written.matchAll(TOKEN)) {
    const control = MOVE.exec(token);
    if (control?.[2] === 'A') row = Math.max(0, row - Number(control[1] || 1));
    else if (control?.[2] === 'J') {
      rows.length = row + 1;
      rows[row].length = column;
    } else if (token === '\r') column = 0;
    else if (token === '\n') {
      row++;
      column = 0;
    } else if (!token.startsWith(ESCAPE)) {
      if (column === columns) {
        row++;
        column = 0;
      }
      rows[row] ??= [];
      rows[row][column++] = token;
    }
    rows[row] ??= [];
  }
  return rows.map((cells) =>
    Array.from(cells, (cell) => cell ?? ' ')
      .join('')
      .trimEnd(),
  );
}
