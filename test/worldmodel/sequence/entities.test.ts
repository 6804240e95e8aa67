// A sequence model of a help desk, a world of entities in collections, learned from what another backend answered; and the share of
// calls that it takes over from that one.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { Rng } from '../../../src/core/rng.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import { stateHash } from '../../../src/env/state/state.js';
import type { ToolCall } from '../../../src/env/tools/message.js';
import { fitSequence } from '../../../src/worldmodel/sequence/fit.js';
import type { LearnedEpisode } from '../../../src/worldmodel/sequence/recorded-steps.js';
import { type SequenceContents, saveSequence } from '../../../src/worldmodel/sequence/sequence-model.js';
import { sequenceSection } from '../../../src/worldmodel/sequence/settings.js';
import { makeRouter } from '../../../src/worldmodel/tools/router.js';
import { parseToolsModelConfig } from '../../../src/worldmodel/tools/tools-model-schema.js';
import { DESK_TASK, deskDomain, deskRules } from '../tools/desk.js';

const root = mkdtempSync(join(tmpdir(), 'reverie-entities-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const tasks = Array.from({ length: 24 }, (_, i) => ({ ...DESK_TASK, id: `task-${i}`, family: `task-${i}` }));
const domain = { ...deskDomain({ rules: deskRules, tickets: 8 }), tasks };

/** Looking at tickets and closing them, such as there are none of among them. */
function calls(rng: Rng, count: number): ToolCall[] {
  return Array.from({ length: count }, (_, i) => {
    const name = rng.uniform() < 0.5 ? 'get_ticket' : 'close_ticket';
    return { id: `call-${i}`, name, arguments: { ticket_id: `T${1001 + rng.int(10)}` } };
  });
}

const episodes = tasks.map((task, i) => {
  let state: JsonObject = domain.initialState;
  const steps = calls(Rng.fromSeed(i), 12).map((call) => {
    const outcome = deskRules.execute(state, call);
    state = applyOperations(state, outcome.operations);
    return { action: { content: null, toolCalls: [call] }, predictions: [outcome] };
  });
  return { id: task.id, task: task.id, steps, return: 0, terminated: false } as unknown as LearnedEpisode;
});

const router = (backends: readonly string[], given: object) =>
  makeRouter(parseToolsModelConfig({ backends: [...backends], sequence: { model: 'desk', ...given } }), {
    domain,
    folder: root,
  });

let contents: SequenceContents;
beforeAll(async () => {
  const fit = { rows: 4, length: 160, hidden: 64, layers: 2, heads: 2, kvHeads: 1, vocabulary: 420, heldOut: 0.2 };
  const settings = sequenceSection.parse({ fit: { ...fit, learningRate: 4e-3, steps: 200 } });
  contents = await fitSequence({ domain, episodes, settings, rng: Rng.fromSeed(2) });
  await saveSequence(join(root, 'desk'), contents);
}, 120_000);

describe('a model of entities', () => {
  it('sees collections, and spells what many of them share', () => {
    expect(contents.form).toMatchObject({ world: 'values', shared: ['closed', 'open'] });
    expect(contents.report.stateExact).toBeGreaterThan(0.9);
  });

  it('takes over most calls, and leaves states as exact as they were', async () => {
    const mixed = await router(['sequence', 'rules'], { minConfidence: 0.9 });
    const answered: Record<string, number> = {};
    for (let seed = 100; seed < 102; seed++) {
      let [state, truth]: JsonObject[] = [domain.initialState, domain.initialState];
      for (const [step, call] of calls(Rng.fromSeed(seed), 12).entries()) {
        const answer = await mixed.answer({ domain, task: tasks[0], state, messages: [], call, step, seed });
        answered[answer.backend] = (answered[answer.backend] ?? 0) + 1;
        state = applyOperations(state, answer.operations);
        truth = applyOperations(truth, deskRules.execute(truth, call).operations);
        expect(stateHash(state)).toBe(stateHash(truth));
      }
    }
    expect(answered.sequence).toBeGreaterThan(12);
  });
});
