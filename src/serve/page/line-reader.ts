// Lines of a large file with the bytes at which they begin, without ever holding the file.

import { open } from 'node:fs/promises';
import { reverieError } from '../../core/errors.js';

/** Bytes of the longest line that is read. */
const LONGEST_LINE = 32 << 20;
const CHUNK = 1 << 18;

export interface FileLine {
  /** Byte at which it begins. */
  readonly at: number;
  /** Byte after its end. */
  readonly end: number;
  readonly text: string;
}

/** Whole lines from byte `from` on; a last line without an end is left out. @throws LINE_TOO_LONG */
export async function* linesOf(file: string, from = 0): AsyncGenerator<FileLine> {
  const handle = await open(file);
  try {
    const parts: Buffer[] = [];
    let [at, position] = [from, from];
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      let rest = buffer.subarray(0, bytesRead);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const bytes = Buffer.concat([...parts, rest.subarray(0, end)]);
        parts.length = 0;
        yield { at, end: at + bytes.length + 1, text: bytes.toString('utf8') };
        at += bytes.length + 1;
        rest = rest.subarray(end + 1);
      }
      parts.push(rest);
      if (position - at > LONGEST_LINE) throw reverieError('LINE_TOO_LONG', { path: file, at, limit: LONGEST_LINE });
    }
  } finally {
    await handle.close();
  }
}
