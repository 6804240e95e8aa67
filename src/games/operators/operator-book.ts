// What operators say of an action in a situation: that it is carried out, with what becomes so; that it is refused; or nothing, where
// they were never shown anything like it.

import type { JsonObject } from '../../core/canonical-json.js';
import { applyOperations } from '../../env/state/operations.js';
import type { CallSpec, FactTable, Scene } from '../../env/tools/domain.js';
import type { Operation } from '../../env/tools/prediction.js';
import { factKey, Situation } from '../../worldmodel/situation.js';
import { takenAction } from '../../worldmodel/taken-action.js';
import { type Binding, objectsOf, readLiteral, truthOf } from './literal.js';
import { bindingOf, type Operator, type OperatorEffect, type OperatorsFile } from './operator.js';
import { saidOf } from './wording.js';

export interface OperatorOutcome {
  readonly accepted: boolean;
  readonly operations: readonly Operation[];
  /** undefined where it is not known what is answered. */
  readonly observation: string | undefined;
  /** That of what is least attested, by Laplace's rule of succession. */
  readonly confidence: number;
}

export interface NothingKnown {
  readonly unknown: string;
}

export class OperatorBook {
  private readonly operators: ReadonlyMap<string, Operator>;
  private readonly refused: ReadonlyMap<string, number>;

  constructor(private readonly file: OperatorsFile) {
    this.operators = new Map(file.operators.map((operator) => [operator.action, operator]));
    this.refused = new Map(file.refused.map(({ action, support }) => [action, support]));
  }

  /** @param facts  the state's */
  outcome(scene: Scene, facts: FactTable, call: CallSpec): OperatorOutcome | NothingKnown {
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
  ): OperatorOutcome | NothingKnown {
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

function laplace(support: number, counterExamples: number): number {
  return (support + 1) / (support + counterExamples + 2);
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
