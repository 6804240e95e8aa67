// The rules against τ-bench's own Python tools, answer by answer, on random sequences of calls over the benchmark's data
// (REVERIE_SHARED_DATA). The successor's tools come as a Python package; answers of the first release, which is none, were recorded.
// REVERIE_TAU_SOURCES: a folder with clones of tau-bench and tau2-bench to ask instead, by the interpreter REVERIE_TAU_PYTHON;
// the recording is then written anew. REVERIE_TAU_SEQUENCES says how many sequences, REVERIE_TAU_SEED which.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, type TestContext, test } from 'vitest';
import { loadTauDomain, type TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import { pythonEnvironment } from '../../../scripts/python-environments.mjs';
import { sha256 } from '../../../src/core/canonical-json.js';
import { Rng } from '../../../src/core/rng.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import type { CallSpec } from '../../../src/env/tools/domain.js';
import { madeUp, madeUpCalls, tauBench } from './fixture.js';
import { Draw, randomCall, revealingCalls } from './random-calls.js';

const data = process.env.REVERIE_SHARED_DATA ?? fileURLToPath(new URL('../../../../shared/data', import.meta.url));
const sources = process.env.REVERIE_TAU_SOURCES;
const sequences = Number(process.env.REVERIE_TAU_SEQUENCES ?? 20);
const seed = Number(process.env.REVERIE_TAU_SEED ?? 1);
const isRecorded = sequences === 20 && seed === 1;

/** Tools of the benchmark that the package lacks. */
const NOT_IN_PACKAGE = ['get_item_details'];

interface Answered extends CallSpec {
  readonly observation: string;
}

/** A fresh database: the benchmark's, or ours of made-up/. */
type Reset = 'reset' | 'made up';

/**
 * Sequences of calls, each from the initial state on, as our rules answer them; at the end of each all that changed. The last ones
 * are those over made-up data, where Python can be asked.
 */
async function answered(domain: TauDomainName, release: TauRelease): Promise<(Answered | Reset)[]> {
  // Python takes long to ask; what was recorded is of all.
  const count = release === 'tau2' && isRecorded ? 4 : sequences;
  const { rules, initialState } = await loadTauDomain({ domain, release, folder: path.join(data, 'tau', domain) });
  const draw = new Draw(Rng.fromSeed(seed).split(`calls ${domain}`));
  const users = Object.keys(initialState.users as object);
  const lines: (Answered | Reset)[] = [];
  for (let i = 0; i < count; i++) {
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
  if (release === 'tau1') return lines;
  for (const calls of madeUpCalls(domain)) {
    const bench = await tauBench(domain, release);
    lines.push('made up', ...calls.map((call) => ({ ...call, observation: bench.call(call.name, call.arguments) })));
  }
  return lines;
}

interface Python {
  readonly program: string;
  readonly sources: string;
}

/** Who can be asked; the reason where nobody can. */
async function pythonOf(release: TauRelease): Promise<Python | string> {
  if (sources !== undefined) return { program: process.env.REVERIE_TAU_PYTHON ?? 'python3', sources };
  if (release === 'tau1') return 'the first release is no package: REVERIE_TAU_SOURCES names no clones';
  const made = await pythonEnvironment('tau');
  return typeof made === 'string' ? made : { program: made.python, sources: '-' };
}

type Lines = readonly (Answered | Reset)[];

function pythonAnswers(python: Python, domain: TauDomainName, release: TauRelease, lines: Lines): string[] {
  const script = fileURLToPath(new URL('call-tools.py', import.meta.url));
  const input = lines.map((line) =>
    JSON.stringify(
      isCall(line)
        ? { name: line.name, arguments: line.arguments }
        : { reset: line === 'reset' ? '' : madeUp(`${domain}.json`) },
    ),
  );
  const db = path.join(data, 'tau', domain, 'db.json');
  const words = ['-W', 'ignore', script, release, domain, python.sources, db];
  const options = { input: input.join('\n'), encoding: 'utf8', maxBuffer: 2 ** 30 } as const;
  const { status, stdout, stderr } = spawnSync(python.program, words, options);
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const recording = new URL('first-release.json', import.meta.url);

/** Of a call with its answer: eight hexadecimal digits. */
function mark({ name, arguments: args }: CallSpec, answer: string): string {
  return sha256(JSON.stringify([name, args, answer])).slice(0, 8);
}

function checkRefusals(calls: readonly Answered[]): void {
  const refused = calls.filter(({ observation }) => observation.startsWith('Error: ')).length;
  expect(refused).toBeGreaterThan(calls.length / 50);
  expect(refused).toBeLessThan(calls.length / 2);
}

const isCall = (line: Answered | Reset): line is Answered => typeof line === 'object';

describe.skipIf(!existsSync(path.join(data, 'tau')))('Python tools of τ-bench (skipped without its data)', () => {
  async function compare(domain: TauDomainName, release: TauRelease, python: Python): Promise<void> {
    const lacks = (line: Answered | Reset) =>
      python.sources === '-' && isCall(line) && NOT_IN_PACKAGE.includes(line.name);
    const lines = (await answered(domain, release)).filter((line) => !lacks(line));
    const calls = lines.filter(isCall);
    const theirs = pythonAnswers(python, domain, release, lines);
    expect(theirs).toHaveLength(calls.length);
    const different = calls.flatMap((call, i) =>
      call.observation === theirs[i] ? [] : [{ ...call, python: theirs[i] }],
    );
    expect(different.slice(0, 3)).toEqual([]);
    checkRefusals(calls);
    if (release === 'tau2' || !isRecorded) return;
    const known = existsSync(recording) ? JSON.parse(readFileSync(recording, 'utf8')) : {};
    const marks = calls.map((call, i) => mark(call, theirs[i])).join('');
    writeFileSync(recording, `${JSON.stringify({ ...known, [domain]: marks }, null, 2)}\n`);
  }

  async function asked(domain: TauDomainName, release: TauRelease, { skip }: TestContext): Promise<void> {
    const python = await pythonOf(release);
    if (typeof python === 'string') skip(python);
    else await compare(domain, release, python);
  }

  test('airline, tau2: the same answers to random calls', (context) => asked('airline', 'tau2', context), 1_200_000);
  test('retail, tau2: the same answers to random calls', (context) => asked('retail', 'tau2', context), 1_200_000);

  test.each<TauDomainName>(['airline', 'retail'])(
    '%s, tau1: the same answers to random calls, as they are now or were recorded',
    async (domain) => {
      const python = await pythonOf('tau1');
      if (typeof python !== 'string') return compare(domain, 'tau1', python);
      const calls = (await answered(domain, 'tau1')).filter(isCall);
      const marks = JSON.parse(readFileSync(recording, 'utf8'))[domain].match(/.{8}/g) as string[];
      expect(marks).toHaveLength(calls.length);
      const different = calls.filter((call, i) => mark(call, call.observation) !== marks[i]);
      expect(different.slice(0, 3)).toEqual([]);
      checkRefusals(calls);
    },
    1_200_000,
  );
});
