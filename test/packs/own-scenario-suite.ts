// The tests that every scenario of ours with tools passes.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileSchema, stateHash } from '../../src/env/state/state.js';
import type { ToolsDomain } from '../../src/env/tools/domain.js';
import { loadDomain } from '../../src/env/tools/load-domain.js';
import { rulesResponder } from '../../src/env/tools/rules-responder.js';
import { readProbes } from '../../src/worldmodel/must-fail/probes.js';
import { runMustFail } from '../../src/worldmodel/must-fail/run-must-fail.js';
import { nativeDomain, scenarioFolder } from '../controlled/native-domain.js';
import { liveThrough, playCalls, readEpisodes, replayFiled, stateFaults } from './own-scenario.js';

export function describeOwnScenario(name: string): void {
  describe(`scenario ${name}`, () => {
    let domain: ToolsDomain;
    let sandboxed: ToolsDomain;
    beforeAll(async () => {
      domain = await nativeDomain(name);
      sandboxed = await loadDomain(scenarioFolder(name));
    });
    afterAll(() => sandboxed.close());

    it('can be solved: every reference solution earns 1 in the real environment', async () => {
      const rewards = await Promise.all(domain.tasks.map((task) => liveThrough(domain, task, task.reference!)));
      expect(unlike(domain, rewards, 1)).toEqual([]);
    });

    it('cannot be fooled: every way to fail that it lists earns 0', async () => {
      for (const task of domain.tasks) {
        expect(task.failures!.length, task.id).toBeGreaterThan(0);
        for (const failure of task.failures!) {
          const { reward } = await liveThrough(domain, task, failure);
          expect(reward, `${task.id}: ${failure.name}`).toBe(0);
        }
      }
    });

    it('gives nothing for doing nothing where something has to be done', async () => {
      const writes = domain.tasks.filter(
        (task) => task.verifier.state === 'reference' || !task.tags!.includes('refuse'),
      );
      const rewards = await Promise.all(writes.map((task) => liveThrough(domain, task, { calls: [] })));
      expect(rewards.filter(({ reward }) => reward !== 0)).toEqual([]);
    });

    it('keeps to its schema and its invariants along every reference', () => {
      const check = compileSchema(domain.stateSchema, 'the state');
      expect(domain.tasks.flatMap((task) => stateFaults(domain, task, check))).toEqual([]);
    });

    it('does the same in the sandbox as in Node', () => {
      for (const task of domain.tasks.filter((_, i) => i % 7 === 0)) {
        const { calls } = task.reference!;
        const native = playCalls(domain, task, { calls });
        const inSandbox = playCalls(sandboxed, task, { calls });
        expect(inSandbox.messages).toEqual(native.messages);
        expect(stateHash(inSandbox.finalState)).toBe(stateHash(native.finalState));
        for (const check of task.verifier.checks ?? [])
          expect(sandboxed.rules!.check(check, inSandbox)).toEqual(domain.rules!.check(check, native));
      }
    });

    it('does not share families between splits', () => {
      const splits = new Map<string, Set<string>>();
      for (const { family, split } of domain.tasks) splits.set(family, (splits.get(family) ?? new Set()).add(split!));
      expect([...splits].filter(([, found]) => found.size > 1)).toEqual([]);
      expect(new Set([...splits.values()].flatMap((found) => [...found]))).toEqual(
        new Set(['train', 'validation', 'test']),
      );
    });

    it('has recorded episodes that its rules repeat byte by byte, with the rewards recorded', () => {
      for (const episode of readEpisodes(name, 'logs/seed.jsonl')) {
        const { differences, reward } = replayFiled(domain, episode);
        expect(differences).toEqual([]);
        expect(reward, episode.id).toBe(episode.reward);
      }
    });

    it('records nothing of tasks kept for testing', () => {
      const kept = new Set(domain.tasks.filter(({ split }) => split === 'test').map(({ id }) => id));
      expect(readEpisodes(name, 'logs/seed.jsonl').filter(({ task }) => kept.has(task))).toEqual([]);
    });

    it('has probes that its own rules pass', async () => {
      const probes = await readProbes(`${scenarioFolder(name)}/must-fail.yaml`, domain);
      const report = await runMustFail({ domain, responder: rulesResponder(domain), probes });
      expect(report.failures).toEqual([]);
      expect(report.passed).toBe(probes.length);
    });
  });
}

function unlike(
  domain: ToolsDomain,
  results: readonly { reward: number | null | undefined }[],
  reward: number,
): string[] {
  const found = domain.tasks.map(({ id }, i) => ({ id, reward: results[i].reward }));
  return found.filter((task) => task.reward !== reward).map((task) => `${task.id}: ${task.reward}`);
}
