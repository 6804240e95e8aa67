// Two tasks in one conversation: what is joined must be about different things and of one person.

import { canonicalJson, type JsonObject } from '../../core/canonical-json.js';
import type { ToolsTask, UserSpec, VerifierSpec } from '../../env/tools/domain.js';
import { Entities, type Entity } from './entities.js';
import { entityParts } from './entity-swap.js';
import type { Played } from './task-checks.js';

/** The joined task, or one sentence why there is none. The caller has played both references. */
export function composed(a: ToolsTask, b: ToolsTask, plays: readonly [Played, Played]): ToolsTask | string {
  const shared = sharedThing(a, b, plays);
  if (shared !== undefined) return `both are about ${shared}`;
  if (a.verifier.state !== b.verifier.state) return 'one is verified by its whole end state, the other is not';
  const forbiddenBy = (one: ToolsTask, other: ToolsTask) =>
    other.reference?.calls.find(({ name }) => one.verifier.notCalled?.includes(name))?.name;
  const forbidden = forbiddenBy(a, b) ?? forbiddenBy(b, a);
  if (forbidden !== undefined) return `one must not call ${forbidden}, the other does`;
  const initialOperations = [...(a.initialOperations ?? []), ...(b.initialOperations ?? [])];
  const says = [a.reference?.say, b.reference?.say].filter((say) => say !== undefined);
  const calls = [...(a.reference?.calls ?? []), ...(b.reference?.calls ?? [])];
  return {
    id: '',
    family: a.family,
    user: joinedUser(a.user, b.user),
    ...(initialOperations.length > 0 && { initialOperations }),
    verifier: joinedVerifier(a.verifier, b.verifier),
    reference: { calls, ...(says.length > 0 ? { say: says.join('\n') } : {}) },
    tags: [...new Set([...(a.tags ?? []), ...(b.tags ?? []), 'composed'])],
  };
}

/** The joined task without calls of the second that repeat one of the first and change nothing: nobody reads twice. */
export function withoutRepeats(task: ToolsTask, first: ToolsTask, { answers }: Played): ToolsTask {
  const before = new Set(first.reference?.calls.map((call) => canonicalJson(call)));
  const from = first.reference?.calls.length ?? 0;
  const calls = task.reference!.calls.filter(
    (call, i) => i < from || !before.has(canonicalJson(call)) || answers[i].prediction.operations.length > 0,
  );
  return { ...task, reference: { ...task.reference, calls } };
}

/** Who a task is of, by collection: named entities that others belong to (an order to its user), or else those of what it names. */
type Owners = ReadonlyMap<string, ReadonlySet<string>>;

export function ownersOf(task: ToolsTask, state: JsonObject): Owners {
  const entities = new Entities(state);
  const parts = entityParts(task);
  const spoken = entities.named(parts.user);
  const named = spoken.length > 0 ? spoken : entities.named(parts);
  const owning = owningCollections(entities);
  const direct = named.filter(({ collection }) => owning.has(collection));
  const owners = direct.length > 0 ? direct : named.flatMap((entity) => ownersOfRecord(entities, entity));
  const found = new Map<string, Set<string>>();
  for (const { collection, id } of owners) found.set(collection, (found.get(collection) ?? new Set()).add(id));
  return found;
}

/**
 * What must change places in `b` so that it is of the same owners as `a`: nothing where they share one, and undefined
 * where it is not known whose one of them is, or there are several to choose from.
 */
export function ownerChanges(a: Owners, b: Owners): ReadonlyMap<string, string> | undefined {
  const changes = new Map<string, string>();
  for (const collection of new Set([...a.keys(), ...b.keys()])) {
    const [ours, theirs] = [a.get(collection), b.get(collection)];
    if (ours === undefined || theirs === undefined) return undefined;
    if ([...theirs].some((id) => ours.has(id))) continue;
    if (ours.size > 1 || theirs.size > 1) return undefined;
    changes.set([...theirs][0], [...ours][0]);
  }
  return changes;
}

const LOOKED_AT = 20;

function owningCollections(entities: Entities): Set<string> {
  const owning = new Set<string>();
  for (const [collection, records] of entities.collections)
    for (const [id, record] of [...records].slice(0, LOOKED_AT))
      for (const owner of ownersOfRecord(entities, { collection, id, record })) owning.add(owner.collection);
  return owning;
}

/** Entities of other collections that a field of the record names. */
function ownersOfRecord(entities: Entities, { collection, record }: Entity): Entity[] {
  const fields = Object.values(record).filter((value) => typeof value === 'string');
  const found = fields.map((value) => entities.find(value)).filter((entity) => entity !== undefined);
  return found.filter((entity) => entity.collection !== collection);
}

/** A record that both change, or something that both name beside the people they are of. */
function sharedThing(a: ToolsTask, b: ToolsTask, [playedA, playedB]: readonly [Played, Played]): string | undefined {
  const entities = new Entities(playedA.end.initialState);
  const [writtenA, writtenB] = [playedA, playedB].map((played) => writtenTo(entities, played));
  const written = writtenA.find((place) => writtenB.includes(place));
  if (written !== undefined) return written;
  const owning = owningCollections(entities);
  const things = (task: ToolsTask) =>
    entities.named(entityParts(task)).filter(({ collection }) => !owning.has(collection));
  const theirs = new Set(things(b).map(({ id }) => id));
  return things(a).find(({ id }) => theirs.has(id))?.id;
}

/** Records that were changed, as `/collection/id`; what lies outside of collections (counters, who was verified) is common. */
function writtenTo(entities: Entities, { answers }: Played): string[] {
  const paths = answers.flatMap(({ prediction }) => prediction.operations.map(({ path }) => path.split('/')));
  const inRecords = paths.filter(([, collection]) => entities.collections.has(collection));
  return inRecords.map((path) => path.slice(0, 3).join('/'));
}

function joinedUser(a: UserSpec, b: UserSpec): UserSpec {
  const goal = `${a.goal}\n\nOnce that is settled, there is something else that you want, too. ${b.goal}`;
  const persona = a.persona ?? b.persona;
  const script = joinedScript(a, b);
  return {
    goal,
    ...(a.opening === undefined ? {} : { opening: a.opening }),
    ...(persona === undefined ? {} : { persona }),
    ...(script === undefined ? {} : { script }),
  };
}

/** The first script, whose last word brings up the second wish; undefined where one has none that ends. */
function joinedScript(a: UserSpec, b: UserSpec): UserSpec['script'] {
  const last = a.script?.findLastIndex(({ done }) => done === true) ?? -1;
  if (a.script === undefined || b.script === undefined || last < 0) return undefined;
  const next = `There is one more thing. ${b.opening ?? b.goal}`;
  const first = a.script.filter((line, i) => i === last || line.done !== true);
  return [
    ...first.map((line) => (line.done === true ? { when: line.when, say: `${line.say} ${next}` } : line)),
    ...b.script,
  ];
}

function joinedVerifier(a: VerifierSpec, b: VerifierSpec): VerifierSpec {
  const lists = ['assert', 'communicate', 'called', 'notCalled', 'checks', 'rubric'] as const;
  const both = lists.map((name) => [name, [...new Set<unknown>([...(a[name] ?? []), ...(b[name] ?? [])])]] as const);
  const joined = both.filter(([, values]) => values.length > 0);
  return { ...(a.state === undefined ? {} : { state: a.state }), ...Object.fromEntries(joined) };
}
