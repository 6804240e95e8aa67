// Ids that a reference needs and that neither the user, the policy nor any reachable answer discloses.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { remembered } from '../../core/remembered.js';
import type { ToolSpec, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { Entities, wordsOf } from './entity-swap.js';
import { idsIn, type Played, playCalls } from './task-checks.js';

interface HiddenId {
  /** Place of the call in the solution. */
  readonly at: number;
  readonly problem: string;
}

interface Asked {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  readonly responder: Responder;
}

/** One problem for each id, with its call. Reads are repeated with all known values before an id counts as undisclosed. */
export async function hiddenIds({ domain, task, responder }: Asked, answers: Played['answers']): Promise<HiddenId[]> {
  const { user } = task;
  const userTexts = [user.opening, user.goal, user.persona, ...(user.script ?? []).map(({ say }) => say)];
  // Values in parameter schemas are known, except descriptions and examples.
  const offered = domain.tools.map(({ parameters }) =>
    JSON.stringify(parameters, (key, value) => (key === 'description' || key === 'examples' ? undefined : value)),
  );
  let known = [...userTexts, domain.policy, ...offered].join('\n');
  let readable: Readable | undefined;
  const spoken = [...new Set(wordsOf(userTexts.join(' ')))].filter((word) => word.length > 3).slice(0, MOST_WORDS);
  const entities = new Entities(initialStateOf(domain, task));
  const faults = new Map<string, HiddenId>();
  for (const [at, { call, prediction }] of answers.entries()) {
    const ids = [...new Set([...idsIn(call.arguments), ...namesIn(call.arguments, entities)])];
    for (const id of ids) {
      if (known.includes(id)) continue;
      readable ??= await reading({ domain, task, responder }, known, entities, spoken);
      const problem = `nobody tells the "${id}" that its reference's ${call.name} needs: not the user, and no read`;
      // An existing id may be reachable by reads that could not be tried.
      if (readable.text.includes(id) || (!readable.isAll && entities.find(id) !== undefined)) continue;
      if (!faults.has(id)) faults.set(id, { at, problem });
    }
    known += `\n${prediction.observation}`;
  }
  return [...faults.values()];
}

const ID_NAME = /(^|_)id$|Id$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Numeric names in arguments of any name: ids of entities, phones, zips. */
function namesIn(value: Json, entities: Entities): string[] {
  if (typeof value === 'string') {
    const isName = /\d/.test(value) && !/\s/.test(value) && !DATE.test(value);
    return isName && (value.length >= 4 || entities.find(value) !== undefined) ? [value] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((part) => namesIn(part as Json, entities));
}

/** Maximum number of the user's words to search for. */
const MOST_WORDS = 24;
const ROUNDS = 4;
const MOST_READS = 400;

interface Readable {
  readonly text: string;
  /** Whether every read could be tried. */
  readonly isAll: boolean;
}

/** Text reachable by read tools from the initially known text. */
async function reading(
  { domain, task, responder }: Asked,
  known: string,
  entities: Entities,
  spoken: readonly string[],
): Promise<Readable> {
  const readers = domain.tools.filter(({ kind }) => kind === 'read');
  const tried = new Set<string>();
  let text = known;
  const answered = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const words = new Set([...wordsOf(text), ...partsOf(text)]);
    const calls = readers.flatMap(({ name, parameters }) =>
      argumentsFor(parameters, words, entities, spoken).map((given) => ({ name, arguments: given })),
    );
    const fresh = calls.filter((call) => !tried.has(JSON.stringify(call))).slice(0, MOST_READS - tried.size);
    if (fresh.length === 0) break;
    for (const call of fresh) {
      tried.add(JSON.stringify(call));
      const { answers } = await playCalls({ domain, task, responder }, [call]);
      for (const { prediction } of answers) {
        if (prediction.isError) continue;
        answered.add(call.name);
        text += `\n${prediction.observation}`;
      }
    }
  }
  // Reads by id alone find only disclosed records.
  const isById = ({ parameters: { required } }: ToolSpec) =>
    ((required ?? []) as readonly string[]).every((name) => ID_NAME.test(name));
  return { text, isAll: readers.every((tool) => answered.has(tool.name) || isById(tool)) };
}

/** Possible arguments of a read: known fields of one record, or a known id. */
function argumentsFor(
  parameters: JsonObject,
  words: ReadonlySet<string>,
  entities: Entities,
  spoken: readonly string[],
): JsonObject[] {
  const properties = Object.entries((parameters.properties ?? {}) as Record<string, JsonObject>);
  const required = (parameters.required ?? []) as readonly string[];
  const wanted = properties.filter(([name]) => required.includes(name));
  if (wanted.length === 0) return [{}];
  const records = [...entities.collections.values()].flatMap((records) => [...records]);
  const found = records.flatMap(([id, record]): JsonObject[] => {
    const fields = fieldsOf(record);
    const given = wanted.map(([name]) => [name, fields.get(name) ?? (ID_NAME.test(name) ? id : undefined)] as const);
    const isDisclosed = ([, value]: (typeof given)[number]) =>
      value !== undefined && (words.has(value) || partsOf(value).every((part) => words.has(part)));
    return given.every(isDisclosed) ? [Object.fromEntries(given) as JsonObject] : [];
  });
  if (found.length > 0 || wanted.length > 1) return found;
  const [[name]] = wanted;
  const ids = records.flatMap(([id]) => (words.has(id) ? [id] : []));
  return (ID_NAME.test(name) ? ids : [...ids, ...spoken]).map((value) => ({ [name]: value }));
}

function partsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

const fieldsKnown = new WeakMap<object, ReadonlyMap<string, string>>();

/** Texts of a record at any depth, by field name. */
function fieldsOf(record: JsonObject): ReadonlyMap<string, string> {
  return remembered(fieldsKnown, record, () => {
    const fields = new Map<string, string>();
    const walk = (part: Json, name: string) => {
      if (typeof part === 'string' || typeof part === 'number') {
        if (!fields.has(name)) fields.set(name, String(part));
      } else if (typeof part === 'object' && part !== null && !Array.isArray(part))
        for (const [key, value] of Object.entries(part)) walk(value as Json, key);
    };
    walk(record, '');
    return fields;
  });
}
