// Long benchmarks go on: a case that was measured is not measured again, unless it is another one.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { keptCases } from '../../benchmarks/kept-cases.js';

const root = mkdtempSync(join(tmpdir(), 'reverie-kept-'));
afterEach(() => rmSync(root, { recursive: true, force: true }));

it('keeps each case as it ends, by its settings', async () => {
  let measured = 0;
  const told: string[] = [];
  const measure = async () => ({ rho: ++measured });
  const cases = () => keptCases(root, 'a.benchmark', (line) => told.push(line));
  expect(await cases().of('pendulum-11', ['long'], measure)).toEqual({ rho: 1 });
  const failing = cases().of('hopper-11', [], () => Promise.reject(new Error('stopped')));
  await expect(failing).rejects.toThrow('stopped');
  expect(await cases().of('pendulum-11', ['long'], measure)).toEqual({ rho: 1 });
  expect(told).toHaveLength(1);
  expect(await cases().of('pendulum-11', ['short'], measure)).toEqual({ rho: 2 });
  writeFileSync(join(root, 'runs', 'bench', 'a.benchmark', 'pendulum-11.json'), '{"key":');
  expect(await cases().of('pendulum-11', ['short'], measure)).toEqual({ rho: 3 });
});
