// Operators from transitions, each action's on its own: what it may speak of, what it needs, what it makes so, what is answered.

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { canonicalJson, type JsonObject, sha256 } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { writeFileAtomic } from '../../core/files.js';
import { applyOperations } from '../../env/state/operations.js';
import type { CallSpec, FactTable, Scene, ToolRules, ToolsDomain } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { ExperienceStep } from '../../replay/experience/experience.js';
import type { FitRequest, FittedBackend } from '../../synth/train-backend.js';
import { factKey, Situation, takenAction } from '../../worldmodel/situation.js';
import type { BackendModel, Declined, RawProposal } from '../../worldmodel/tools/backend-model.js';
import {
  type Case,
  Chances,
  type Condition,
  casesOf,
  conditionsOf,
  effectsOf,
  holds,
  preconditionsOf,
  truthIn,
} from './conditions.js';
import {
  type Binding,
  bindingOf,
  laplace,
  type Operator,
  type OperatorEffect,
  type OperatorsFile,
  objectsOf,
  operatorsFileSchema,
  readLiteral,
  saidOf,
  truthOf,
  type Variable,
  variablesIn,
} from './operator.js';
import {
  type Frame,
  frameOf,
  recordedTries,
  type Transition,
  type Try,
  triesByAction,
  type Vocabulary,
  variablesFor,
  vocabularyOf,
} from './tries.js';
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
  const known = transitions.map(({ action: { name, objects }, accepted, before, after }) => {
    return [name, objects, accepted, before, after];
  });
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
  const cases = casesOf(frame, conditions);
  const { preconditions, always, unexplained } = preconditionsOf(conditions, cases, new Chances(frame, transitions));
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

/** @throws DOMAIN_UNFIT in a world whose states are no facts about objects */
export async function fitOperators({ domain, steps, folder, phase }: FitRequest): Promise<FittedBackend> {
  if (domain.rules?.scene === undefined)
    throw reverieError('DOMAIN_UNFIT', {
      problem: `The states of domain "${domain.id}" are no facts about objects, so operators cannot be found in its records.`,
      hint: 'Take a domain of PDDL games (text-games, alfworld). Rules of other domains: reverie induce FOLDER --logs RECORDS.',
    });
  const bar = phase('induce operators', 1, 'fits');
  const found = induceOperators(recordedTries(steps, domain));
  const file = join(folder, 'operators.json');
  await writeFileAtomic(file, `${JSON.stringify(found, null, 2)}\n`);
  const about = `${found.operators.length} operators from ${found.from.transitions} calls, ${found.from.accepted} of them carried out`;
  bar.end(about);
  return { settings: { file }, about, isReady: true };
}

/** @throws FILE_INVALID */
export function readOperators(file: string, folder = '.'): OperatorsFile {
  const path = resolve(folder, file);
  const invalid = (problem: string, cause?: unknown) => {
    const hint =
      'Write the file with reverie induce SCENARIO --operators FILE --logs RECORDS; model.operators.file is relative to the scenario.';
    return reverieError('FILE_INVALID', { problem: `Operators "${path}": ${problem}.`, hint }, cause);
  };
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw invalid((cause as Error).message, cause);
  }
  const read = operatorsFileSchema.safeParse(json);
  if (read.success) return read.data;
  throw invalid(describeIssues(read.error));
}

export class OperatorsModel implements BackendModel {
  readonly version: string;
  private readonly book: OperatorBook;

  /** @param sceneOf  what there is in the world of a state, and what is so in it for good */
  constructor(
    file: OperatorsFile,
    private readonly sceneOf: NonNullable<ToolRules['scene']>,
  ) {
    this.book = new OperatorBook(file);
    this.version = `operators:${sha256(canonicalJson(file)).slice(0, 16)}`;
  }

  predict({ state, call }: CallQuery): RawProposal | Declined {
    const outcome = this.book.outcome(this.sceneOf(state), state.facts as FactTable, call);
    if ('unknown' in outcome) return { declined: outcome.unknown };
    const { accepted, operations, observation, confidence } = outcome;
    if (observation === undefined) return { declined: 'what is answered to it was never seen in such a state' };
    return { operations, observation, isError: !accepted, confidence, cost: NO_COST };
  }
}

interface OperatorOutcome {
  readonly accepted: boolean;
  readonly operations: readonly Operation[];
  /** undefined where it is not known what is answered. */
  readonly observation: string | undefined;
  /** That of what is least attested, by Laplace's rule of succession. */
  readonly confidence: number;
}

export class OperatorBook {
  private readonly operators: ReadonlyMap<string, Operator>;
  private readonly refused: ReadonlyMap<string, number>;

  constructor(private readonly file: OperatorsFile) {
    this.operators = new Map(file.operators.map((operator) => [operator.action, operator]));
    this.refused = new Map(file.refused.map(({ action, support }) => [action, support]));
  }

  /** @param facts  the state's */
  outcome(scene: Scene, facts: FactTable, call: CallSpec): OperatorOutcome | { readonly unknown: string } {
    const { name, objects } = takenAction(call, scene);
    const operator = this.operators.get(name);
    const support = this.refused.get(name);
    if (operator === undefined) {
      return support === undefined ? { unknown: `"${name}" was never tried` } : this.refusal(laplace(support, 0));
    }
    const before = new Situation(scene, facts);
    const binding = bindingOf(operator, objects, before);
    const holds = (text: string) => truthOf(readLiteral(text)!, binding, before) === true;
    const unmet = operator.preconditions.filter(({ any }) => !any.some(holds));
    if (unmet.length > 0)
      return this.refusal(Math.max(...unmet.map((one) => laplace(one.support, one.counterExamples))));
    const due = operator.effects.filter(({ when }) => when.every(holds));
    const outcome = this.carriedOut(operator, due, binding, before);
    if ('unknown' in outcome || operator.always.every(holds)) return outcome;
    // What always held may be needed; how often such a thing was not is how sure one may be here.
    return { ...outcome, confidence: Math.min(outcome.confidence, laplace(operator.beyond, operator.unexplained)) };
  }

  private carriedOut(
    operator: Operator,
    due: readonly OperatorEffect[],
    binding: Binding,
    before: Situation,
  ): OperatorOutcome | { readonly unknown: string } {
    const { accepted, unexplained, unexplainedChanges } = operator;
    const operations = operationsOf(due, binding, before.facts);
    if (operations === undefined)
      return { unknown: `"${operator.action}" changes something that cannot be named here` };
    const after = new Situation(before.scene, changed(before.facts, operations));
    const said = saidOf(operator.wordings, binding, after);
    const sure = [
      laplace(accepted, unexplained),
      laplace(accepted, unexplainedChanges),
      ...due.map((effect) => laplace(effect.support, effect.counterExamples)),
      ...(said === undefined ? [] : [laplace(said.wording.support, said.wording.counterExamples)]),
    ];
    return { accepted: true, operations, observation: said?.text, confidence: Math.min(...sure) };
  }

  /** Refusals change nothing; they are answered as most of them were. */
  private refusal(confidence: number): OperatorOutcome {
    const [most] = this.file.refusals;
    const all = this.file.refusals.reduce((sum, { support }) => sum + support, 0);
    const sure = most === undefined ? confidence : Math.min(confidence, laplace(most.support, all - most.support));
    return { accepted: false, operations: [], observation: most?.text, confidence: sure };
  }
}

/** What is both added and deleted is added. undefined where an effect speaks of what means nothing here. */
function operationsOf(effects: readonly OperatorEffect[], binding: Binding, facts: FactTable): Operation[] | undefined {
  const wanted = new Map<string, Operation>();
  const literals = effects.map(({ makes }) => readLiteral(makes)!);
  for (const { predicate, args, negated } of [...literals].sort((a, b) => Number(b.negated) - Number(a.negated))) {
    const objects = objectsOf(args, binding);
    if (objects === undefined) return undefined;
    const key = factKey(objects);
    const path = `/facts/${escaped(predicate)}/${escaped(key)}`;
    const is = facts[predicate]?.[key] === true;
    if (is !== negated) wanted.delete(path);
    else wanted.set(path, negated ? { op: 'remove', path } : { op: 'add', path, value: true });
  }
  const lacking = [...new Set(literals.map(({ predicate }) => predicate))].filter((one) => facts[one] === undefined);
  const tables = lacking.map((one): Operation => ({ op: 'add', path: `/facts/${escaped(one)}`, value: {} }));
  return [...tables, ...wanted.values()];
}

function changed(facts: FactTable, operations: readonly Operation[]): FactTable {
  return operations.length === 0 ? facts : (applyOperations({ facts } as JsonObject, operations).facts as FactTable);
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

export function induceRecorded(steps: readonly ExperienceStep[], domain: ToolsDomain) {
  return induceOperators(recordedTries(steps, domain));
}
