// As experience model: answers a call in the state that is shown, or, where that was cut out, in the one that the conversation's calls
// lead to.

import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import { Rng } from '../../src/core/rng.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { CallSpec, ToolsTask } from '../../src/env/tools/domain.js';
import type { Operation } from '../../src/env/tools/prediction.js';
import { type Asked, asList, asObject, asText } from './asked.js';
import { drawChance } from './chance.js';
import type { ControlledOptions } from './controlled-options.js';
import type { Outcome, Truth } from './truth.js';
import { withInventedId, wrongOutcome } from './wrong-outcome.js';

export interface RememberedQuery {
  readonly truth: Truth;
  /** Entries of sections Episode, oldest first. */
  readonly history: readonly JsonObject[];
  readonly task: ToolsTask | undefined;
  readonly seed: number;
  readonly transitionError: number;
}

/** States after conversations so far: the next step of an episode follows the one before. */
const known = new WeakMap<Truth, Map<string, JsonObject>>();
const MOST_KNOWN = 20_000;

export function rememberedState({ truth, history, task, seed, transitionError }: RememberedQuery): JsonObject {
  const prefix = createHash('sha256').update(`${task?.id} ${seed} ${transitionError}`);
  const states = statesOf(truth);
  let state = truth.initialState(task);
  for (const { user = '', agent = '', call, arguments: given } of history) {
    prefix.update(asText(user) + asText(agent));
    if (call === undefined) continue;
    prefix.update(JSON.stringify([call, given]));
    const digest = prefix.copy().digest();
    const before = state;
    state =
      states.get(digest.toString('latin1')) ??
      afterCall(before, { name: call, arguments: given }, digest.readUInt32LE(0));
    states.set(digest.toString('latin1'), state);
  }
  return state;

  function afterCall(before: JsonObject, call: JsonObject, key: number): JsonObject {
    const { operations } = truth.outcome(before, { name: asText(call.name), arguments: asObject(call.arguments) });
    const isForgotten = Rng.fromSeed(seed).split('memory', key).uniform() < transitionError;
    return operations.length === 0 || isForgotten ? before : applyOperations(before, operations);
  }
}

function statesOf(truth: Truth): Map<string, JsonObject> {
  const states = known.get(truth) ?? new Map<string, JsonObject>();
  if (states.size >= MOST_KNOWN) states.clear();
  known.set(truth, states);
  return states;
}

const SILENT_SHARE = 0.5;

export function predictionReply(asked: Asked, truth: Truth, options: ControlledOptions): JsonObject {
  const { transitionError = 0, silentShare = SILENT_SHARE } = options;
  const call = callOf(asked);
  const state = truth.stateShown(asked.sections, () => believedState(asked, truth, options.seed, 0));
  const right = truth.outcome(state, call);
  const { isWrong, confidence, rng } = drawChance(asked, transitionError, 'transition');
  const answer = isWrong ? wrongOutcome({ truth, state, call, right, silentShare, rng }) : right;
  const { operations, ...shown } = withInventions(answer, asked, options);
  return {
    reasoning: reasoningOf(call, answer),
    operations: operations.map(asReplied) as unknown as Json,
    ...claims(shown, truth.ends(call.name, answer.isError), confidence),
  };
}

function callOf({ sections }: Asked): CallSpec {
  const { name, arguments: given } = asObject(sections.Call);
  return { name: asText(name), arguments: asObject(given) };
}

/** After the calls of the conversation; the task is known by the first thing the user said, if that is still shown. */
function believedState({ sections }: Asked, truth: Truth, seed: number, transitionError: number): JsonObject {
  const history = asList(sections.Episode);
  const first = history.find(({ user }) => user !== undefined);
  const task = first === undefined ? undefined : truth.taskOfOpening(asText(first.user));
  return rememberedState({ truth, history, task, seed, transitionError });
}

function withInventions(answer: Outcome, asked: Asked, { inventedEntities = 0 }: ControlledOptions): Outcome {
  const rng = asked.rng.split('invented');
  if (answer.isError || rng.uniform() >= inventedEntities) return answer;
  return { ...answer, observation: withInventedId(answer.observation, rng) };
}

function asReplied(operation: Operation): JsonObject {
  const { op, path } = operation;
  return { op, path, value: 'value' in operation ? JSON.stringify(operation.value) : 'null' };
}

function claims({ observation }: Pick<Outcome, 'observation'>, terminated: boolean, confidence: number): JsonObject {
  return { observation, reward: null, terminated, confidence };
}

function reasoningOf({ name }: CallSpec, { operations, isError }: Outcome): string {
  if (isError) return `${name} cannot be done here.`;
  if (operations.length === 0) return `${name} looks something up and changes nothing.`;
  return `${name} changes ${operations.length} values, from ${operations[0].path} on.`;
}
