// What a simulated answer may not do to the state: proposals that real tools would never make are named.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import type { Operation } from '../../../src/env/tools/prediction.js';
import { testData } from '../../data.js';
import { tauBench } from './fixture.js';

async function faults(domain: TauDomainName, operations: readonly Operation[]): Promise<readonly string[]> {
  const { rules, initialState } = (await tauBench(domain, 'tau2')).domain;
  return rules!.invariants(initialState, applyOperations(initialState, operations));
}

test.each(
  testData<{ domain: TauDomainName; what: string; operations: Operation[]; fault?: string }[]>(
    'packs/tau-bench/proposals.yaml',
  ),
)('$domain: $what', async ({ domain, operations, fault }) => {
  const found = await faults(domain, operations);
  if (fault === undefined) expect(found).toEqual([]);
  else expect(found.join('\n')).toContain(fault);
});

const documentation = readFileSync(new URL('../../../docs/tau-bench.md', import.meta.url), 'utf8').replace(/\s+/g, ' ');

const STRICTER = testData<
  { words: string; release: TauRelease; calls: [tool: string, args: JsonObject][]; fault: string }[]
>('packs/tau-bench/stricter.yaml');

test.each(STRICTER)('stricter than the tools: $words', async ({ words, release, calls, fault }) => {
  const bench = await tauBench('airline', release);
  const found = calls.map(([tool, args]) => {
    const before = bench.state;
    bench.call(tool, args);
    return bench.domain.rules!.invariants(before, bench.state).join('\n');
  });
  expect(found.slice(0, -1)).toEqual(calls.slice(1).map(() => ''));
  expect(found.at(-1)).toContain(fault);
  expect(documentation).toContain(words);
});

test('the documentation says in how many cases they are stricter', () => {
  const number = ['none', 'one', 'two', 'three', 'four', 'five', 'six'][STRICTER.length];
  expect(documentation).toContain(`stricter than these tools in ${number} cases`);
});
