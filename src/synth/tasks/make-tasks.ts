// Makes the tasks a scenario asks for: proposals in a fixed order, each judged before the next, until there are enough. A proposal
// is a given task about other entities, which its reference solves as well.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/canonical-json.js';
import type { Rng } from '../../core/rng.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';
import { type Admission, Admissions } from './admission.js';
import { Entities, entityParts, type Likeness, swappedTasks } from './entity-swap.js';
import { checkReference, isForEvaluation, type Played, STRATEGY, type TaskProposal } from './task-checks.js';
import type { TasksConfig } from './tasks-schema.js';

interface MakeTasksRequest {
  readonly domain: ToolsDomain;
  readonly config: Pick<TasksConfig, 'variation'>;
  /** Not advanced: proposal i has a stream of its own, so equal streams make equal tasks. */
  readonly rng: Rng;
  /** Tasks to start from; default: all of the domain that are not kept for evaluation, and have a reference. */
  readonly seeds?: readonly ToolsTask[];
  /** What answers calls where the domain has no rules. */
  readonly responder?: Responder;
  readonly signal?: AbortSignal;
}

interface MadeTask {
  /** Number of the proposal. */
  readonly number: number;
  readonly proposal: TaskProposal;
  readonly admission: Admission;
}

/** Proposals made at most for each task wanted, as most find no other entity that fits, or are not admitted. */
const OVER_GENERATION = 6;

/**
 * Every proposal with its verdict, admitted or not; ends when `variation.count` were admitted, or when six times as many were
 * proposed.
 * @throws SCENARIO_UNFIT, and what the responder throws
 */
export async function* makeTasks(request: MakeTasksRequest): AsyncGenerator<MadeTask> {
  const { domain, rng, config, responder, signal } = request;
  const { count } = config.variation;
  const isSeed = (task: ToolsTask) => !isForEvaluation(task) && task.reference !== undefined;
  const seeds = (request.seeds ?? domain.tasks).filter(isSeed);
  if (count === 0 || seeds.length === 0) return;
  const admissions = new Admissions(domain, responder);
  for (let number = 0; number < count * OVER_GENERATION; number++) {
    signal?.throwIfAborted();
    const round = Math.floor(number / seeds.length);
    const seed = seeds[rng.split('seeds', round).permutation(seeds.length)[number % seeds.length]];
    const proposal = await varyTask({ domain, responder, seed, rng: rng.split('proposal', number) });
    const admission = await admissions.admit(proposal);
    yield { number, proposal, admission };
    if (admissions.admitted >= count) return;
  }
}

interface VariationRequest extends Pick<MakeTasksRequest, 'domain' | 'responder'> {
  readonly seed: ToolsTask;
  /** Not advanced: equal streams make equal proposals. */
  readonly rng: Rng;
}

/** A proposal for a new task; where none could be made it holds the reasons instead. @throws what the responder throws */
export async function varyTask(request: VariationRequest): Promise<TaskProposal> {
  const { seed, domain } = request;
  if (isForEvaluation(seed))
    return { seed, problems: [{ code: 'seed_split', detail: `its seed "${seed.id}" is kept for ${seed.split}` }] };
  const task = await swapped(request);
  if (task !== undefined) return { seed, task: named(task, seed), problems: [] };
  const detail = `no other entity of "${domain.id}" fits task "${seed.id}"`;
  return { seed, problems: [{ code: 'no_variant', detail }] };
}

/** Entities that are tried by playing the reference before none is found. */
const MOST_CANDIDATES = 48;

/** The first swap of entities whose reference solves it; without anything to play it, the likeliest. */
async function swapped(request: VariationRequest): Promise<ToolsTask | undefined> {
  const { domain, seed: task, rng } = request;
  const state = initialStateOf(domain, task);
  const player = playerOf(request);
  const alike = likenessFor(task);
  const candidates = swappedTasks({ task, state, except: keptIds(domain), rng, alike });
  if (player === undefined || task.reference === undefined) return candidates.next().value ?? undefined;
  const original = await checkReference(domain, task, player);
  if (alike !== 'named' && !changesOrTells(task, original.played)) return undefined;
  let tried = 0;
  for (const candidate of candidates) {
    if (++tried > MOST_CANDIDATES) break;
    const { reasons, played } = await checkReference(domain, candidate, player);
    if (reasons.length === 0 && numbersHold(task, original.played, candidate, played)) return candidate;
  }
  return undefined;
}

/** Goals that speak of more than they name. */
const QUANTIFIED = /\b(all|any|every|each|both|other|others|rest|only|cheapest|latest|last|first)\b/i;

/** Exact checks of the domain judge the solution for another entity, too; without them, what it rests on must be the same. */
function likenessFor({ verifier, user }: ToolsTask): Likeness {
  if ((verifier.checks?.length ?? 0) > 0) return 'named';
  return QUANTIFIED.test(user.goal) ? 'all' : 'own';
}

/** Where a solution neither changes nor tells anything, nothing shows that it is right for another entity. */
function changesOrTells({ verifier }: ToolsTask, { answers }: Played): boolean {
  return (verifier.communicate?.length ?? 0) > 0 || answers.some(({ prediction }) => prediction.operations.length > 0);
}

/**
 * Whether every text with a number that the swapped task wants told can be read off its tools' answers. A number that not
 * even the original's answers show was computed from them, and would have to be computed anew.
 */
function numbersHold(original: ToolsTask, before: Played, swapped: ToolsTask, after: Played): boolean {
  const told = swapped.verifier.communicate ?? [];
  const isShown = ({ answers }: Played, text: string) => {
    const shown = answers.map(({ prediction }) => prediction.observation).join('\n');
    const number = Number(text.replaceAll(',', ''));
    // Answers write 12.50 as 12.5.
    return shown.includes(text) || (Number.isFinite(number) && shown.includes(String(number)));
  };
  return (original.verifier.communicate ?? []).every((text, i) => {
    if (!/\d/.test(text)) return true;
    return isShown(before, text) && told[i] !== undefined && isShown(after, told[i]);
  });
}

const players = new WeakMap<ToolsDomain, Responder>();

/** What answers calls; one for each domain, so that what it played is remembered. */
function playerOf({ domain, responder }: VariationRequest): Responder | undefined {
  if (responder !== undefined || domain.rules === undefined) return responder;
  const player = players.get(domain) ?? rulesResponder(domain, 'rules');
  players.set(domain, player);
  return player;
}

/** Entities that tasks for evaluation are about. */
function keptIds({ tasks, initialState }: ToolsDomain): ReadonlySet<string> {
  const entities = new Entities(initialState);
  const kept = tasks.filter(isForEvaluation).flatMap((task) => entities.named(entityParts(task)));
  return new Set(kept.map(({ id }) => id));
}

/** A name made of the seed and what the task says: equal tasks have equal names. */
function named(task: ToolsTask, { id, family, split }: ToolsTask): ToolsTask {
  const content = { user: task.user, ...entityParts(task) };
  const hash = createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 8);
  return { ...task, id: `${id}.${STRATEGY}.${hash}`, family, ...(split !== undefined && { split }) };
}
