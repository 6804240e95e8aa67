// Episodes of an explorer in the depot (test/synth/operators/depot.ts), as records that a sequence model learns from.

import type { JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import type { Message } from '../../../src/env/tools/message.js';
import { initialStateOf } from '../../../src/env/tools/situation.js';
import { ExplorerAgent } from '../../../src/synth/episodes/agents/explorer-agent.js';
import type { LearnedEpisode } from '../../../src/worldmodel/sequence/recorded-steps.js';

export function depotEpisodes(domain: ToolsDomain, seeds: readonly number[], count: number): LearnedEpisode[] {
  return domain.tasks.flatMap((task, i) => seeds.map((seed) => episode(domain, i, seed * 10 + i, count, task.id)));
}

function episode(domain: ToolsDomain, i: number, seed: number, count: number, id: string): LearnedEpisode {
  const task = domain.tasks[i];
  const agent = new ExplorerAgent(domain, { guesses: 0.4, follows: 0 });
  const rules = domain.rules!;
  const messages: Message[] = [];
  let state: JsonObject = initialStateOf(domain, task);
  const steps = Array.from({ length: count }, (_, step) => {
    const { action } = agent.act({ messages, tools: domain.tools, task, seed, step });
    messages.push({ role: 'assistant', ...action });
    const outcome = rules.execute(state, action.toolCalls![0]);
    state = applyOperations(state, outcome.operations);
    return { action, predictions: [outcome] };
  });
  const isWon = rules.check('goal', { initialState: state, finalState: state, messages }).passed === true;
  const record = { id: `${id}-${seed}`, task: task.id, steps, return: isWon ? 1 : 0, terminated: isWon };
  return record as unknown as LearnedEpisode;
}
