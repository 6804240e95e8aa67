// A learner of tools without a language model. At each moment actions are proposed to it, right and wrong ones; what it learns is
// which to take, from episodes that went well: what was taken in them, and what was proposed beside it and was not
// (filtered imitation). A world that calls wrong episodes right lets them in, and it learns to do as they did.

import { canonicalJson } from '../../../canonical-json.js';
import { NO_COST } from '../../../cost.js';
import type { ToolSpec, ToolsAction, ToolsPolicy, ToolsPolicyQuery, ToolsTask } from '../../../env/index.js';
import type { EpisodeRecord } from '../../../replay/index.js';
import { Rng } from '../../../rng.js';
import { Moment } from './action-features.js';
import type { Choice, ChoiceModel } from './choice-model.js';

/** What could be done at a moment: a function of the query alone. */
export type Propose = (query: ToolsPolicyQuery) => readonly ToolsAction[];

/** An episode that was lived, and its task. */
export interface Demonstration {
  readonly task: ToolsTask;
  readonly record: Pick<EpisodeRecord, 'messages' | 'steps' | 'return'>;
  /** Of what else is proposed at its moments. */
  readonly seed: number;
}

export class ChoosingAgent implements ToolsPolicy {
  readonly version = 'chooses among proposals';

  constructor(
    private readonly model: ChoiceModel,
    private readonly propose: Propose,
  ) {}

  /** Ties go by the seed, so that one who has learned nothing chooses at random. */
  act(query: ToolsPolicyQuery): { action: ToolsAction; cost: typeof NO_COST } {
    const rng = Rng.fromSeed(query.seed).split('choice', query.step);
    const moment = new Moment(query.messages, query.tools);
    const scored = distinct(this.propose(query)).map((action) => ({
      action,
      score: this.model.score(moment.features(action)),
      turn: rng.uniform(),
    }));
    const [{ action }] = scored.sort((a, b) => b.score - a.score || a.turn - b.turn);
    return { action, cost: NO_COST };
  }
}

/** What is learned from a demonstration: nothing where its return is not 1. */
export function shownChoices(
  { task, record, seed }: Demonstration,
  propose: Propose,
  tools: readonly ToolSpec[],
): readonly Choice[] {
  if (record.return !== 1) return [];
  return record.steps.map(({ message, action }, step) => {
    const messages = record.messages.slice(0, message);
    const moment = new Moment(messages, tools);
    const proposed = distinct([action, ...propose({ messages, tools, task, seed, step })]);
    const [taken, ...others] = proposed.map((one) => moment.features(one));
    return { taken, others };
  });
}

/** The first of those that do the same, in their order. */
function distinct(actions: readonly ToolsAction[]): readonly ToolsAction[] {
  const seen = new Set<string>();
  return actions.filter((action) => {
    const done = doneBy(action);
    const isNew = !seen.has(done);
    seen.add(done);
    return isNew;
  });
}

function doneBy({ content, toolCalls }: ToolsAction): string {
  if (toolCalls === undefined) return `says ${content}`;
  return canonicalJson(toolCalls.map(({ name, arguments: given }) => ({ name, arguments: given })));
}
