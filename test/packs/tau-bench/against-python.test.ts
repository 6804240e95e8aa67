// The rules against τ-bench's own Python tools, answer by answer, on random sequences of calls. Needs the benchmark's data
// (REVERIE_SHARED_DATA) and REVERIE_TAU_SOURCES: a folder with clones of tau-bench and tau2-bench; REVERIE_TAU_PYTHON names
// the interpreter with what they need (see call-tools.py), REVERIE_TAU_SEQUENCES how many sequences, REVERIE_TAU_SEED which.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { loadTauDomain, type TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import { Rng } from '../../../src/core/rng.js';
import { applyOperations } from '../../../src/env/index.js';
import type { CallSpec } from '../../../src/env/tools/domain.js';
import { Draw, randomCall, revealingCalls } from './random-calls.js';

const data = process.env.REVERIE_SHARED_DATA ?? fileURLToPath(new URL('../../../../shared/data', import.meta.url));
const sources = process.env.REVERIE_TAU_SOURCES ?? '';
const python = process.env.REVERIE_TAU_PYTHON ?? 'python3';
const sequences = Number(process.env.REVERIE_TAU_SEQUENCES ?? 50);
const seed = Number(process.env.REVERIE_TAU_SEED ?? 1);
const isReady = sources !== '' && existsSync(path.join(data, 'tau'));

interface Answered extends CallSpec {
  readonly observation: string;
}

/** Sequences of calls, each from the initial state on, as our rules answer them; at the end of each all that changed. */
async function answered(domain: TauDomainName, release: TauRelease): Promise<(Answered | 'reset')[]> {
  const { rules, initialState } = await loadTauDomain({ domain, release, folder: path.join(data, 'tau', domain) });
  const draw = new Draw(Rng.fromSeed(seed).split(`calls ${domain}`));
  const users = Object.keys(initialState.users as object);
  const lines: (Answered | 'reset')[] = [];
  for (let i = 0; i < sequences; i++) {
    let state = initialState;
    const user = draw.pick(users);
    const ask = (call: CallSpec) => {
      const { operations, observation } = rules!.execute(state, { ...call, id: 'c' });
      state = applyOperations(state, operations);
      lines.push({ ...call, observation });
    };
    lines.push('reset');
    for (let calls = 5 + draw.int(15); calls > 0; calls--) ask(randomCall(domain, state, user, draw));
    ask({ name: 'get_user_details', arguments: { user_id: user } });
    for (const call of revealingCalls(domain, initialState, state)) ask(call);
  }
  return lines;
}

function pythonAnswers(domain: TauDomainName, release: TauRelease, lines: readonly (Answered | 'reset')[]): string[] {
  const script = fileURLToPath(new URL('call-tools.py', import.meta.url));
  const input = lines.map((line) =>
    JSON.stringify(line === 'reset' ? { reset: true } : { name: line.name, arguments: line.arguments }),
  );
  const db = path.join(data, 'tau', domain, 'db.json');
  const options = { input: input.join('\n'), encoding: 'utf8', maxBuffer: 2 ** 30 } as const;
  const { status, stdout, stderr } = spawnSync(python, ['-W', 'ignore', script, release, domain, sources, db], options);
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe.skipIf(!isReady)('Python tools of τ-bench (skipped without REVERIE_TAU_SOURCES)', () => {
  test.each<[TauDomainName, TauRelease]>([
    ['airline', 'tau1'],
    ['airline', 'tau2'],
    ['retail', 'tau1'],
    ['retail', 'tau2'],
  ])(
    '%s, %s: the same answers to random calls',
    async (domain, release) => {
      const lines = await answered(domain, release);
      const calls = lines.filter((line) => line !== 'reset');
      const theirs = pythonAnswers(domain, release, lines);
      expect(theirs).toHaveLength(calls.length);
      const different = calls.flatMap((call, i) =>
        call.observation === theirs[i] ? [] : [{ ...call, python: theirs[i] }],
      );
      expect(different.slice(0, 3)).toEqual([]);
      const refused = calls.filter(({ observation }) => observation.startsWith('Error: ')).length;
      console.log(`${domain}, ${release}: ${calls.length} calls, ${refused} of them refused`);
      expect(refused).toBeGreaterThan(calls.length / 50);
      expect(refused).toBeLessThan(calls.length / 2);
    },
    3_600_000,
  );
});
