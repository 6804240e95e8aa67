import { describe, expect, it } from 'vitest';
import { CallTable, callEvents, pieces } from '../../../../src/serve/protocols/ors.js';

import { parseEvents } from './sse-events.js';

describe('pieces of an answer', () => {
  it.each([
    ['blanks at every cut', ' '.repeat(20_000)],
    ['blanks of every kind', '\u00a0\u2028\u3000\u0085 x'.repeat(3_000)],
    ['characters of two halves', `x${'😀'.repeat(9_000)}`],
    ['an even number of halves', '😀'.repeat(9_000)],
    ['letters', 'abc'.repeat(5_000)],
    ['nothing', ''],
  ])('of %s are what it was, when joined without their first blanks', (_, text) => {
    const json = JSON.stringify({ text });
    const all = pieces(json);
    // Python strips U+0085 and U+001C to U+001F too.
    const stripped = all.map((piece) => piece.replace(/^[\s\u0085]+/, ''));
    expect(stripped).toEqual(all);
    expect(JSON.parse(all.join(''))).toEqual({ text });
    // Each goes over the wire by itself, as UTF-8.
    expect(all.map((piece) => Buffer.from(piece).toString())).toEqual(all);
    for (const piece of all) expect(Buffer.byteLength(piece)).toBeLessThan(64 * 1024);
  });
});

describe('a long call', () => {
  it('pings, survives its stream, and is taken up by its task id', async () => {
    const table = new CallTable();
    let finish = (_: string): void => {};
    const about = (id: string, owner: string) => ({ id, owner }) as never;
    const text = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const call = table.start(
      about('s', 'me'),
      text.then((one) => ({ event: 'end', text: one }) as const),
    );
    const broken = callEvents(call, 0.01);
    const seen = [await broken.next(), await broken.next(), await broken.next()].map(({ value }) => value);
    expect(seen).toEqual([`event: task_id\ndata: ${call.id}\n\n`, ': ping\n\n', ': ping\n\n']);
    await broken.return(undefined);

    const again = table.find(call.id, about('s', 'me'));
    expect(again).toBeDefined();
    expect(table.find(call.id, about('s', 'you'))).toBeUndefined();
    expect(table.find(call.id, about('t', 'me'))).toBeUndefined();
    let heard = '';
    const resumed = callEvents(again!, 0.01);
    for await (const part of resumed) {
      heard += part;
      if (part.startsWith(':')) finish('"done"');
    }
    expect(parseEvents(heard)).toEqual([
      { event: 'task_id', data: call.id },
      { event: 'end', data: '"done"' },
    ]);
    expect(table.find(call.id, about('s', 'me'))).toBeDefined();
  });
});
