// Accepted rules from logs that hold for every backend: when calls must fail, and what the state may never become. A language
// model's answers are held to them as to the preconditions and invariants of a domain's own rules.

import { contentHash, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { reverieError } from '../../core/errors.js';
import { applyOperations } from '../../env/state/operations.js';
import type { CallSpec, ToolOutcome } from '../../env/tools/domain.js';
import type { InducedRule, InducedRuleOf, InducedRules } from '../../env/tools/induced-schema.js';
import type { Operation } from '../../env/tools/prediction.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { BackendModel, Declined, RawProposal } from '../tools/backend-model.js';
import { type Expression, ExpressionProblem, parseExpression, type Scope } from './expression.js';

const books = new WeakMap<InducedRules, InducedBook>();

function bookOf(induced: InducedRules): InducedBook {
  const book = books.get(induced) ?? new InducedBook(induced.rules, 'induced.yaml');
  books.set(induced, book);
  return book;
}

/** Why the call must fail in this state; empty if nothing known speaks against it. @throws FILE_INVALID */
export function inducedRefusals(induced: InducedRules | undefined, state: JsonObject, call: CallSpec): string[] {
  return induced === undefined ? [] : bookOf(induced).refusals(state, call);
}

/** What the step from one state to the next breaks: one sentence each. */
export function inducedBreaches({ rules }: InducedRules, before: JsonObject, after: JsonObject): string[] {
  return rules.filter(({ accepted }) => accepted).flatMap((rule) => brokenBy(rule, before, after));
}

function brokenBy(rule: InducedRule, before: JsonObject, after: JsonObject): string[] {
  switch (rule.kind) {
    case 'id-format': {
      const pattern = new RegExp(rule.pattern, 'u');
      return changed(rule.collection, before, after)
        .filter(({ key }) => !pattern.test(key))
        .map(({ key }) => `"${key}" is no id of ${rule.collection}: these are like ${rule.pattern}.`);
    }
    case 'constant':
      return changed(rule.collection, before, after).flatMap(({ key, was, is }) => {
        const field = was === undefined ? undefined : rule.fields.find((each) => was[each] !== is[each]);
        return field === undefined ? [] : [`${rule.collection} ${key}: no tool changes ${field}.`];
      });
    case 'values':
      return changed(rule.collection, before, after)
        .filter(({ is }) => rule.field in is && !rule.values.includes(is[rule.field]))
        .map(({ key, is }) => `${rule.collection} ${key}: ${rule.field} is never ${JSON.stringify(is[rule.field])}.`);
    case 'refers':
      return changed(rule.collection, before, after)
        .filter(({ is }) => rule.field in is && !isThere(after[rule.to], is[rule.field]))
        .map(
          ({ key, is }) => `${rule.collection} ${key}: there is no ${JSON.stringify(is[rule.field])} in ${rule.to}.`,
        );
    default:
      return [];
  }
}

interface Changed {
  readonly key: string;
  readonly was?: JsonObject;
  readonly is: JsonObject;
}

/** Records that are not the same object as before. */
function changed(collection: string, before: JsonObject, after: JsonObject): Changed[] {
  const [old, now] = [before[collection], after[collection]];
  if (!isJsonObject(now) || old === now) return [];
  return Object.entries(now).flatMap(([key, is]) => {
    const was = isJsonObject(old) && Object.hasOwn(old, key) ? old[key] : undefined;
    if (was === is || !isJsonObject(is)) return [];
    return [{ key, is, ...(isJsonObject(was) ? { was } : {}) }];
  });
}

function isThere(records: Json | undefined, key: Json): boolean {
  return isJsonObject(records) && Object.hasOwn(records, String(key));
}

type AnswerRule = InducedRuleOf<'answer' | 'list' | 'sentence'>;
type EffectRule = InducedRuleOf<'set' | 'add'>;

/** An outcome with the rules it comes from, or why there is none. */
type InducedOutcome = (ToolOutcome & { readonly rules: readonly InducedRule[] }) | { readonly unknown: string };

class Unknown extends Error {}

/** The rules of one file, read once. */
export class InducedBook {
  private readonly expressions = new Map<string, Expression>();

  /** @throws FILE_INVALID for an expression that cannot be read */
  constructor(
    private readonly rules: readonly InducedRule[],
    file: string,
  ) {
    for (const rule of rules) {
      for (const text of expressionsOf(rule)) this.read(rule, text, file);
    }
  }

  /** What the accepted rules of this kind of a tool are. */
  of<K extends InducedRule['kind']>(kind: K, tool: string): InducedRuleOf<K>[] {
    return this.rules.filter(
      (rule): rule is InducedRuleOf<K> => rule.kind === kind && 'tool' in rule && rule.tool === tool,
    );
  }

  outcome(state: JsonObject, call: CallSpec): InducedOutcome {
    try {
      return this.known({ arguments: call.arguments, state }, call.name);
    } catch (problem) {
      if (problem instanceof Unknown) return { unknown: problem.message };
      throw problem;
    }
  }

  /** What accepted rules say that a successful call changes, as far as that is known. */
  changes(state: JsonObject, call: CallSpec): readonly Operation[] {
    const scope = { arguments: call.arguments, state };
    return this.acceptedEffects(call.name).flatMap((rule) => {
      try {
        return this.operations(rule, scope);
      } catch (problem) {
        if (problem instanceof Unknown) return [];
        throw problem;
      }
    });
  }

  /** Why a call must fail in this state, by accepted rules. */
  refusals(state: JsonObject, call: CallSpec): string[] {
    const scope = { arguments: call.arguments, state };
    return this.of('refuse', call.name)
      .filter((rule) => rule.accepted && this.value(rule.when, scope) === true)
      .map((rule) => this.filled(rule.error, scope).replace(/^Error: /, ''));
  }

  /** Throws Unknown. */
  private known(scope: Scope, tool: string): InducedOutcome {
    const answer = this.answerRule(tool);
    const refused = this.refused(scope, tool);
    if (refused !== undefined) return refused;
    this.requireSeen(answer, scope);
    const effects = answer.kind === 'list' ? [] : this.effects(answer, tool);
    const operations = effects.flatMap((rule) => this.operations(rule, scope));
    const added = effects.find((rule) => rule.kind === 'add');
    const given = added === undefined ? scope.arguments : { ...scope.arguments, new: this.needed(added.key, scope) };
    const after = { arguments: given, state: applyOperations(scope.state, operations) };
    return { operations, observation: this.observation(answer, after), isError: false, rules: [answer, ...effects] };
  }

  private answerRule(tool: string): AnswerRule {
    const rules = [...this.of('answer', tool), ...this.of('list', tool), ...this.of('sentence', tool)];
    const accepted = rules.find((rule) => rule.accepted);
    if (accepted !== undefined) return accepted;
    throw new Unknown(`the logs gave no accepted answer of ${tool}`);
  }

  private refused(scope: Scope, tool: string): InducedOutcome | undefined {
    for (const rule of this.of('refuse', tool)) {
      if (this.value(rule.when, scope) !== true) continue;
      if (!rule.accepted) throw new Unknown(`rule "${rule.id}" would refuse it and is not accepted`);
      return { operations: [], observation: this.filled(rule.error, scope), isError: true, rules: [rule] };
    }
    return undefined;
  }

  /** A call is known only where the logs had one like it. */
  private requireSeen({ given, known, tool }: AnswerRule, scope: Scope): void {
    const names = Object.keys(scope.arguments).sort().join(', ');
    const isGiven = given.length === 0 || given.some((each) => [...each].sort().join(', ') === names);
    if (!isGiven) throw new Unknown(`no log has ${tool} with the arguments ${names || '(none)'}`);
    for (const [text, values] of Object.entries(known)) {
      const value = this.needed(text, scope);
      if (!values.some((each) => each === value))
        throw new Unknown(`no log has ${tool} where ${text} is ${JSON.stringify(value)}`);
    }
  }

  private effects({ needs }: InducedRuleOf<'answer' | 'sentence'>, tool: string): EffectRule[] {
    const effects = this.acceptedEffects(tool);
    const missing = needs.find((id) => !effects.some((rule) => rule.id === id));
    if (missing !== undefined) throw new Unknown(`rule "${missing}", which it needs, is not accepted`);
    return effects;
  }

  private acceptedEffects(tool: string): EffectRule[] {
    return [...this.of('add', tool), ...this.of('set', tool)].filter(({ accepted }) => accepted);
  }

  private operations(rule: EffectRule, scope: Scope): Operation[] {
    if (rule.kind === 'add') {
      const key = String(this.needed(rule.key, scope));
      if (isJsonObject(scope.state[rule.collection]) && Object.hasOwn(scope.state[rule.collection] as JsonObject, key))
        throw new Unknown(`${rule.collection} has ${key} already`);
      const value = this.fields(rule.fields, scope);
      return [{ op: 'add', path: `/${escaped(rule.collection)}/${escaped(key)}`, value }];
    }
    const { collection, key, field } = targetParts(rule.target);
    const id = String(this.needed(key, scope));
    const value = this.needed(rule.to, scope);
    if (this.needed(rule.target, scope) === value) return [];
    return [{ op: 'replace', path: `/${escaped(collection)}/${escaped(id)}/${escaped(field)}`, value }];
  }

  private observation(rule: AnswerRule, scope: Scope): string {
    if (rule.kind === 'sentence') return this.filled(rule.text, scope);
    return JSON.stringify(rule.kind === 'answer' ? this.fields(rule.fields, scope) : this.listed(rule, scope));
  }

  private listed(rule: InducedRuleOf<'list'>, scope: Scope): Json {
    const { collection, where, order, fields, within } = rule;
    const records = Object.values((scope.state[collection] ?? {}) as JsonObject).filter(isJsonObject);
    const chosen = records.filter((each) => this.isListed(where, { ...scope, each }));
    const keyed = chosen.map((each) => ({ each, key: this.needed(order, { ...scope, each }) }));
    keyed.sort((a, b) => (a.key! < b.key! ? -1 : a.key! > b.key! ? 1 : 0));
    const items = keyed.map(({ each }) =>
      Object.fromEntries(fields.map((field) => [field, this.needed(`each.${field}`, { ...scope, each })])),
    );
    return within === undefined ? items : { [within]: items };
  }

  /** A condition on an argument that was left out says nothing. */
  private isListed(where: readonly string[], scope: Scope): boolean {
    return where.every((text) => {
      const asked = /([\p{L}_][\p{L}\p{N}_]*)$/u.exec(text)?.[1];
      const isOfArgument = asked !== undefined && !['true', 'false', 'null'].includes(asked);
      if (isOfArgument && !Object.hasOwn(scope.arguments, asked)) return true;
      return this.needed(text, scope) === true;
    });
  }

  private fields(fields: Readonly<Record<string, string>>, scope: Scope): JsonObject {
    return Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, this.needed(text, scope)]));
  }

  /** `{expression}` in a text stands for its value. */
  private filled(template: string, scope: Scope): string {
    return template.replace(/\{([^{}]+)\}/g, (_, text: string) => {
      const value = this.needed(text, scope);
      return typeof value === 'string' ? value : JSON.stringify(value);
    });
  }

  private needed(text: string, scope: Scope): Json {
    const value = this.value(text, scope);
    if (value === undefined) throw new Unknown(`${text} is not known here`);
    return value;
  }

  private value(text: string, scope: Scope): Json | undefined {
    let expression = this.expressions.get(text);
    if (expression === undefined) {
      expression = parseExpression(text);
      this.expressions.set(text, expression);
    }
    return expression(scope);
  }

  private read({ id }: InducedRule, text: string, file: string): void {
    try {
      this.expressions.set(text, parseExpression(text));
    } catch (error) {
      if (!(error instanceof ExpressionProblem)) throw error;
      throw reverieError(
        'FILE_INVALID',
        {
          problem: `Rules from logs "${file}", rule "${id}": ${error.message}.`,
          hint: 'Correct the expression; docs/rules-from-logs.md says what one may hold.',
        },
        error,
      );
    }
  }
}

const TARGET = /^([\p{L}_][\p{L}\p{N}_]*)\[(.+)\]\.([\p{L}_][\p{L}\p{N}_]*)$/u;

/** `bookings[booking_id].status` in its parts. */
function targetParts(target: string): { collection: string; key: string; field: string } {
  const [, collection, key, field] = TARGET.exec(target)!;
  return { collection, key, field };
}

function expressionsOf(rule: InducedRule): string[] {
  switch (rule.kind) {
    case 'refuse':
      return [rule.when, ...placeholders(rule.error)];
    case 'set':
      return [rule.target, targetKey(rule.target), rule.to];
    case 'add':
      return [rule.key, ...Object.values(rule.fields)];
    case 'answer':
      return [...Object.keys(rule.known), ...Object.values(rule.fields)];
    case 'list':
      return [...Object.keys(rule.known), ...rule.where, rule.order, ...rule.fields.map((field) => `each.${field}`)];
    case 'sentence':
      return [...Object.keys(rule.known), ...placeholders(rule.text)];
    default:
      return [];
  }
}

/** A target that is none is read as a whole, and fails with its own words. */
function targetKey(target: string): string {
  return TARGET.exec(target)?.[2] ?? `${target}[`;
}

function placeholders(template: string): string[] {
  return [...template.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1]);
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

export class InducedModel implements BackendModel {
  readonly version: string;
  private readonly book: InducedBook;

  /** @throws FILE_INVALID */
  constructor(induced: InducedRules) {
    this.book = bookOf(induced);
    this.version = `induced:${contentHash(induced.rules).slice(0, 16)}`;
  }

  predict({ state, call }: CallQuery): RawProposal | Declined {
    const outcome = this.book.outcome(state, call);
    if ('unknown' in outcome) return { declined: outcome.unknown };
    const { operations, observation, isError, rules } = outcome;
    return { operations, observation, isError, confidence: Math.min(...rules.map(confidence)), cost: NO_COST };
  }
}

function confidence({ support, counterExamples }: InducedRule): number {
  return (support + 1) / (support + counterExamples.length + 2);
}
