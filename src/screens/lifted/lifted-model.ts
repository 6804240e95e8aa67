// The lifted model as a backend of the router.

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { canonicalJson, type Json, sha256 } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../core/files.js';
import type { ScreenState } from '../../env/screens/screen-state.js';
import { applyOperations } from '../../env/state/operations.js';
import type { CallSpec, ToolsDomain } from '../../env/tools/domain.js';
import type { Message } from '../../env/tools/message.js';
import type { Operation } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import {
  calibrationSchema,
  confidenceOf,
  type JudgedStep,
  judgeRecords,
  modelFolder,
  type RecordedFit,
  type RecordedFitRequest,
  readSealed,
} from '../../worldmodel/from-records.js';
import { type LearnedEpisode, recordedSteps } from '../../worldmodel/sequence/recorded-steps.js';
import type { BackendModel, Declined, RawProposal } from '../../worldmodel/tools/backend-model.js';
import { screenChanges } from '../mechanics.js';
import { Act } from './layout.js';
import { type RecordedAct, transferred } from './transfer.js';

export class LiftedModel implements BackendModel {
  readonly version: string;
  private readonly book: LiftedBook;
  private readonly ids = new KnownIds();

  constructor(private readonly contents: LiftedContents) {
    this.version = versionOf(contents);
    this.book = new LiftedBook(recordedActs(contents.walks));
  }

  predict(query: CallQuery): RawProposal | Declined {
    const before = query.state as ScreenState;
    const opening = this.ids.openingOf(query);
    const said = this.book.say(new Act({ state: before, call: query.call, opening, ids: this.ids.last(query) }));
    if (said === undefined) return { declined: 'nothing like it was recorded on a screen like this' };
    const { after, observation, evidence } = said;
    const confidence = confidenceOf(this.contents.calibration, evidence);
    if (after === undefined) return { operations: [], observation, isError: true, confidence, cost: NO_COST };
    const twice = openedTwice(before, after);
    if (twice !== undefined)
      return {
        declined: `it would open the dialog ${JSON.stringify(twice)}, which is open and may well cover what is pointed at`,
      };
    const done = { op: 'add', path: '/history/-', value: after.history.at(-1)! } as const;
    return {
      operations: [...screenChanges(before, after), done],
      // Drawn from the state by the domain.
      observation: '',
      isError: false,
      confidence,
      cost: NO_COST,
    };
  }
}

/**
 * The name of a dialog that has come and was there already. What opened it is recorded where it was closed, as it is covered where it
 * is open, and no tree says so.
 */
function openedTwice(before: ScreenState, after: ScreenState): string | undefined {
  const dialogs = ({ elements }: ScreenState) => Object.entries(elements).filter(([, { role }]) => role === 'dialog');
  const open = new Set(dialogs(before).flatMap(([id, { name }]) => (after.elements[id] === undefined ? [] : [name])));
  return dialogs(after).find(([id, { name }]) => before.elements[id] === undefined && open.has(name))?.[1].name;
}

/** Openings of tasks that are held. */
const OPENINGS = 64;

export class KnownIds {
  private readonly openings = new LRUCache<string, ScreenState>({ max: OPENINGS });

  /** The screen that the task began with. */
  openingOf({ domain, task }: Pick<CallQuery, 'domain' | 'task'>): ScreenState {
    const kept = this.openings.get(task.id) ?? (initialStateOf(domain, task) as ScreenState);
    this.openings.set(task.id, kept);
    return kept;
  }

  /** The largest that was seen so far. */
  last(query: CallQuery): number {
    return Math.max(
      lastId(this.openingOf(query)),
      lastId(query.state as ScreenState),
      ...query.messages.map(lastShown),
    );
  }
}

const shown = new WeakMap<Message, number>();

/** The largest id that a message shows; looked for once in each. */
function lastShown(message: Message): number {
  if (message.role !== 'tool') return 0;
  const known = shown.get(message);
  if (known !== undefined) return known;
  const ids = [...message.content.matchAll(/^\s*\[(\d+)\]/gm)];
  const last = ids.reduce((largest, [, id]) => Math.max(largest, Number(id)), 0);
  shown.set(message, last);
  return last;
}

const plain = z.record(z.string(), z.json() as unknown as z.ZodType<Json>);

const walksSchema = z.strictObject({
  /** By task. */
  openings: z.record(z.string(), plain),
  walks: z.array(
    z.strictObject({
      episode: z.string(),
      task: z.string(),
      family: z.string(),
      steps: z.array(
        z.strictObject({
          name: z.string(),
          arguments: plain,
          operations: z.array(plain),
          isError: z.boolean(),
          /** Of refusals. */
          observation: z.string(),
        }),
      ),
    }),
  ),
});

export type Walks = z.infer<typeof walksSchema>;

const FILE = 'lifted.json';
const HEAD = { format: 'reverie-lifted', formatVersion: 1 } as const;

const contentsSchema = z.strictObject({
  /** The domain it was made in. */
  domain: z.string(),
  walks: walksSchema,
  calibration: calibrationSchema,
  /** Share of what was kept from it that it got exactly right. */
  exactness: z.number().min(0).max(1),
});
export type LiftedContents = z.output<typeof contentsSchema>;

/** Changes whenever an answer could. */
export function versionOf({ walks, calibration }: LiftedContents): string {
  return `lifted:${sha256(canonicalJson({ walks, calibration } as unknown as Json)).slice(0, 16)}`;
}

/** @throws STORAGE_FULL, STORAGE_FAILED */
export async function saveLifted(folder: string, contents: LiftedContents): Promise<void> {
  await ensureFolder(folder);
  await writeFileAtomic(join(folder, FILE), sealedText({ ...HEAD, ...contents }));
}

/** @param given  the model's folder, or a run that made it. @throws MODEL_FILE_INVALID for what is missing or damaged */
export async function loadLifted(given: string): Promise<LiftedContents> {
  const hint = 'Give a run of `reverie fit` with the backend lifted, or restore its folder from a copy.';
  const head = { format: z.literal(HEAD.format), formatVersion: z.literal(HEAD.formatVersion) };
  const schema = contentsSchema.extend(head);
  const { format, formatVersion, ...contents } = await readSealed(modelFolder(given, FILE), FILE, { schema, hint });
  return contents;
}

type Walk = Walks['walks'][number];

/** What episodes of a domain of screens come to; those that cannot be followed end early. */
function walksOf(episodes: Iterable<LearnedEpisode>, domain: ToolsDomain): Walks {
  const openings: Record<string, Record<string, Json>> = {};
  const walks = new Map<string, Walk>();
  const families = new Map(domain.tasks.map(({ id, family }) => [id, family]));
  for (const { episode, task, question, answer } of recordedSteps(episodes, domain)) {
    openings[task] ??= question.world.values as Record<string, Json>;
    const walk = walks.get(episode) ?? { episode, task, family: families.get(task)!, steps: [] };
    walks.set(episode, walk);
    const { isError, operations, observation } = answer;
    walk.steps.push({
      name: question.call.name,
      arguments: { ...question.call.arguments } as Record<string, Json>,
      operations: operations as unknown as Record<string, Json>[],
      isError,
      observation: isError ? observation : '',
    });
  }
  return { openings, walks: [...walks.values()] };
}

/** Every action of the walks, on its screen. */
function recordedActs({ openings, walks }: Walks): RecordedAct[] {
  return walks.flatMap(({ task, steps, ...where }) => {
    const opening = openings[task] as unknown as ScreenState;
    let state = opening;
    let ids = lastId(opening);
    return steps.map(({ name, arguments: given, operations, isError, observation }) => {
      const call = { name, arguments: given } as CallSpec;
      const act = new Act({ state, call, opening, ids });
      state = applyOperations(state, operations as unknown as readonly Operation[]) as ScreenState;
      ids = Math.max(ids, lastId(state));
      return { act, after: state, isError, observation, task, ...where };
    });
  });
}

/** Largest number among the ids of a screen; ids are given out in order. */
export function lastId({ elements }: ScreenState): number {
  return Object.keys(elements).reduce((last, id) => Math.max(last, Number(id) || 0), 0);
}

/** Recorded actions that have a say. */
const VOICES = 6;
/** How much less a voice counts for each hundredth of likeness. */
const SHARPNESS = 20;

interface Said {
  /** Undefined where the page refused. */
  readonly after: ScreenState | undefined;
  /** Of the recorded page. */
  readonly observation: string;
  /** In (0, 1]: the answer's share of all voices, times the likeness of the nearest of them. Not a probability before it is calibrated. */
  readonly evidence: number;
}

export class LiftedBook {
  private readonly byKey = new Map<string, RecordedAct[]>();

  constructor(recorded: readonly RecordedAct[]) {
    for (const one of recorded) {
      const alike = this.byKey.get(one.act.key);
      if (alike === undefined) this.byKey.set(one.act.key, [one]);
      else alike.push(one);
    }
  }

  /** @param isKnown  false for what is to be left out; undefined answer: nothing like it was recorded */
  say(asked: Act, isKnown: (one: RecordedAct) => boolean = () => true): Said | undefined {
    const near = (this.byKey.get(asked.key) ?? [])
      .filter(isKnown)
      .map((one) => ({ one, likeness: asked.likeness(one.act) }))
      .sort((a, b) => b.likeness - a.likeness)
      .slice(0, VOICES);
    const answers: Answer[] = [];
    let total = 0;
    for (const { one, likeness } of near) {
      const after = one.isError ? undefined : transferred(one, asked);
      const weight = Math.exp(SHARPNESS * (likeness - near[0].likeness));
      total += weight;
      if (after === undefined && !one.isError) continue;
      const answer = answers.find((said) => isSameScreen(said.after, after));
      if (answer === undefined) answers.push({ weight, likeness, after, observation: one.observation });
      else answer.weight += weight;
    }
    const [best] = answers.sort((a, b) => b.weight - a.weight);
    if (best === undefined) return undefined;
    const { likeness, after, observation } = best;
    return { after, observation, evidence: (best.weight / total) * likeness };
  }
}

interface Answer extends Pick<Said, 'after' | 'observation'> {
  weight: number;
  readonly likeness: number;
}

/** Of two screens that were made of the same one: what did not change is the same object in both. */
function isSameScreen(a: ScreenState | undefined, b: ScreenState | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const { elements: ours, ...rest } = a;
  const { elements: theirs, ...others } = b;
  const ids = Object.keys(ours);
  return (
    isDeepStrictEqual(rest, others) &&
    ids.length === Object.keys(theirs).length &&
    ids.every((id) => ours[id] === theirs[id] || isDeepStrictEqual(ours[id], theirs[id]))
  );
}

/**
 * The model of recorded episodes: all of them, and how sure it may be, found by asking about each action without what was recorded of
 * its task.
 */
export async function fitLifted(request: RecordedFitRequest): Promise<RecordedFit<LiftedContents>> {
  const { domain, episodes } = request;
  const walks = walksOf(episodes, domain);
  const acts = recordedActs(walks);
  const book = new LiftedBook(acts);
  const tasks = new Map<string, Set<string>>();
  for (const { family, task } of acts) tasks.set(family, (tasks.get(family) ?? new Set()).add(task));
  const { calibration, report } = await judgeRecords(request, {
    ...{ steps: acts, unit: 'actions' },
    keyOf: ({ act: { given } }) => `${treeText(given.state)} ${JSON.stringify(given.call)}`,
    judge: (one) => judge(book, one, (tasks.get(one.family)?.size ?? 0) > 1),
  });
  return { contents: { domain: domain.id, walks, calibration, exactness: report.exact }, report };
}

/** Without its task, where there are others of its family; else without its episode. */
function judge(
  book: LiftedBook,
  { act, after, isError, task, episode }: RecordedAct,
  hasOthers: boolean,
): JudgedStep & { readonly evidence: number } {
  const said = book.say(act, (one) => (hasOthers ? one.task !== task : one.episode !== episode));
  const changes = Object.keys(after.elements).filter(
    (id) => after.elements[id] !== act.given.state.elements[id],
  ).length;
  const isErrorRight = said !== undefined && (said.after === undefined) === isError;
  const simulated = said?.after ?? act.given.state;
  const isStateExact = isErrorRight && treeText(simulated) === treeText(after);
  return {
    changes: Math.min(changes, MANY),
    isStateExact,
    // The text is drawn from the state.
    isTextExact: isStateExact,
    isEndExact: simulated.done === after.done && simulated.reward === after.reward,
    evidence: said?.evidence ?? 0,
  };
}

/** Changed elements that are told apart by their number. */
const MANY = 4;

/** All that is on a screen, and where the keyboard is. */
function treeText({ elements, focused, done, reward }: ScreenState): string {
  return canonicalJson({ elements, focused, done, reward });
}
