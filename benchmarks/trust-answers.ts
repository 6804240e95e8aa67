// State checks of a world's answers: planted true and false replies, each judged without a model.
// Where they come from: written by hand for five small domains (trust/answers.yaml); what exact rules of the service desk and of
// τ-bench's domains answer to the calls of their solutions, as it is and in other forms, and the same made false; and what τ-bench's
// own program answered in recorded conversations of GPT-4o. The rules are removed before anything is judged.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { isJsonObject, type Json, type JsonObject } from '../src/core/canonical-json.js';
import { Rng } from '../src/core/rng.js';
import { applyOperations } from '../src/env/state/operations.js';
import { collectionsOf, recordsNamed } from '../src/env/state/records.js';
import type { CallSpec, ToolSpec, ToolsDomain } from '../src/env/tools/domain.js';
import { makeDomain } from '../src/env/tools/domains.js';
import { freezeDeep, loadDomain } from '../src/env/tools/load-domain.js';
import { type Operation, STATE_CHECKS, type StateCheck } from '../src/env/tools/prediction.js';
import { initialStateOf } from '../src/env/tools/situation.js';
import type { ExperienceStep } from '../src/replay/experience/experience.js';
import { checkProposal, comparableObservation } from '../src/worldmodel/tools/checks.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { bootstrap, mean } from './measure.js';

interface Reply {
  readonly domain: ToolsDomain;
  readonly state: JsonObject;
  readonly call: CallSpec;
  readonly operations: readonly Operation[];
  readonly observation: string;
  readonly isError: boolean;
  readonly records?: readonly ExperienceStep[];
  readonly isTrue: boolean;
  /** Where it is from, or how it was made. */
  readonly kind: string;
}

/** Maximum number of replies of one kind for one domain. */
const PER_KIND = 20;
/** Another sample than the one that the checks were developed with. */
const SEED = 12;
const SHOWN_MISSES = 40;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const data = process.env.REVERIE_SHARED_DATA ?? join(root, '..', '..', 'shared', 'data');
  const domains = [await loadDomain(join(root, 'packs', 'helpdesk'))];
  const replies = writtenReplies(join(root, 'benchmarks', 'trust', 'answers.yaml'));
  for (const name of ['retail', 'airline']) {
    const folder = join(data, 'tau', name);
    if (existsSync(folder)) domains.push(await makeDomain({ id: `tau-${name}`, data: folder }));
    else log(`no data of tau-bench in ${folder}: ${name} is left out`);
  }
  for (const domain of domains) replies.push(...madeReplies(domain, quick ? 2 : PER_KIND));
  const conversations = join(data, 'tau', 'airline', 'trajectories-gpt-4o.jsonl');
  if (existsSync(conversations)) {
    const first = await makeDomain({ id: 'tau-airline', data: join(data, 'tau', 'airline'), release: 'tau1' });
    domains.push(first);
    replies.push(...recordedReplies(first, conversations, quick ? 10 : 120));
  }
  const judged = replies.map((reply) => ({ reply, ...judge(reply) }));
  for (const domain of domains) domain.close();
  const of = (isTrue: boolean) => judged.filter(({ reply }) => reply.isTrue === isTrue);
  const refused = of(false).map(({ problems }) => (problems.length > 0 ? 1 : 0));
  const accepted = of(true).map(({ problems }) => (problems.length === 0 ? 1 : 0));
  const kinds = [...new Set(replies.map(({ kind }) => kind))];
  const misses = judged.filter(({ reply, problems }) => reply.isTrue === problems.length > 0);
  for (const { reply, problems } of misses) log(describe(reply, problems));
  const raw = {
    falseReplies: refused.length,
    trueReplies: accepted.length,
    falseRefused: mean(refused),
    trueAccepted: mean(accepted),
    byKind: Object.fromEntries(
      kinds.map((kind) => {
        const all = judged.filter(({ reply }) => reply.kind === kind);
        const right = all.filter(({ reply, problems }) => reply.isTrue === (problems.length === 0)).length;
        return [kind, { replies: all.length, right }];
      }),
    ),
    byCheck: Object.fromEntries(
      ['schema and ids', ...STATE_CHECKS.filter((name) => name !== 'repeated')].map((name) => [
        name,
        {
          caught: of(false).filter(({ by }) => by.includes(name)).length,
          caughtAlone: of(false).filter(({ by }) => by.length === 1 && by[0] === name).length,
          wronglyRefused: of(true).filter(({ by }) => by.includes(name)).length,
          unchecked: judged.filter(({ unchecked }) => unchecked.includes(name as StateCheck)).length,
        },
      ]),
    ),
    misses: misses.slice(0, SHOWN_MISSES).map(({ reply, problems }) => describe(reply, problems)),
  };
  return { ...bootstrap(refused, mean), n: refused.length, raw };
}

function judge({ domain, records, ...reply }: Reply) {
  const { state, call, operations, observation, isError } = reply;
  const checked = checkProposal({
    ...{ domain: { ...domain, rules: undefined }, state, call, messages: [], records },
    proposal: { operations, observation, isError, confidence: 1 },
  });
  const { findings = {}, problems = [] } = checked;
  const by: string[] = STATE_CHECKS.filter((name) => findings[name] === 'refused');
  if (problems.some((problem) => !/\(check: \w+\)$/.test(problem))) by.push('schema and ids');
  return { problems, by, unchecked: STATE_CHECKS.filter((name) => findings[name] === 'unchecked') };
}

function describe({ domain, kind, isTrue, call, operations, observation }: Reply, problems: readonly string[]): string {
  const what = isTrue ? `true, and refused: ${problems[0]}` : 'false, and accepted';
  const done = operations.length === 0 ? '' : ` ${JSON.stringify(operations).slice(0, 200)}`;
  return `${domain.id}, ${kind}: ${what}; ${call.name}(${JSON.stringify(call.arguments).slice(0, 160)})${done} → ${observation.slice(0, 240)}`;
}

// Hand-written replies.

type Written = readonly [string, JsonObject, string, ...(readonly string[] | 'error')[]];

interface WrittenDomain {
  readonly id: string;
  readonly tools: Readonly<Record<string, ToolSpec['kind']>>;
  readonly state: JsonObject;
  readonly reference?: readonly [string, JsonObject][];
  readonly logs?: readonly Written[];
  readonly true: readonly Written[];
  readonly false: readonly Written[];
}

function writtenReplies(path: string): Reply[] {
  const written = parse(readFileSync(path, 'utf8')) as readonly WrittenDomain[];
  return written.flatMap((one) => {
    const domain = writtenDomain(one);
    const records = (one.logs ?? []).map((line, i) => recordOf(line, i));
    return [true, false].flatMap((isTrue) =>
      one[isTrue ? 'true' : 'false'].map((line): Reply => {
        const [name, given, observation, ...rest] = line;
        const changes = rest.find((part): part is readonly string[] => Array.isArray(part)) ?? [];
        const said = { operations: changes.map(operationOf), observation, isError: rest.includes('error') };
        const of = { domain, state: domain.initialState, call: { name, arguments: given }, records };
        return { ...of, ...said, isTrue, kind: `written: ${isTrue}` };
      }),
    );
  });
}

function writtenDomain({ id, tools, state, reference = [] }: WrittenDomain): ToolsDomain {
  const calls = reference.map(([name, given]) => ({ name, arguments: given }));
  return {
    ...{ id, version: id, policy: '', stateSchema: { type: 'object' }, initialState: freezeDeep(state) },
    tools: Object.entries(tools).map(([name, kind]) => ({
      name,
      kind,
      description: name,
      parameters: { type: 'object' },
    })),
    tasks: [{ id: 'task', family: 'task', user: { goal: '' }, verifier: {}, reference: { calls } }],
    close: () => {},
  };
}

function operationOf(text: string): Operation {
  const [, op, path, value] = /^(\w+) (\S+) (.*)$/.exec(text)!;
  return { op, path, value: JSON.parse(value) } as Operation;
}

function recordOf([name, given, observation, ...rest]: Written, number: number): ExperienceStep {
  const who = { source: 'real', backend: 'real', modelVersion: '', scenario: '', task: '', row: -1 } as const;
  return {
    ...{ ...who, episode: `log-${number}`, step: 0, call: { name, arguments: given }, history: [] },
    ...{ observation, isError: rest.includes('error'), reward: null, terminated: false, confidence: 1, verified: true },
  };
}

// Replies derived from answers of exact rules.

/** A call of a reference, with its state and the rules' answer. */
type Truth = Omit<Reply, 'isTrue' | 'kind' | 'records'>;

/** Forms in which a language model may give a true answer. */
const FORMS: Readonly<Record<string, (data: Json, rng: Rng) => string | undefined>> = {
  'as it is': (data) => JSON.stringify(data),
  'in another order': (data) =>
    isJsonObject(data) ? JSON.stringify(Object.fromEntries(Object.entries(data).reverse())) : undefined,
  'part of it': (data, rng) =>
    isJsonObject(data)
      ? JSON.stringify(Object.fromEntries(Object.entries(data).filter((_, i) => i === 0 || rng.uniform() < 0.5)))
      : Array.isArray(data) && data.length > 1
        ? JSON.stringify(data.slice(0, 1))
        : undefined,
  'in a fence': (data) => `\`\`\`json\n${JSON.stringify(data, null, 2)}\n\`\`\``,
  'in a wrapper': (data) => JSON.stringify({ status: 'success', result: data }),
  'keys in camel case': (data) =>
    JSON.stringify(renamed(data, (key) => key.replace(/_([a-z])/g, (_, c) => c.toUpperCase()))),
  'values as text': (data) => (isJsonObject(data) ? JSON.stringify(renamed(data, (key) => key, String)) : undefined),
  'in lines': (data) => {
    if (!isJsonObject(data)) return undefined;
    const lines = Object.entries(data).filter(([, value]) => typeof value !== 'object' && value !== '');
    const label = (key: string) => key.replaceAll('_', ' ').replace(/^./, (c) => c.toUpperCase());
    return lines.length < 2 ? undefined : lines.map(([key, value]) => `${label(key)}: ${value}`).join('\n');
  },
};

function renamed(data: Json, name: (key: string) => string, scalar: (value: Json) => Json = (value) => value): Json {
  if (Array.isArray(data)) return data.map((each) => renamed(each, name, scalar));
  // Keys that are ids stay unchanged.
  if (isJsonObject(data))
    return Object.fromEntries(
      Object.entries(data).map(([key, each]) => [/\d/.test(key) ? key : name(key), renamed(each, name, scalar)]),
    );
  return data === null ? null : scalar(data);
}

/** Ways to falsify a true reply; undefined if not applicable. */
const LIES: Readonly<Record<string, (truth: Truth, others: readonly Truth[], rng: Rng) => Partial<Truth> | undefined>> =
  {
    'another value': (truth, _, rng) => {
      const data = dataOf(truth);
      const leaves = data === undefined ? [] : leavesOf(data, []).filter((path) => isField(truth, path));
      if (leaves.length === 0) return undefined;
      const path = leaves[rng.int(leaves.length)];
      const value = otherValue(truth, String(path.at(-1)), valueAt(data!, path), rng);
      return value === undefined ? undefined : { observation: JSON.stringify(replaced(data!, path, value)) };
    },
    'the answer for another': (truth, others, rng) => {
      if (dataOf(truth) === undefined || truth.operations.length > 0) return undefined;
      const same = others.filter(
        (one) =>
          one.call.name === truth.call.name &&
          !one.isError &&
          one.operations.length === 0 &&
          comparableObservation(one.observation) !== comparableObservation(truth.observation) &&
          idOf(one) !== undefined &&
          idOf(one) !== idOf(truth),
      );
      return same.length === 0 ? undefined : { observation: same[rng.int(same.length)].observation };
    },
    'not found, though it is there': (truth) => {
      const id = idOf(truth);
      const [record] = id === undefined ? [] : recordsNamed(truth.state, id);
      if (record === undefined || truth.isError) return undefined;
      const noun = record.collection.replace(/s$/, '');
      return { operations: [], isError: true, observation: `Error: ${noun} ${id} not found` };
    },
    'an answer for what is not there': (truth, _, rng) => {
      const id = idOf(truth);
      if (
        id === undefined ||
        truth.isError ||
        truth.operations.length > 0 ||
        recordsNamed(truth.state, id).length === 0
      )
        return undefined;
      const other = id.replace(/[0-9]/g, () => String(rng.int(10)));
      if (!/\d/.test(id) || JSON.stringify(truth.state).includes(other)) return undefined;
      const moved = (text: string) => text.replaceAll(id, other);
      const call = { name: truth.call.name, arguments: JSON.parse(moved(JSON.stringify(truth.call.arguments))) };
      return { call, observation: moved(truth.observation) };
    },
    'success without a change': (truth) => (truth.operations.length > 0 ? { operations: [] } : undefined),
    'says one thing and writes another': (truth, _, rng) => {
      const data = dataOf(truth);
      if (data === undefined || truth.operations.length === 0) return undefined;
      const at = truth.operations.findIndex(
        (operation) =>
          'value' in operation &&
          typeof operation.value !== 'object' &&
          leavesOf(data, []).some(
            (path) => path.at(-1) === operation.path.split('/').at(-1) && valueAt(data, path) === operation.value,
          ),
      );
      if (at < 0) return undefined;
      const written = truth.operations[at] as Operation & { value: Json };
      const value = otherValue(truth, written.path.split('/').at(-1)!, written.value, rng);
      if (value === undefined) return undefined;
      return { operations: truth.operations.map((operation, i) => (i === at ? { ...written, value } : operation)) };
    },
    'changes another as well': (truth, _, rng) => {
      const [first] = truth.operations;
      if (first === undefined) return undefined;
      const collection = first.path.split('/')[1];
      const records = collectionsOf(truth.state).get(collection);
      const id = first.path.split('/')[2];
      const data = JSON.stringify([truth.call, truth.observation, truth.operations, records?.get(id) ?? null]);
      const strange = [...(records?.keys() ?? [])].filter((other) => !data.includes(other) && !other.includes('/'));
      if (strange.length === 0) return undefined;
      const other = strange[rng.int(strange.length)];
      const field = Object.entries(records!.get(other)!).find(
        ([, value]) => typeof value === 'string' && !recordsNamed(truth.state, value).length,
      );
      const value = field && otherValue(truth, field[0], field[1], rng);
      if (value === undefined) return undefined;
      return {
        operations: [
          ...truth.operations,
          { op: 'replace', path: `/${collection}/${other.replaceAll('~', '~0')}/${field![0]}`, value },
        ],
      };
    },
  };

function madeReplies(domain: ToolsDomain, most: number): Reply[] {
  const rng = Rng.fromSeed(SEED).split('trust-answers', domain.id);
  const truths = shuffled(truthsOf(domain), rng);
  const made: Reply[] = [];
  const count = (kind: string) => made.filter((one) => one.kind === `${domain.id}: ${kind}`).length;
  for (const truth of truths) {
    const data = dataOf(truth);
    if (data === undefined || truth.isError) {
      if (count('its text') < most) made.push({ ...truth, isTrue: true, kind: `${domain.id}: its text` });
    } else {
      for (const [name, form] of Object.entries(FORMS)) {
        const observation = count(name) < most ? form(data, rng) : undefined;
        if (observation !== undefined)
          made.push({ ...truth, observation, isTrue: true, kind: `${domain.id}: ${name}` });
      }
    }
    for (const [name, lie] of Object.entries(LIES)) {
      const changed = count(name) < most ? lie(truth, truths, rng) : undefined;
      if (changed !== undefined) made.push({ ...truth, ...changed, isTrue: false, kind: `${domain.id}: ${name}` });
    }
  }
  return made;
}

function shuffled<T>(items: readonly T[], rng: Rng): T[] {
  const left = [...items];
  return items.map(() => left.splice(rng.int(left.length), 1)[0]);
}

/** All distinct calls of all references, and some that fail. */
function truthsOf(domain: ToolsDomain): Truth[] {
  const found = new Map<string, Truth>();
  for (const task of domain.tasks) {
    let state = initialStateOf(domain, task);
    for (const call of task.reference?.calls ?? []) {
      if (!domain.rules!.tools.has(call.name)) continue;
      const outcome = domain.rules!.execute(state, { id: 'call', ...call });
      const refused = domain.rules!.preconditions(state, { id: 'call', ...call });
      const { operations, observation, isError } =
        refused.length > 0 && !outcome.isError
          ? { operations: [], observation: `Error: ${refused[0]}`, isError: true }
          : outcome;
      found.set(JSON.stringify([call, observation]), { domain, state, call, operations, observation, isError });
      state = applyOperations(state, operations);
    }
  }
  return [...found.values()];
}

function dataOf({ observation, isError }: Truth): JsonObject | Json[] | undefined {
  try {
    const value = JSON.parse(observation) as Json;
    return !isError && typeof value === 'object' && value !== null ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function leavesOf(value: Json, path: readonly (string | number)[]): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return value === null ? [] : [path];
  return Object.entries(value).flatMap(([key, each]) =>
    leavesOf(each, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

function valueAt(value: Json, path: readonly (string | number)[]): Json {
  return path.reduce<Json>((at, key) => (at as Record<string | number, Json>)[key], value);
}

function replaced(value: Json, path: readonly (string | number)[], by: Json): Json {
  const copy = structuredClone(value);
  const parent = valueAt(copy, path.slice(0, -1)) as Record<string | number, Json>;
  parent[path.at(-1)!] = by;
  return copy;
}

/** Whether it is a field of the state under that name, and not an id that finds the object. */
function isField({ state, call }: Truth, path: readonly (string | number)[]): boolean {
  const key = path.at(-1);
  return typeof key === 'string' && !Object.keys(call.arguments).includes(key) && valuesOf(state, key).size > 1;
}

const fieldValues = new WeakMap<JsonObject, Map<string, ReadonlySet<Json>>>();

/** All values of fields with that name in the state. */
function valuesOf(state: JsonObject, key: string): ReadonlySet<Json> {
  const known = fieldValues.get(state) ?? new Map<string, ReadonlySet<Json>>();
  fieldValues.set(state, known);
  let found = known.get(key);
  if (found === undefined) {
    const values = new Set<Json>();
    const open: Json[] = [state];
    for (let part = open.pop(); part !== undefined; part = open.pop()) {
      if (typeof part !== 'object' || part === null) continue;
      for (const [name, each] of Object.entries(part) as [string, Json][]) {
        if (name === key && typeof each !== 'object') values.add(each);
        open.push(each);
      }
    }
    found = values;
    known.set(key, found);
  }
  return found;
}

/** Another value of the field elsewhere: a plausible error. */
function otherValue({ state }: Truth, key: string, value: Json, rng: Rng): Json | undefined {
  const others = [...valuesOf(state, key)].filter((other) => other !== value && typeof other === typeof value);
  return others.length === 0 ? undefined : others[rng.int(others.length)];
}

/** The id that a call is about. */
function idOf({ state, call }: Truth): string | undefined {
  const ids = Object.values(call.arguments).filter((value) => recordsNamed(state, value).length > 0);
  return ids.length === 1 ? String(ids[0]) : undefined;
}

// Answers of the real program in recorded conversations.

interface Recorded {
  readonly traj: readonly {
    readonly role: string;
    readonly content: string | null;
    readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: string } }[];
  }[];
}

function recordedReplies(domain: ToolsDomain, path: string, most: number): Reply[] {
  const replies = new Map<string, Reply>();
  for (const line of readFileSync(path, 'utf8').trim().split('\n').slice(0, most)) {
    const { traj } = JSON.parse(line) as Recorded;
    let state = domain.initialState;
    for (const [at, { role, tool_calls: calls }] of traj.entries()) {
      const made = role === 'assistant' ? calls?.[0]?.function : undefined;
      const answer = traj[at + 1];
      if (made === undefined || answer?.role !== 'tool' || !domain.rules!.tools.has(made.name)) continue;
      const call = { name: made.name, arguments: JSON.parse(made.arguments) as JsonObject };
      const { operations, isError } = domain.rules!.execute(state, { id: 'call', ...call });
      const observation = answer.content ?? '';
      const kind = `tau-airline, recorded: ${domain.tools.find(({ name }) => name === call.name)?.kind}`;
      replies.set(JSON.stringify([call, observation]), {
        domain,
        state,
        call,
        operations,
        observation,
        isError,
        isTrue: true,
        kind,
      });
      state = applyOperations(state, operations);
    }
  }
  return [...replies.values()];
}
