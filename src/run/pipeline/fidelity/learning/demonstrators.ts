// Who shows learners of tools what can be done, right and wrong, and what learners choose among. None needs a language model.

import { NO_COST } from '../../../../cost.js';
import type { ToolsAction, ToolsPolicy, ToolsPolicyQuery } from '../../../../env/index.js';
import { Rng } from '../../../../rng.js';
import { RandomAgent, ReferenceAgent } from '../../../../synth/index.js';

/** Calls of an episode that a proposal at random is made in. */
const ALWAYS = Number.MAX_SAFE_INTEGER;
const DONE = 'That is done. Is there anything else I can help with?';

/** Does the task's known way to fail of this number; where it has none, errs in half of its calls. */
class FailingAgent implements ToolsPolicy {
  readonly version: string;
  private readonly other = new ReferenceAgent(0.5);
  private readonly reference = new ReferenceAgent(0);

  constructor(private readonly number: number) {
    this.version = `fails in way ${number}`;
  }

  act(query: ToolsPolicyQuery) {
    const { failures = [] } = query.task;
    if (failures.length === 0) return this.other.act(query);
    const reference = failures[this.number % failures.length];
    return this.reference.act({ ...query, task: { ...query.task, reference } });
  }
}

/** In turn: those who know the solution, those who get a share of it wrong, and those who fail in ways that are known. */
export const DEMONSTRATORS: readonly ToolsPolicy[] = [
  new ReferenceAgent(0),
  new FailingAgent(0),
  new ReferenceAgent(0.3),
  new FailingAgent(1),
  new ReferenceAgent(0.6),
  new FailingAgent(2),
  new ReferenceAgent(1),
];

const PROPOSERS: readonly ToolsPolicy[] = [
  new ReferenceAgent(0),
  new ReferenceAgent(0.5),
  new ReferenceAgent(1),
  new FailingAgent(0),
  new FailingAgent(1),
  new FailingAgent(2),
  new RandomAgent(ALWAYS),
  { version: 'is done', act: ({ task }) => ({ action: { content: task.reference?.say ?? DONE }, cost: NO_COST }) },
];

/** What each of several agents would do next; which errors they make depends on the query's seed and step. */
export function proposals(query: ToolsPolicyQuery): ToolsAction[] {
  const rng = Rng.fromSeed(query.seed).split('proposals', query.step);
  return PROPOSERS.map((agent, i) => {
    const said = agent.act({ ...query, seed: rng.split('proposer', i).uint32() });
    return (said as { readonly action: ToolsAction }).action;
  });
}
