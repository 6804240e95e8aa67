// QuickJS counts eight bytes an allocation under Emscripten, whatever its size: what a sandbox takes is seen in the process.

import { expect, test } from 'vitest';
import { sandboxedRules } from '../../../src/env/tools/sandbox/sandboxed-rules.js';

const call = (name: string) => ({ id: '1', name, arguments: {} });

test('rules that ask for memory without end take no more than the limit, and are told so in time', async () => {
  const rules = await sandboxedRules(
    `export const tools = {
      fine: () => 'fine',
      lists() { const a = []; for (;;) a.push(new Array(1000).fill(0)); },
      texts() { const a = []; for (let i = 0; ; i++) a.push(String(i).repeat(10_000)); },
      objects() { const a = []; for (;;) a.push({ a: 1, b: [2] }); },
    };`,
    'rules.js',
  );
  rules.execute({}, call('fine'));
  const before = process.memoryUsage.rss();
  for (const name of ['lists', 'texts', 'objects']) {
    const began = performance.now();
    expect(() => rules.execute({}, call(name))).toThrow(/it needed too much memory/);
    expect(performance.now() - began).toBeLessThan(8_000);
    expect((process.memoryUsage.rss() - before) / 2 ** 20).toBeLessThan(160);
    expect(rules.execute({}, call('fine')).observation).toBe('fine');
  }
  rules.close();
}, 60_000);
