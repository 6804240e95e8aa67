// The must-fail suite: the real environment passes it, simulators that play along do not, and cannot mint reward.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { NO_COST } from '../../../src/core/cost.js';
import { reverieError } from '../../../src/core/errors.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import { makeDomain } from '../../../src/env/tools/domains.js';
import type { Prediction } from '../../../src/env/tools/prediction.js';
import { rulesResponder } from '../../../src/env/tools/rules-responder.js';
import type { Responder } from '../../../src/env/tools/tools-family.js';
import { readEpisodeLogs } from '../../../src/replay/experience/logs/read-episode-logs.js';
import { generateProbes, generateSuccesses, type Probe, readProbes } from '../../../src/worldmodel/must-fail/probes.js';
import { requireMustFail, requireMustSucceed, runMustFail } from '../../../src/worldmodel/must-fail/run-must-fail.js';
import { nativeDomain, scenarioFolder } from '../../controlled/native-domain.js';
import { temporaryFolder } from '../../temporary-folder.js';

const data = process.env.REVERIE_SHARED_DATA ?? fileURLToPath(new URL('../../../../shared/data', import.meta.url));

const domain = await nativeDomain('helpdesk');
const written = await readProbes(join(scenarioFolder('helpdesk'), 'must-fail.yaml'), domain);
const folder = temporaryFolder('must-fail');

/** Answers everything with this. */
function simulator(version: string, answer: (domain: ToolsDomain) => Partial<Prediction>): Responder {
  const base = { operations: [], observation: '{"ok":true}', isError: false, reward: null, terminated: false } as const;
  const rest = {
    truncated: false,
    confidence: 1,
    backend: 'llm',
    modelVersion: version,
    why: [],
    cost: NO_COST,
  } as const;
  return { version, answer: (query) => ({ ...base, ...rest, ...answer(query.domain) }), close: () => {} };
}
const yesMan = simulator('yes-man', () => ({}));
const naysayer = simulator('naysayer', () => ({ isError: true, observation: 'Error: no' }));

describe('what must succeed', () => {
  const tried = async (responder: Responder) =>
    runMustFail({ domain, responder, probes: await generateSuccesses(domain), seed: 1 });
  const useless = expect.objectContaining({ code: 'SIMULATOR_USELESS' });

  it('is made of the tasks’ solutions, for every tool that they call, and done by the real environment', async () => {
    const report = await tried(rulesResponder(domain));
    expect(report.failures).toEqual([]);
    const called = new Set(domain.tasks.flatMap((task) => task.reference?.calls.map(({ name }) => name) ?? []));
    expect(new Set((await generateSuccesses(domain)).map(({ call }) => call?.name))).toEqual(called);
    expect(report.total).toBeGreaterThan(called.size);
    requireMustSucceed(report, 1);
  });

  it('is not done by a simulator that refuses everything, which fails nothing that must fail', async () => {
    const report = await tried(naysayer);
    expect(report.passed).toBe(0);
    expect(report.failures[0].problem).toBe('was refused: Error: no');
    expect(() => requireMustSucceed(report, 0.5)).toThrow(useless);
    const sound = await runMustFail({ domain, responder: naysayer, probes: written.filter(({ call }) => call) });
    expect(sound.byKind['missing-entity']).toMatchObject({ value: 1 });
  });

  it('is not done by one that says yes to everything, nor by one that says nothing', async () => {
    const yes = await tried(yesMan);
    expect(yes).toMatchObject({ passed: 0 });
    expect(Object.keys(yes.byFault).sort()).toEqual(['changed nothing', 'untrue']);
    for (const { probe, fault } of yes.failures) {
      expect(fault).toBe(probe.expect === 'change' ? 'changed nothing' : 'untrue');
    }
    for (const nothing of ['', '[]', '{}', 'null', 'Done.']) {
      const silent = await tried(simulator(`silent ${nothing}`, () => ({ observation: nothing })));
      expect(silent.passed).toBe(0);
    }
  });

  it('is known without rules from what the state has and from records', async () => {
    const { rules: _, ...specified } = domain;
    const probes = await generateSuccesses(specified);
    const ofState = probes.filter(({ truth }) => truth?.from === 'state');
    expect(ofState.length).toBeGreaterThan(2);
    const real = rulesResponder(domain);
    const put = (responder: Responder, some: readonly Probe[]) =>
      runMustFail({ domain: specified, responder, probes: some });
    expect((await put(real, ofState)).failures).toEqual([]);
    expect((await put(yesMan, ofState)).passed).toBe(0);
    const { steps } = await readEpisodeLogs(join(scenarioFolder('helpdesk'), 'logs'), { domain, scenario: 'helpdesk' });
    const bare = { ...specified, tasks: domain.tasks.map(({ reference: _known, ...task }) => task) };
    expect(await generateSuccesses(bare)).toEqual([]);
    const recorded = await generateSuccesses(bare, { records: steps });
    expect(recorded.length).toBeGreaterThan(2);
    expect((await put(real, recorded)).failures).toEqual([]);
    expect((await put(yesMan, recorded)).byFault).toEqual({ untrue: recorded.length });
  });
});

describe('probes of the service desk', () => {
  it('are passed by the real environment, every one', async () => {
    const report = await runMustFail({ domain, responder: rulesResponder(domain), probes: written });
    expect(report.failures.map(({ probe, problem }) => `${probe.name} ${problem}`)).toEqual([]);
    expect(report).toMatchObject({ passed: written.length, total: written.length, domain: { id: 'helpdesk' } });
    requireMustFail(report, 1);
  });

  it('are failed by a simulator that says yes to everything, with its answers in full', async () => {
    const report = await runMustFail({ domain, responder: yesMan, probes: written });
    const errors = written.filter(({ expect: wanted }) => wanted === 'error');
    expect(report.failures).toHaveLength(errors.length);
    expect(report.byKind['missing-entity']).toMatchObject({ value: 0, count: 0 });
    expect(report.failures[0]).toMatchObject({
      problem: 'was answered without an error',
      prediction: { observation: '{"ok":true}', modelVersion: 'yes-man' },
    });
    const unsound = expect.objectContaining({ code: 'SIMULATOR_UNSOUND' });
    expect(() => requireMustFail(report, 0.95)).toThrow(unsound);
    expect(() => requireMustFail(report, 0.95)).toThrow('"employee that does not exist" was answered without an error');
  });

  it('count an answer that is none, and do not count a server that is away', async () => {
    const usage = NO_COST;
    const broken: Responder = {
      ...yesMan,
      answer: () => {
        throw reverieError('LLM_REPLY_INVALID', { model: 'm', problem: 'no JSON', usage });
      },
    };
    const calling = written.filter(({ call }) => call !== undefined);
    const report = await runMustFail({ domain, responder: broken, probes: calling });
    expect(report.passed).toBe(0);
    const away: Responder = {
      ...yesMan,
      answer: () => {
        throw reverieError('LLM_UNREACHABLE', { endpoint: 'e', problem: 'refused' });
      },
    };
    await expect(runMustFail({ domain, responder: away, probes: calling })).rejects.toMatchObject({
      code: 'LLM_UNREACHABLE',
    });
  });
});

it('generated probes of the service desk are many, of all tools that take ids, and hold in the real environment', async () => {
  const { probes, skipped } = await generateProbes(domain);
  const kinds = (kind: string) => probes.filter((probe) => probe.kind === kind);
  expect(kinds('missing-entity').length).toBeGreaterThan(15);
  expect(kinds('forbidden-transition').length).toBeGreaterThan(3);
  expect(kinds('unearned-success').length).toBeGreaterThan(8);
  expect(new Set(probes.map(({ name }) => name)).size).toBe(probes.length);
  expect(skipped.every(({ reason }) => reason.length > 0)).toBe(true);
  expect(await generateProbes(domain)).toEqual({ probes, skipped });
  const report = await runMustFail({ domain, responder: rulesResponder(domain), probes, skipped });
  expect(report.failures.map(({ probe, problem }) => `${probe.name} ${problem}`)).toEqual([]);
  expect(report.skipped).toEqual(skipped);
});

describe.skipIf(!existsSync(join(data, 'tau')))('probes of τ-bench (skipped without REVERIE_SHARED_DATA)', () => {
  it.each(['airline', 'retail'] as const)('%s hold in the real environment', async (name) => {
    const tau = await makeDomain({ id: `tau-${name}`, data: join(data, 'tau', name) });
    const { probes } = await generateProbes({ ...tau, tasks: tau.tasks.slice(0, 6) });
    expect(probes.length).toBeGreaterThan(10);
    const report = await runMustFail({ domain: tau, responder: rulesResponder(tau), probes });
    expect(report.failures.map(({ probe, problem }) => `${probe.name} ${problem}`)).toEqual([]);
    tau.close();
  });
});

it.each([
  ['no YAML', '- {name', 'must-fail'],
  ['an unknown key', '- {name: a, kind: flattery, expect: error, call: {name: get_ticket}, calls: []}', 'calls'],
  [
    'an unknown task',
    '- {name: a, kind: flattery, expect: no-reward, task: unlok-after-holiday}',
    'unlock-after-holiday',
  ],
  [
    'two of a name',
    ['a', 'a'].map((name) => `- {name: ${name}, kind: flattery, expect: error, call: {name: get_ticket}}`).join('\n'),
    'two probes are called "a"',
  ],
])('a file of probes with %s is one error that says where', async (_, text, problem) => {
  const path = join(folder, 'must-fail.yaml');
  writeFileSync(path, text);
  await expect(readProbes(path, domain)).rejects.toMatchObject({ code: 'FILE_INVALID' });
  await expect(readProbes(path, domain)).rejects.toThrow(problem);
});

it('without a probe nothing is passed', async () => {
  const report = await runMustFail({ domain, responder: yesMan, probes: [] });
  expect(() => requireMustFail(report, 0.5)).toThrow('nothing was tried');
});
