// What a simulator without a state believes: the conversation's calls carried out in order, each change forgotten with a
// fixed chance. What is forgotten stays forgotten for the rest of the episode.

import { createHash } from 'node:crypto';
import type { JsonObject } from '../../src/core/canonical-json.js';
import { Rng } from '../../src/core/rng.js';
import { applyOperations } from '../../src/env/state/operations.js';
import type { ToolsTask } from '../../src/env/tools/domain.js';
import { asList, asObject, asText } from './asked.js';
import type { Truth } from './truth.js';

export interface RememberedQuery {
  readonly truth: Truth;
  /** Messages of section History, oldest first. */
  readonly history: readonly JsonObject[];
  readonly task: ToolsTask | undefined;
  readonly seed: number;
  readonly transitionError: number;
}

/** States after conversations so far: the next step of an episode goes on from the one before. */
const known = new WeakMap<Truth, Map<string, JsonObject>>();
const MOST_KNOWN = 20_000;

export function rememberedState({ truth, history, task, seed, transitionError }: RememberedQuery): JsonObject {
  const prefix = createHash('sha256').update(`${task?.id} ${seed} ${transitionError}`);
  const states = statesOf(truth);
  let state = truth.initialState(task);
  for (const { role, content, calls } of history) {
    if (role === 'user' || role === 'assistant') prefix.update(asText(content));
    for (const call of asList(calls)) {
      prefix.update(JSON.stringify(call));
      const digest = prefix.copy().digest();
      const before = state;
      state = states.get(digest.toString('latin1')) ?? afterCall(before, call, digest.readUInt32LE(0));
      states.set(digest.toString('latin1'), state);
    }
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
