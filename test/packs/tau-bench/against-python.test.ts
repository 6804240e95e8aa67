// The rules against τ-bench's own Python tools, answer by answer: the successor's, which come as a Python package, to the solutions of
// the benchmark's tasks over its data (REVERIE_SHARED_DATA), and to calls of ours over made-up data. What the first release answered is
// held by its recordings (benchmark-data.test.ts). REVERIE_TAU_SOURCES: a folder with clones of tau-bench and tau2-bench to ask
// instead, the first release too, by the interpreter REVERIE_TAU_PYTHON.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { loadTauDomain, type TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import { pythonEnvironment } from '../../../scripts/python-environments.mjs';
import { applyOperations } from '../../../src/env/state/operations.js';
import type { CallSpec, ToolsDomain } from '../../../src/env/tools/domain.js';
import { madeUp, madeUpCalls, tauBench } from './fixture.js';

const data = process.env.REVERIE_SHARED_DATA ?? fileURLToPath(new URL('../../../../shared/data', import.meta.url));
const sources = process.env.REVERIE_TAU_SOURCES;
/** Tools of the benchmark that the package lacks. */
const NOT_IN_PACKAGE = ['get_item_details'];

interface Answered extends CallSpec {
  readonly observation: string;
}
/** A call, or the path of the database that the next ones begin with. */
type Line = Answered | string;

/** Each list of calls from the initial state on, as our rules answer them. */
function answered(
  { rules, initialState }: ToolsDomain,
  database: string,
  lists: readonly (readonly CallSpec[])[],
): Line[] {
  return lists.flatMap((calls) => {
    let state = initialState;
    const lines = calls.map((call): Line => {
      const { operations, observation } = rules!.execute(state, { ...call, id: 'c' });
      state = applyOperations(state, operations);
      return { ...call, observation };
    });
    return [database, ...lines];
  });
}

async function linesOf(domain: TauDomainName, release: TauRelease): Promise<Line[]> {
  const made = answered((await tauBench(domain, release)).domain, madeUp(`${domain}.json`), madeUpCalls(domain));
  const folder = path.join(data, 'tau', domain);
  if (!existsSync(folder)) return made;
  const real = await loadTauDomain({ domain, release, folder });
  // One after the other in one database, as Python takes long to read it.
  const solutions = real.tasks.flatMap(({ reference }) => reference!.calls);
  return [...made, ...answered(real, path.join(folder, 'db.json'), [solutions])];
}

test.each<[TauDomainName, TauRelease]>([
  ['airline', 'tau2'],
  ['retail', 'tau2'],
  ...(sources === undefined
    ? []
    : ([
        ['airline', 'tau1'],
        ['retail', 'tau1'],
      ] as [TauDomainName, TauRelease][])),
])(
  '%s, %s: answers as Python does',
  async (domain, release) => {
    const made =
      sources === undefined ? await pythonEnvironment('tau') : { python: process.env.REVERIE_TAU_PYTHON ?? 'python3' };
    if (typeof made === 'string') return console.warn(`τ-bench's tools are not asked: ${made}`);
    const isLacking = (line: Line) =>
      sources === undefined && typeof line === 'object' && NOT_IN_PACKAGE.includes(line.name);
    const lines = (await linesOf(domain, release)).filter((line) => !isLacking(line));
    const input = lines.map((line) =>
      JSON.stringify(typeof line === 'string' ? { reset: line } : { name: line.name, arguments: line.arguments }),
    );
    const script = fileURLToPath(new URL('call-tools.py', import.meta.url));
    const options = { input: input.join('\n'), encoding: 'utf8', maxBuffer: 2 ** 30 } as const;
    const words = ['-W', 'ignore', script, release, domain, sources ?? '-'];
    const { status, stdout, stderr } = spawnSync(made.python, words, options);
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const theirs = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as string);
    const calls = lines.filter((line) => typeof line === 'object');
    expect(theirs).toHaveLength(calls.length);
    const different = calls.flatMap((call, i) =>
      call.observation === theirs[i] ? [] : [{ ...call, python: theirs[i] }],
    );
    expect(different.slice(0, 3)).toEqual([]);
    const refused = calls.filter(({ observation }) => observation.startsWith('Error: ')).length;
    expect(refused).toBeGreaterThan(10);
  },
  1_200_000,
);
