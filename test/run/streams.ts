// A stream that remembers what was written to it.

import { Writable } from 'node:stream';

export type RecordingStream = NodeJS.WriteStream & { readonly text: () => string };

export function recordingStream(isTTY = false): RecordingStream {
  const written: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      done();
    },
  });
  // What cli-progress asks of a terminal.
  const terminal = {
    isTTY,
    columns: 120,
    rows: 40,
    cursorTo: () => true,
    clearLine: () => true,
    moveCursor: () => true,
  };
  return Object.assign(stream, terminal, { text: () => written.join('') }) as unknown as RecordingStream;
}
