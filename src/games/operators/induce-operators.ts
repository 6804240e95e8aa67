// Operators from transitions, each action's on its own: what it may speak of, what it needs, what it makes so, what is answered.

import { canonicalJson, sha256 } from '../../core/canonical-json.js';
import { Chances } from './chance.js';
import { type Case, type Condition, casesOf, conditionsOf, holds, truthIn } from './conditions.js';
import { effectsOf } from './effects.js';
import { readLiteral } from './literal.js';
import { type Operator, type OperatorsFile, type Variable, variablesIn } from './operator.js';
import { preconditionsOf } from './preconditions.js';
import {
  type Frame,
  frameOf,
  type Transition,
  type Try,
  triesByAction,
  type Vocabulary,
  vocabularyOf,
} from './tries.js';
import { variablesFor } from './variables.js';
import { listsAlike, type Told, toldIn, wordingsOf } from './wordings.js';

/** The same transitions give the same operators, to the byte. An action that was never carried out has none. What was offered is evidence of what
 * an action does not need: demonstrations are no walks of chance, so that much of what always held in them was not needed. */
export function induceOperators(transitions: readonly Transition[]): OperatorsFile {
  const vocabulary = vocabularyOf(transitions);
  const actions = triesByAction(transitions);
  const frames = actions
    .filter(({ accepted }) => accepted.length > 0)
    .map((tries) => frameOf(tries, variablesFor(tries, vocabulary)));
  const told = frames.map(toldIn);
  const known = transitions.map(({ action, accepted, before, after }) => [
    action.name,
    action.objects,
    accepted,
    before,
    after,
  ]);
  return {
    format: 'reverie-operators-1',
    from: {
      transitions: transitions.length,
      accepted: transitions.filter(({ accepted }) => accepted).length,
      scenes: new Set(transitions.map(({ scene }) => scene)).size,
      sha256: sha256(canonicalJson(known)),
    },
    refusals: counted(transitions.flatMap((one) => (one.accepted ? [] : (one.observation ?? [])))).map(
      ([text, support]) => ({ text, support }),
    ),
    operators: listsAlike(
      frames.map((frame, i) => {
        const elsewhere = told.flatMap((list, other) => (other === i ? [] : list));
        return operatorOf(frame, vocabulary, transitions, elsewhere);
      }),
    ),
    refused: actions
      .filter(({ accepted, offered }) => accepted.length + offered.length === 0)
      .map(({ action, all }) => ({ action: action.name, support: all.length })),
  };
}

function operatorOf(
  frame: Frame,
  vocabulary: Vocabulary,
  transitions: readonly Transition[],
  elsewhere: readonly Told[],
): Operator {
  const { action, all, accepted } = frame.tries;
  const conditions = conditionsOf(frame, vocabulary);
  const { preconditions, always, unexplained } = preconditionsOf(
    { conditions, cases: casesOf(frame, conditions) },
    new Chances(frame, transitions),
  );
  const truths = new Map<Try, Pick<Case, 'truth'>>(accepted.map((one) => [one, truthIn(one, frame, conditions)]));
  const effects = effectsOf(frame, conditions, truths);
  const wordings = wordingsOf(frame, vocabulary, elsewhere);
  const said = [
    ...always,
    ...preconditions.flatMap(({ any }) => any),
    ...effects.effects.flatMap(({ makes, when }) => [makes, ...when]),
    ...wordings.flatMap(({ when, lists }) => [...when, ...lists.map(({ of }) => of)]),
  ];
  const named = wordings.flatMap(({ text }) => [...text.matchAll(/\{(\?[^\s{}]+)\}/g)].map(([, name]) => name));
  const variables = neededBy([...said.flatMap((text) => variablesIn(readLiteral(text)!)), ...named], frame.variables);
  return {
    action: action.name,
    parameters: [...action.parameters],
    variables,
    accepted: accepted.length,
    refused: all.length - accepted.length,
    unexplained,
    preconditions: [...preconditions],
    always: [...always],
    beyond: beyond(conditions, [...truths.values()]),
    effects: [...effects.effects],
    unexplainedChanges: effects.unexplained,
    wordings,
  };
}

/** Tries, in order, in which something did not hold that had held in all before them. */
function beyond(conditions: readonly Condition[], accepted: readonly Pick<Case, 'truth'>[]): number {
  let safe = conditions;
  return accepted.filter((one) => {
    const still = safe.filter((condition) => holds(condition, one));
    const isBeyond = safe !== conditions && still.length < safe.length;
    safe = still;
    return isBeyond;
  }).length;
}

/** Each text once, with how often it came, the most frequent first. */
function counted(texts: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1));
}

/** The variables that are spoken of, and those through which these are found. */
function neededBy(names: readonly string[], variables: readonly Variable[]): Variable[] {
  const needed = new Set(names);
  for (const { name, is } of [...variables].reverse()) {
    if (needed.has(name) && is !== undefined) for (const other of variablesIn(readLiteral(is)!)) needed.add(other);
  }
  return variables.filter(({ name }) => needed.has(name));
}
