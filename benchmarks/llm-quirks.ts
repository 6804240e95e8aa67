// Quirks of real language model servers, from public reports and providers' documentation, replayed over HTTP: how many give
// the right answer, or an error that names the problem.

import { join } from 'node:path';
import { wilson } from '../src/core/statistics.js';
import { loadQuirks, tryQuirk } from '../test/llm-server/quirks.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';

export async function run({ root, quick, log }: BenchmarkContext): Promise<Measurement> {
  const all = await loadQuirks(join(root, 'benchmarks/trust/quirks.yaml'));
  const quirks = quick ? all.slice(0, 5) : all;
  const missed: Record<string, string> = {};
  for (const quirk of quirks) {
    const problem = await tryQuirk(quirk);
    if (problem === undefined) continue;
    missed[quirk.does] = problem;
    log(`${quirk.does}: ${problem}`);
  }
  const met = quirks.length - Object.keys(missed).length;
  const { value, low, high } = wilson(met, quirks.length);
  const isPublic = ({ source }: { source: string }) => source.startsWith('https://');
  const raw = { tried: quirks.length, met, fromPublicSources: quirks.filter(isPublic).length, missed };
  return { value: value ?? 0, low, high, n: quirks.length, raw };
}
