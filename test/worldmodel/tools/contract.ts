// What every backend of tools keeps to, however it answers: run by rules, replay, language models and the real environment.

import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { addCosts, type Cost, NO_COST } from '../../../src/core/cost.js';
import { stateHash } from '../../../src/env/state/state.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import type { Prediction } from '../../../src/env/tools/prediction.js';
import type { ToolsEpisodeEnvironment } from '../../../src/env/tools/tools-environment.js';
import type { Responder, ToolsAction, ToolsStepInfo } from '../../../src/env/tools/tools-family.js';
import { rulesEnvironment } from '../../env/tools/library.js';

export interface ContractCase {
  readonly domain: ToolsDomain;
  /** A new responder of the same kind; `spent` is what its model was paid. */
  make(): Promise<{ readonly responder: Responder; spent(): Cost }>;
  /** Calls it can answer one after the other, the last of which fails and changes nothing. */
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
  readonly backend: Prediction['backend'];
}

type Step = ToolsStepInfo & { readonly messages: unknown };

export function toolsBackendContract(given: ContractCase): void {
  const { domain, calls, backend } = given;
  const action = (i: number): ToolsAction => ({ content: null, toolCalls: [{ id: `call-${i}`, ...calls[i] }] });

  const begin = async (responder: Responder, seed = 1) => {
    const environment = rulesEnvironment(domain, { responder });
    await environment.reset({ seed });
    return environment;
  };
  const play = async (environment: ToolsEpisodeEnvironment, from: number, to = calls.length): Promise<Step[]> => {
    const steps: Step[] = [];
    for (let i = from; i < to; i++) {
      const { info } = await environment.step(action(i));
      steps.push({ ...(info as unknown as ToolsStepInfo), messages: environment.messages });
    }
    return steps;
  };

  it('answers the same to the same, in one instance or another', async () => {
    const [a, b] = [await given.make(), await given.make()];
    const first = await play(await begin(a.responder), 0);
    expect(await play(await begin(a.responder), 0)).toEqual(first);
    expect(await play(await begin(b.responder), 0)).toEqual(first);
    expect(b.responder.version).toBe(a.responder.version);
  });

  it('goes on from a snapshot as it would have without', async () => {
    const { responder } = await given.make();
    const whole = await play(await begin(responder), 0);
    const stopped = await begin(responder);
    await play(stopped, 0, 2);
    const snapshot = JSON.parse(JSON.stringify(stopped.snapshot()));
    const resumed = await begin((await given.make()).responder, 99);
    resumed.restore(snapshot);
    expect(await play(resumed, 2)).toEqual(whole.slice(2));
  });

  it('lets a group branch from one state in the middle of an episode', async () => {
    const { responder } = await given.make();
    const trunk = await begin(responder);
    await play(trunk, 0, 2);
    const snapshot = trunk.snapshot();
    const branches = await Promise.all([11, 12, 13].map(() => begin(responder)));
    branches.forEach((branch, i) => {
      branch.restore(snapshot, { seed: 11 + i });
    });
    expect(new Set(branches.map(({ state }) => stateHash(state)))).toEqual(new Set([stateHash(trunk.state)]));
    const ends = await Promise.all(branches.map((branch) => play(branch, 2)));
    for (const [i, branch] of branches.entries()) {
      const again = await begin(responder);
      again.restore(snapshot, { seed: 11 + i });
      expect(await play(again, 2)).toEqual(ends[i]);
      expect(branch.seed).toBe(11 + i);
    }
  });

  it('says who answered, how surely, why, and what it cost', async () => {
    const { responder, spent } = await given.make();
    const predictions = (await play(await begin(responder), 0)).flatMap((step) => step.predictions);
    expect(predictions).toHaveLength(calls.length);
    for (const { backend: who, modelVersion, confidence, why, reward } of predictions) {
      expect(who).toBe(backend);
      expect(modelVersion).not.toBe('');
      expect(confidence).toBeGreaterThan(0);
      expect(confidence).toBeLessThanOrEqual(1);
      expect(why.at(-1)).toMatch(new RegExp(`^${backend}: answered`));
      expect(reward).toBeNull();
    }
    const { money, ...counted } = spent();
    const paid = predictions.map(({ cost }) => cost).reduce(addCosts, NO_COST);
    expect(paid).toMatchObject(counted);
    expect(paid.money).toBeCloseTo(money, 9);
  });

  it('leaves the state as it was where a call fails, and never changes the one it is given', async () => {
    const { responder } = await given.make();
    const before = stateHash(structuredClone(domain.initialState));
    const steps = await play(await begin(responder), 0);
    const [previous, last] = steps.slice(-2);
    expect(last.predictions[0]).toMatchObject({ isError: true, operations: [] });
    expect(last.stateHash).toBe(previous.stateHash);
    expect(stateHash(structuredClone(domain.initialState))).toBe(before);
  });
}
