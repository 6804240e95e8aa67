// Steps to test with: templated, as logs of tools are.

import { Rng } from '../../../src/core/rng.js';
import type { ExperienceStep, RetrievalQuery } from '../../../src/replay/experience/experience.js';
import { callText } from '../../../src/replay/experience/terms.js';

export function step(changes: Partial<ExperienceStep> = {}): ExperienceStep {
  return {
    source: 'real',
    backend: 'real',
    modelVersion: '',
    scenario: 'test',
    task: 'task-1',
    episode: 'e0',
    step: 0,
    row: -1,
    call: { name: 'get_ticket', arguments: { ticket_id: 'T1' } },
    history: [],
    observation: 'ok',
    isError: false,
    reward: null,
    terminated: false,
    confidence: 1,
    verified: true,
    ...changes,
  };
}

export function simulated(row: number, changes: Partial<ExperienceStep> = {}): ExperienceStep {
  return step({ source: 'synthetic', backend: 'llm', modelVersion: 'model-a', row, episode: `e${row}`, ...changes });
}

export function query(changes: Partial<RetrievalQuery> = {}): RetrievalQuery {
  return { call: { name: 'get_ticket', arguments: { ticket_id: 'T1' } }, history: [], sources: 'both', ...changes };
}

const TOOLS = ['get_ticket', 'close_ticket', 'add_comment', 'find_users', 'assign_ticket', 'refund_order', 'list_tags'];
const WORDS = ['printer', 'password', 'refund', 'network', 'slow', 'broken', 'invoice', 'login', 'urgent', 'screen'];

export function templatedCall(rng: Rng, entities: number): ExperienceStep['call'] {
  const name = TOOLS[rng.int(TOOLS.length)];
  const word = () => WORDS[rng.int(WORDS.length)];
  return {
    name,
    arguments: {
      ticket_id: `T${rng.int(entities)}`,
      user_id: `user_${rng.int(entities / 2)}`,
      ...(rng.uniform() < 0.5 ? { note: `the ${word()} is ${word()} and ${word()}` } : {}),
      ...(rng.uniform() < 0.2 ? { priority: rng.int(4) } : {}),
    },
  };
}

/** Real steps in episodes of up to `length` calls. */
export function templatedSteps(count: number, seed: number, entities = 500, length = 10): ExperienceStep[] {
  const rng = Rng.fromSeed(seed).split('steps');
  const steps: ExperienceStep[] = [];
  let history: string[] = [];
  for (let n = 0; n < count; n++) {
    const at = n % length;
    if (at === 0) history = [];
    const call = templatedCall(rng, entities);
    steps.push(
      step({ call, history, step: at, episode: `e${Math.floor(n / length)}`, observation: `${n}`, task: `t${n % 7}` }),
    );
    history = [...history, callText(call)].slice(-8);
  }
  return steps;
}
