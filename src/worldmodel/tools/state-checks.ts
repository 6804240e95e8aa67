// Checks a proposal against the typed state, in both directions and without a model: reported values equal the record's, in the
// state after the call; missing records are not answered for, and existing ones are not denied; a success changes something,
// and only records related to the call. Unreadable answers count as unchecked, never as right.

import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { ReverieError } from '../../core/errors.js';
import { remembered } from '../../core/remembered.js';
import { applyOperations } from '../../env/state/operations.js';
import {
  collectionsOf,
  fieldOf,
  holds,
  isAlike,
  plainKey,
  readObservation,
  recordsNamed,
  recordsReferred,
  type StateRecord,
  singular,
  textsIn,
} from '../../env/state/records.js';
import type { CallSpec, ToolSpec, ToolsDomain } from '../../env/tools/domain.js';
import type { CheckFinding, StateCheck } from '../../env/tools/prediction.js';
import { isWorkedOutLater } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import { stateChanges } from '../../env/tools/verify-episode.js';
import type { ExperienceStep } from '../../replay/experience/experience.js';
import { callText } from '../../replay/experience/terms.js';
import type { RawProposal } from './backend-model.js';

type Findings = Partial<Record<StateCheck, CheckFinding>>;

export interface HeldToState {
  readonly findings: Findings;
  readonly problems: readonly string[];
}

interface StateQuery {
  readonly domain: ToolsDomain;
  readonly tool: ToolSpec;
  readonly state: JsonObject;
  readonly after: JsonObject;
  readonly call: CallSpec;
  readonly proposal: Pick<RawProposal, 'operations' | 'observation' | 'isError'>;
  /** Records of the real environment near this call; empty without records. */
  readonly records?: readonly ExperienceStep[];
  readonly skip?: readonly StateCheck[];
  /** Whether a word looks like an id of the domain. */
  readonly isId: (word: string) => boolean;
  /** Whether a word occurs in the state, as a key, a value or a part of one. */
  readonly isKnown: (word: string) => boolean;
}

/** Result of a check: problems, or whether anything was checked; undefined if the check does not apply. */
type Found = readonly string[] | 'held' | 'unchecked' | undefined;

const CHECKS: Readonly<Record<Exclude<StateCheck, 'repeated'>, (query: StateQuery) => Found>> = {
  values: contradictedValues,
  unknown: unknownAnswered,
  missing: existingDenied,
  unchanged: successWithoutChange,
  named: changesOfOthers,
  records: recordsContradicted,
};

export function heldToState(query: StateQuery): HeldToState {
  const findings: Findings = {};
  const problems: string[] = [];
  for (const [name, check] of Object.entries(CHECKS) as [StateCheck, (typeof CHECKS)['values']][]) {
    if (query.skip?.includes(name) || query.tool.skipChecks?.includes(name)) continue;
    const found = check(query);
    if (found === undefined) continue;
    findings[name] = typeof found === 'string' ? found : 'refused';
    if (typeof found !== 'string') problems.push(...found.map((problem) => `${problem} (check: ${name})`));
  }
  return { findings, problems };
}

/** Records that arguments name; a number only under the key of an id. */
function recordsOf(state: JsonObject, given: JsonObject): { key: string; record: StateRecord }[] {
  return Object.entries(given).flatMap(([key, value]) => {
    const ids: readonly Json[] = Array.isArray(value) ? value : [value];
    return ids.flatMap((id) =>
      isJsonObject(id)
        ? recordsOf(state, id)
        : recordsNamed(state, id)
            .filter(({ collection }) => !isNumeral(id) || isKeyOf(key, collection))
            .map((record) => ({ key, record })),
    );
  });
}

/** Keys and values of arguments, without the arguments' own names. */
function textsOfArguments(given: JsonObject): readonly string[] {
  return textsIn(Object.values(given));
}

function isNumeral(id: Json): boolean {
  return typeof id === 'number' || /^\d{1,5}$/.test(String(id));
}

/** `id`, `ticket`, `ticket_id` or `tickets` in `tickets`. */
function isKeyOf(key: string, collection: string): boolean {
  const [plain, one] = [plainKey(key), plainKey(singular(collection))];
  return ['id', one, `${one}id`, `${one}number`, plainKey(collection)].includes(plain);
}

const nameOf = ({ collection, id }: StateRecord) => `${collection}/${id}`;
const shown = (value: Json | undefined) => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
};

// Reported values of records.

function contradictedValues(query: StateQuery): Found {
  const { domain, tool, after, call, proposal, records = [] } = query;
  if (proposal.isError || tool.kind === 'generic' || domain.rendering !== undefined) return undefined;
  const others = records.filter((step) => step.call.name === call.name);
  const claim = readObservation(proposal.observation) ?? phraseRead(query, others);
  if (claim === undefined) return proposal.observation.trim() === '' ? undefined : 'unchecked';
  const reading = new Reading(after, call, denials(query, others));
  reading.root(claim);
  if (reading.faults.length > 0) return reading.faults.slice(0, MOST_FAULTS).map(({ text }) => text);
  return reading.held > 0 ? 'held' : 'unchecked';
}

const MOST_FAULTS = 5;
/** Status words of a program, in fields that records have as well. */
const ANSWER_WORDS = /^(ok|okay|success|successful|succeeded|done|completed?|true)$/i;
const ANSWER_KEYS = /^(status|result|state|outcome|success|code)$/i;

interface Fault {
  readonly key: string;
  readonly text: string;
}

class Reading {
  held = 0;
  readonly faults: Fault[] = [];
  private readonly called: readonly StateRecord[];
  private readonly asked: readonly string[];
  private readonly tool: string;
  private readonly given: JsonObject;

  constructor(
    private readonly state: JsonObject,
    call: CallSpec,
    /** Keys with another meaning for this tool, as its records show. */
    private readonly other: ReadonlySet<string> = new Set(),
  ) {
    this.tool = call.name;
    this.given = call.arguments;
    this.called = calledBy(state, call.arguments);
    this.asked = textsOfArguments(call.arguments);
  }

  root(claim: Json): void {
    if (!isJsonObject(claim)) {
      this.list(claim);
      return;
    }
    const subject = this.object(claim, undefined, this.called);
    const peers = this.called.filter(({ collection }) => collection === subject?.collection);
    if (subject === undefined || peers.length === 0 || peers.some(({ id }) => id === subject.id)) return;
    const isOwn = Object.entries(claim).some(
      ([key, id]) => String(id) === subject.id && isKeyOf(key, subject.collection),
    );
    // `get_manager` answers with the `manager` of the named record.
    const isLinked = ({ id, value }: StateRecord) =>
      (!isOwn && holds(claim, id)) ||
      Object.entries(value).some(([key, of]) => of === subject.id && plainKey(this.tool).includes(plainKey(key)));
    if (!peers.some(isLinked)) this.fault('', `answers about ${nameOf(subject)}, the call names ${nameOf(peers[0])}`);
  }

  private list(claim: Json, isWhole = true): void {
    if (!Array.isArray(claim)) return;
    for (const each of claim) {
      if (isJsonObject(each)) this.selected(this.object(each, undefined, []), isWhole);
      else this.list(each, false);
    }
  }

  /** A listed record must match the arguments; a part of a listed whole, as one flight of a journey, must match some. */
  private selected(listed: StateRecord | undefined, isWhole: boolean): void {
    if (listed === undefined || this.called.some(({ collection }) => collection === listed.collection)) return;
    const asked = Object.entries(this.given).flatMap(([key, value]) => {
      const field = fieldOf(listed.value, key) ?? fieldOf(listed.value, key.replace(/_?[iI]d$/, ''));
      return field === undefined || typeof value !== 'string' ? [] : [{ key, value, held: listed.value[field] }];
    });
    const others = asked.filter(({ value, held }) => isAlike(value, held) === false);
    if (others.length === 0 || (!isWhole && others.length < asked.length)) return;
    const { key, value, held } = others[0];
    this.fault('', `lists ${nameOf(listed)}, whose ${key} is ${shown(held)}; the call asks for ${shown(value)}`);
  }

  /** @param structural the known record, or part of one; @param near records that may be its subject */
  private object(
    claim: JsonObject,
    structural: StateRecord | undefined,
    near: readonly StateRecord[],
  ): StateRecord | undefined {
    const named = recordsOf(this.state, scalarsOf(claim));
    const { subject, equals } = structural ? { subject: structural, equals: [] } : this.subjectOf(claim, named, near);
    const around = [...named.map(({ record }) => record), ...near, ...(subject ? this.referred(subject) : [])];
    const joined = [
      ...around,
      ...[...(subject ? [subject] : []), ...around].flatMap((each) => this.within(each, claim)),
    ];
    for (const [key, value] of Object.entries(claim)) {
      if (typeof value !== 'object' || value === null) {
        this.leaf(key, value, subject, equals, joined);
        continue;
      }
      const field = subject && fieldOf(subject.value, key);
      if (field !== undefined) {
        this.deep(key, value, subject!.value[field], partOf(subject!, field));
        continue;
      }
      const [own] = isJsonObject(value) ? this.bestOf(value, recordsNamed(this.state, key)) : [];
      if (own !== undefined) this.object(value as JsonObject, own, []);
      else if (isJsonObject(value)) {
        const kin = [...near, ...joined].filter(({ collection }) => isKeyOf(key, collection));
        const isWrapper = Object.values(claim).every((each) => typeof each === 'object' && each !== null);
        this.object(value, undefined, kin.length > 0 ? kin.slice(0, 1) : isWrapper ? near : []);
      } else this.list(value);
    }
    return subject;
  }

  /** The subject of an object, and the records that match it equally well. */
  private subjectOf(claim: JsonObject, named: ReturnType<typeof recordsOf>, near: readonly StateRecord[]) {
    const candidates = unique([...named.map(({ record }) => record), ...near]);
    const isOwn = ({ id, value }: StateRecord) =>
      Object.entries(claim).some(([key, each]) => {
        const field = fieldOf(value, key);
        return field !== undefined && String(each) === id && String(value[field]) === id;
      });
    // A record that the object names in a field of another candidate is joined to that candidate.
    const leads = (a: StateRecord, b: StateRecord) =>
      named.some(({ key, record }) => {
        const field = nameOf(record) === nameOf(b) ? fieldOf(a.value, key) : undefined;
        if (field === undefined || nameOf(a) === nameOf(b)) return false;
        return recordsNamed(this.state, a.value[field]).some(({ collection }) => collection === b.collection);
      });
    const free = candidates.filter((b) => !candidates.some((a) => leads(a, b) && !leads(b, a)));
    const scored = (free.length > 0 ? free : candidates).map((record) => {
      const isSelf = named.some((one) => nameOf(one.record) === nameOf(record) && isKeyOf(one.key, record.collection));
      const shared = sharedFields(claim, record.value);
      return { record, score: 2 * shared + (isOwn(record) || isSelf ? 3 : 0) + (near.includes(record) ? 1 : 0) };
    });
    scored.sort((a, b) => b.score - a.score);
    const subject = scored[0]?.record;
    return { subject, equals: candidates.filter((each) => each !== subject && isOwn(each)) };
  }

  private bestOf(claim: JsonObject, records: readonly StateRecord[]): readonly StateRecord[] {
    const shared = records.filter(({ value }) => sharedFields(claim, value) > 0);
    return shared.sort((a, b) => sharedFields(claim, b.value) - sharedFields(claim, a.value));
  }

  /** By fields that name one record each. */
  private referred({ value }: StateRecord): StateRecord[] {
    return recordsOf(this.state, scalarsOf(value)).map(({ record }) => record);
  }

  /** Parts of a record: single ones, and those that call or object select, as a flight's `dates` by the day. */
  private within(record: StateRecord, claim: JsonObject): StateRecord[] {
    const chosen = [...this.asked, ...Object.values(scalarsOf(claim)).map(String)];
    return Object.entries(record.value).flatMap(([field, map]) => {
      if (!isJsonObject(map)) return [];
      if (Object.values(map).some((each) => !isJsonObject(each))) return [partOf(record, field)];
      return unique(
        chosen.filter((key) => Object.hasOwn(map, key)).map((key) => partOf(partOf(record, field), key, map)),
      );
    });
  }

  private leaf(
    key: string,
    claim: Json,
    subject: StateRecord | undefined,
    equals: readonly StateRecord[],
    joined: readonly StateRecord[],
  ): void {
    if (ANSWER_KEYS.test(key) && ANSWER_WORDS.test(String(claim))) return;
    const of = (records: readonly StateRecord[]) =>
      records.flatMap((record) => {
        const field = fieldOf(record.value, key);
        return field === undefined ? [] : [{ record, held: record.value[field] }];
      });
    const first = of(subject === undefined ? [] : [subject]);
    // A record that the key itself names does not show whether it is the right one.
    const own = [...first, ...of(equals).filter(({ record }) => first.length === 0 || record.id !== String(claim))];
    const prefixed = own.length > 0 || subject === undefined ? [] : this.prefixed(key, subject, equals);
    const places = [own, prefixed, claim === null ? [] : of(joined)].find((found) => found.length > 0) ?? [];
    if (places.length === 0) return;
    this.judge(
      key,
      places.map(({ record, held }) => this.isConsistent(claim, held, record)),
      () => {
        const { record, held } = places[0];
        return `says ${key} ${shown(claim)}, the record ${nameOf(record)} has ${shown(held)}`;
      },
    );
  }

  /** `flightStatus` is the `status` of the flight, `bookingStatus` that of the booking itself. */
  private prefixed(key: string, subject: StateRecord, equals: readonly StateRecord[]) {
    const plain = plainKey(key);
    const begun = Object.entries(scalarsOf(subject.value)).flatMap(([field, id]) =>
      recordsOf(this.state, { [field]: id }).map(({ record }) => ({
        prefix: plainKey(field).replace(/id$/, ''),
        record,
      })),
    );
    const parts = [subject, ...equals].flatMap((one) =>
      Object.keys(one.value).map((field) => ({ prefix: plainKey(field), record: partOf(one, field) })),
    );
    const all = [{ prefix: plainKey(singular(subject.collection)), record: subject }, ...parts, ...begun];
    return all.flatMap(({ prefix, record }) => {
      const rest = prefix !== '' && plain.startsWith(prefix) ? plain.slice(prefix.length) : '';
      const field = rest === '' || rest === 'id' ? undefined : fieldOf(record.value, rest);
      return field === undefined ? [] : [{ record, held: record.value[field] }];
    });
  }

  /** A reference may be reported in the words of the referenced record. */
  private isConsistent(claim: Json, held: Json, { value }: StateRecord): boolean | undefined {
    const alike = isAlike(claim, held);
    if (alike !== false || typeof claim !== 'string' || typeof held !== 'string') return alike;
    if (recordsNamed(this.state, claim).length > 0) return false;
    const [record] = recordsNamed(this.state, held).filter((one) => one.value !== value);
    if (record === undefined) return false;
    // Of several records of its collection it must be the one with the best match.
    const words = wordsOf(claim);
    const fitOf = (one: JsonObject) => {
      const own = new Set(wordsOf(textsIn(one).join(' ')));
      return words.filter((word) => own.has(word)).length;
    };
    const best = fitOf(record.value);
    return (
      best > 0 && [...collectionsOf(this.state).get(record.collection)!.values()].every((one) => fitOf(one) <= best)
    );
  }

  private deep(key: string, claim: Json, held: Json, place: StateRecord): void {
    if (isJsonObject(claim)) {
      const [record] = isJsonObject(held) ? [place] : this.bestOf(claim, recordsNamed(this.state, held));
      if (record === undefined) return;
      if (isJsonObject(held)) this.keysOf(key, claim, held, place);
      this.object(claim, record, []);
    } else if (Array.isArray(claim)) this.elements(key, claim, held, place);
  }

  /** Keys of a map by ids: each reported key must exist. */
  private keysOf(key: string, claim: JsonObject, held: JsonObject, place: StateRecord): void {
    for (const id of Object.keys(claim)) {
      if (Object.hasOwn(held, id) || recordsNamed(this.state, id).length === 0) continue;
      this.judge(key, [false], () => `says ${key} has ${id}, ${nameOf(place)} has not`);
    }
  }

  private elements(key: string, claim: readonly Json[], held: Json, place: StateRecord): void {
    const isMap = isJsonObject(held);
    if (!isMap && !Array.isArray(held)) return;
    const [keys, values] = isMap ? [Object.keys(held), Object.values(held)] : [[], held as Json[]];
    if (claim.length === 0 && values.length > 0)
      this.judge(key, [false], () => `says ${key} has nothing, ${nameOf(place)} has ${values.length}`);
    const free = new Set(values.filter(isJsonObject));
    for (const each of claim) {
      if (isJsonObject(each)) {
        const of = Object.values(scalarsOf(each)).find((value) => keys.includes(String(value)));
        const records = of === undefined ? [...free] : [(held as JsonObject)[String(of)]].filter(isJsonObject);
        if (records.length === 0) this.object(each, undefined, []);
        else free.delete(this.element(each, records, place));
        continue;
      }
      if (typeof each === 'object' || values.some((value) => typeof value === 'object' && value !== null && !isMap))
        continue;
      const fits = [...keys, ...values].map((value) => isAlike(each, value));
      const isOf =
        fits.length === 0 ? [false] : [fits.includes(true) || (fits.includes(undefined) ? undefined : false)];
      this.judge(key, isOf, () => `says ${key} has ${shown(each)}, ${nameOf(place)} has ${shown(isMap ? keys : held)}`);
    }
  }

  /** One of these must match the claim; of several the nearest is named. */
  private element(claim: JsonObject, parts: readonly JsonObject[], place: StateRecord): JsonObject {
    const tries = parts.map((value, at) => {
      const trial = new Reading(this.state, { name: '', arguments: {} }, this.other);
      trial.object(claim, { ...place, id: `${place.id}/${at}`, value }, []);
      return { trial, value };
    });
    tries.sort((a, b) => a.trial.faults.length - b.trial.faults.length || b.trial.held - a.trial.held);
    const [{ trial, value }] = tries;
    this.held += trial.held;
    this.faults.push(...trial.faults);
    return value;
  }

  /** Right if one place matches; a fault only if no place can. */
  private judge(key: string, verdicts: readonly (boolean | undefined)[], text: () => string): void {
    const plain = plainKey(key);
    if (this.other.has(plain) || (!verdicts.includes(true) && verdicts.includes(undefined))) return;
    if (verdicts.includes(true)) this.held += 1;
    else this.fault(plain, text());
  }

  private fault(key: string, text: string): void {
    this.faults.push({ key, text });
  }
}

/** Records that a call names by id, or by a unique value: an address, a full name. */
function calledBy(state: JsonObject, given: JsonObject): StateRecord[] {
  const named = recordsOf(state, given).map(({ record }) => record);
  if (named.length > 0) return named;
  const texts = Object.values(given).filter((value) => typeof value === 'string' && /[\s@]/.test(value));
  return texts.flatMap((text) => {
    const having = [...collectionsOf(state)].flatMap(([collection, records]) =>
      [...records].flatMap(([id, value]) => (Object.values(value).includes(text) ? [{ collection, id, value }] : [])),
    );
    return having.length === 1 ? having : [];
  });
}

function scalarsOf(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each !== 'object'));
}

function sharedFields(claim: JsonObject, value: JsonObject): number {
  return Object.keys(claim).filter((key) => fieldOf(value, key) !== undefined).length;
}

function partOf(record: StateRecord, field: string, value: JsonObject = record.value): StateRecord {
  const part = value[field];
  return { collection: record.collection, id: `${record.id}/${field}`, value: isJsonObject(part) ? part : {} };
}

function unique(records: readonly StateRecord[]): StateRecord[] {
  return [...new Map(records.map((record) => [nameOf(record), record])).values()];
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [];
}

// Evidence from records of the real environment.

/** The states before and after a record: known while nothing had been changed before. */
function statesAround({ domain }: StateQuery, step: ExperienceStep) {
  const isRead = (line: string) => toolNamed(domain, line.slice(0, line.indexOf('(')))?.kind !== 'write';
  if (step.step !== step.history.length || !step.history.every(isRead)) return undefined;
  const task = domain.tasks.find(({ id }) => id === step.task);
  const before = task === undefined ? domain.initialState : initialStateOf(domain, task);
  if (step.operations !== undefined) {
    try {
      return { before, after: applyOperations(before, step.operations) };
    } catch (error) {
      // The record is from a different state.
      if (error instanceof ReverieError && error.code === 'OPERATION_INVALID') return undefined;
      throw error;
    }
  }
  return { before, after: step.isError || isRead(callText(step.call)) ? before : undefined };
}

function toolNamed({ tools }: ToolsDomain, name: string): ToolSpec | undefined {
  return tools.find((tool) => tool.name === name);
}

const denied = new WeakMap<ExperienceStep, readonly string[]>();

/** Keys under which this tool reports something else than a record's field of that name: its own records would fail the check. */
function denials(query: StateQuery, steps: readonly ExperienceStep[]): ReadonlySet<string> {
  const keysOf = (step: ExperienceStep) => (step.isError ? [] : faultsOf(query, step).map(({ key }) => key));
  return new Set(steps.flatMap((step) => remembered(denied, step, () => keysOf(step))));
}

function faultsOf(query: StateQuery, step: ExperienceStep): readonly Fault[] {
  const after = statesAround(query, step)?.after;
  const claim = after && readObservation(step.observation);
  if (after === undefined || claim === undefined) return [];
  const reading = new Reading(after, step.call);
  reading.root(claim);
  return reading.faults;
}

/** Parses an observation by the wording of a record of the same tool: each field's old value is replaced by the new one. */
function phraseRead(query: StateQuery, steps: readonly ExperienceStep[]): JsonObject | undefined {
  for (const step of steps) {
    const after = step.isError ? undefined : statesAround(query, step)?.after;
    if (after === undefined) continue;
    const fields = new Map<string, string[]>();
    for (const { record } of recordsOf(after, step.call.arguments).slice(0, 1)) {
      const refers = recordsOf(after, scalarsOf(record.value)).map((one) => one.record.value);
      for (const value of [record.value, ...refers]) {
        for (const [key, each] of Object.entries(scalarsOf(value))) {
          const isTaken = [...fields.values()].flat().includes(key);
          if (!isTaken) fields.set(String(each), [...(fields.get(String(each)) ?? []), key]);
        }
      }
    }
    const keys: string[] = [];
    const texts = [...fields.keys(), ...textsOfArguments(step.call.arguments)].filter((text) => text.trim() !== '');
    texts.sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
    if (texts.length === 0) continue;
    const any = new RegExp(`(?<![\\p{L}\\p{N}])(?:${texts.map(escaped).join('|')})(?![\\p{L}\\p{N}])`, 'gu');
    let [pattern, from] = ['', 0];
    for (const { 0: text, index } of step.observation.matchAll(any)) {
      // A value that two fields share identifies neither, unless the field's name precedes it.
      const of = (fields.get(text) ?? []).filter((key) => !keys.includes(key));
      const label = plainKey(step.observation.slice(Math.max(from, index - 20), index));
      const key = of.length === 1 ? of[0] : of.find((each) => label.endsWith(plainKey(each)));
      const isRead = key !== undefined;
      if (isRead) keys.push(key);
      pattern += `${escaped(step.observation.slice(from, index))}${isRead ? '(.+?)' : '.+?'}`;
      from = index + text.length;
    }
    const match =
      keys.length === 0
        ? null
        : new RegExp(`^\\s*${pattern}${escaped(step.observation.slice(from))}\\s*$`, 'u').exec(
            query.proposal.observation,
          );
    if (match !== null) return Object.fromEntries(keys.map((key, at) => [key, match[at + 1]]));
  }
  return undefined;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

/** The same call on the same records that was refused there and executed here, or that returned other values. */
function recordsContradicted(query: StateQuery): Found {
  const { state, call, proposal, tool, records = [] } = query;
  const asked = callText(call);
  let found: Found;
  for (const step of records) {
    if (callText(step.call) !== asked) continue;
    const around = statesAround(query, step);
    if (around === undefined) continue;
    const about = recordsOf(state, call.arguments).map(({ record }) => record);
    const all = [
      ...about,
      ...about.flatMap(({ value }) => recordsOf(state, scalarsOf(value)).map(({ record }) => record)),
    ];
    const isSame = all.every(({ collection, id, value }) =>
      recordsNamed(around.before, id).some((one) => one.collection === collection && one.value === value),
    );
    // A record that contradicts the state is from another time.
    if (about.length === 0 || !isSame || faultsOf(query, step).length > 0) continue;
    const from = `a record of the same call (${step.episode}, call ${step.step + 1})`;
    if (step.isError !== proposal.isError) {
      const was = step.isError ? 'was refused' : 'was answered';
      return [`is ${proposal.isError ? 'refused' : 'answered'}, ${from} ${was}: ${shown(step.observation)}`];
    }
    found = 'held';
    const [claim, held] = [proposal.observation, step.observation].map(readObservation);
    if (proposal.isError || tool.kind === 'generic' || !isJsonObject(claim) || !isJsonObject(held)) continue;
    const differs = Object.entries(claim).find(([key, value]) => isAlike(value, held[key] ?? value) === false);
    if (differs !== undefined)
      return [`says ${differs[0]} ${shown(differs[1])}, ${from} says ${shown(held[differs[0]])}`];
  }
  return found;
}

// Existing and missing records.

/** Collections whose keys the references of tasks pass in this argument. */
const places = new WeakMap<ToolsDomain, ReadonlyMap<string, ReadonlySet<string>>>();

function collectionsOfPlace(domain: ToolsDomain, tool: string, key: string): ReadonlySet<string> {
  const known = remembered(places, domain, () => {
    const found = new Map<string, Set<string>>();
    const ready = domain.tasks.filter((task) => !isWorkedOutLater(task));
    for (const call of ready.flatMap(({ reference }) => reference?.calls ?? []))
      for (const { key: place, record } of recordsOf(domain.initialState, call.arguments))
        for (const name of [`${call.name} ${place}`, place])
          found.set(name, (found.get(name) ?? new Set()).add(record.collection));
    return found;
  });
  return known.get(`${tool} ${key}`) ?? known.get(key) ?? new Set();
}

function isPlaceOf(query: StateQuery, key: string, collection: string): boolean {
  return isKeyOf(key, collection) || collectionsOfPlace(query.domain, query.call.name, key).has(collection);
}

/** An unknown id, in a call that creates nothing, must give an error or an empty answer. */
function unknownAnswered(query: StateQuery): Found {
  const { domain, tool, state, call, proposal, isId, isKnown } = query;
  if (tool.kind === 'generic') return undefined;
  const names = [...collectionsOf(state).keys()];
  const ids = Object.entries(call.arguments).flatMap(([key, value]) => {
    const values: readonly Json[] = Array.isArray(value) ? value : [value];
    const isPlace = names.some((name) => isPlaceOf(query, key, name));
    return values.flatMap((id) => (typeof id === 'string' && (isPlace || isId(id)) ? [{ key, id }] : []));
  });
  if (ids.length === 0) return undefined;
  const made = proposal.operations.some(({ op }) => op !== 'test') ? JSON.stringify(proposal.operations) : '';
  const strange = ids.filter(({ id }) => {
    const isCased = names.some((name) =>
      [...collectionsOf(state).get(name)!.keys()].some((key) => plainKey(key) === plainKey(id)),
    );
    return !isKnown(id) && !isCased && !domain.policy.includes(id) && !made.includes(id);
  });
  if (strange.length === 0 || proposal.isError || isDenial(proposal.observation, call)) return 'held';
  return strange.map(({ key, id }) => `answers for ${key} ${id}, which the state does not know: it must be an error`);
}

/** Whether an answer is empty beyond the request: an empty list, `false`, none. */
function isDenial(observation: string, { arguments: given }: CallSpec): boolean {
  const asked = textsOfArguments(given);
  const says = (value: Json): boolean => {
    if (typeof value === 'object' && value !== null) return Object.values(value).some((each) => says(each as Json));
    return value !== null && value !== false && value !== 0 && value !== '' && !asked.includes(String(value));
  };
  const claim = readObservation(observation);
  if (claim === undefined)
    return observation.trim() === '' || /\b(no|none|not|nothing|invalid|unknown)\b/i.test(observation);
  return !says(claim) || (isJsonObject(claim) && Object.values(claim).includes(false));
}

const NOT_FOUND =
  /not found|no such|(does not|doesn['’]t) exist|unknown|(cannot|could not|couldn['’]t) (be )?f[io]u?nd|there is no|no .{0,30} (with|found)/i;
/** Words of an error that only reports something missing. */
const PLAIN_WORDS = new Set(
  'error the a an no not with by for of id ids reference number name was is are be found such does do doesn t exist exists existing unknown could couldn cannot can find there any record records entry in our system database sorry please check it and try again invalid valid this that'.split(
    ' ',
  ),
);

/** Existing records must not be reported missing. */
function existingDenied(query: StateQuery): Found {
  const { state, call, proposal } = query;
  const text = proposal.observation;
  if (!proposal.isError || !NOT_FOUND.test(text)) return undefined;
  const given = recordsOf(state, call.arguments);
  const mentioned = given.filter(({ record }) => text.includes(record.id));
  const unknown = Object.values(call.arguments).filter(
    (id) => typeof id === 'string' && query.isId(id) && !query.isKnown(id),
  );
  if (mentioned.length === 0 && (unknown.length > 0 || given.length !== 1))
    return unknown.length > 0 ? 'held' : 'unchecked';
  const about = mentioned.length > 0 ? mentioned : given;
  const found = about.filter(({ key, record }) => {
    const nouns = [
      ...wordsOf(record.collection),
      singular(record.collection).toLowerCase(),
      ...wordsOf(key.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ')),
    ];
    const rest = wordsOf(text.replaceAll(record.id, ' ')).filter(
      (word) => !PLAIN_WORDS.has(word) && !nouns.includes(word),
    );
    const isNamed = wordsOf(text).includes(singular(record.collection).toLowerCase());
    return rest.length === 0 && (isNamed || isPlaceOf(query, key, record.collection));
  });
  if (found.length === 0) return 'unchecked';
  return found.map(({ record }) => `says "${shown(text)}", the state has ${nameOf(record)}`);
}

// Changes.

function successWithoutChange(query: StateQuery): Found {
  const { tool, state, after, call, proposal, records = [] } = query;
  if (tool.kind !== 'write' || proposal.isError) return undefined;
  if (after !== state && stateChanges(state, after).length > 0) return 'held';
  const isSeen = ({ call: { name }, isError, operations }: ExperienceStep) =>
    name === call.name && !isError && operations?.length === 0;
  // An answer that repeats the call confirms it.
  const claim = readObservation(proposal.observation);
  const isNo = isJsonObject(claim) ? Object.values(claim).includes(false) : isDenial(proposal.observation, call);
  if (isNo || records.some(isSeen) || isAlreadySo(state, call)) return 'unchecked';
  return [`says that ${call.name} succeeded, and changes nothing`];
}

/** Whether the state already has the values that the call sets. */
function isAlreadySo(state: JsonObject, { arguments: given }: CallSpec): boolean {
  const named = recordsOf(state, given);
  const sets = Object.entries(given).flatMap(([key, value]) => {
    const fields = named.flatMap(({ record }) => {
      const field = fieldOf(record.value, key);
      return field === undefined || String(value) === record.id ? [] : [record.value[field]];
    });
    // Arguments without a field in named records may have effects on other records only.
    return fields.length === 0 ? [] : [fields.some((field) => canonicalJson(field) === canonicalJson(value))];
  });
  return sets.length > 0 && sets.every(Boolean);
}

const SECRET = /pass|secret|pin|token/i;

/** Only records that the call names, their references and referrers change; and to the values of the call. */
function changesOfOthers(query: StateQuery): Found {
  const { state, after, call, proposal } = query;
  if (after === state || proposal.isError) return undefined;
  const direct = recordsOf(state, call.arguments).map(({ record }) => record);
  const changed = changedRecords(state, after);
  if (direct.length === 0) return changed.length > 0 ? 'unchecked' : undefined;
  const texts = textsOfArguments(call.arguments).filter((text) => text.length > 2);
  const words = texts.flatMap((text) => text.split(/[\s,;()]+/));
  const kinds = new Set(direct.map(({ collection }) => collection));
  const valuesOf = ({ collection, id }: StateRecord): JsonObject[] =>
    [state, after].map((at) => collectionsOf(at).get(collection)?.get(id)).filter((value) => value !== undefined);
  const byField = (records: readonly StateRecord[]) =>
    records.flatMap((record) =>
      valuesOf(record).flatMap((value) => recordsOf(state, scalarsOf(value)).map((one) => one.record)),
    );
  // Lists of other records of the same kind, as the members of a group, name no record.
  const listed = direct
    .flatMap((record) => valuesOf(record).flatMap((value) => recordsReferred(state, value)))
    .filter(({ collection }) => !kinds.has(collection));
  const once = byField(direct);
  const near = new Set([...direct, ...once, ...byField(once), ...listed].map(nameOf));
  const problems = changed.flatMap((record): string[] => {
    const isNear = near.has(nameOf(record)) || words.includes(record.id);
    const isReferring = !kinds.has(record.collection) && texts.some((text) => holds(record.value, text));
    if (!isNear && !isReferring)
      return [`changes ${nameOf(record)}, which neither the call nor a record that it refers to names`];
    return direct.some((one) => nameOf(one) === nameOf(record)) ? wrongValues(record, after, call) : [];
  });
  return problems.length > 0 ? problems : 'held';
}

/** Existing records that changed. */
function changedRecords(before: JsonObject, after: JsonObject): StateRecord[] {
  const now = collectionsOf(after);
  return [...collectionsOf(before)].flatMap(([collection, records]) => {
    const then = now.get(collection);
    if (then === records) return [];
    return [...records].flatMap(([id, value]) => (then?.get(id) === value ? [] : [{ collection, id, value }]));
  });
}

function wrongValues(
  { collection, id, value }: StateRecord,
  after: JsonObject,
  { arguments: given }: CallSpec,
): string[] {
  const now = collectionsOf(after).get(collection)?.get(id);
  return Object.entries(given).flatMap(([key, asked]) => {
    const field = now && fieldOf(now, key);
    if (field === undefined || typeof asked !== 'string' || asked === id || SECRET.test(key)) return [];
    const is = now![field];
    if (typeof is !== 'string' || is === value[field] || isAlike(is, asked) !== false) return [];
    return [`sets ${key} of ${collection}/${id} to ${shown(is)}, the call says ${shown(asked)}`];
  });
}
