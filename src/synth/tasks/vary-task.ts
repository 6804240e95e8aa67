// Makes a proposal for a new task out of given ones, by a strategy: rules where they suffice, a language model where
// words are needed. What a rule proposes was solved by its reference; what a model proposes is judged on admission.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import { service } from '../../core/services.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { Responder } from '../../env/tools/tools-family.js';
import type { LanguageModel } from '../../llm/language-model.js';
import { composed, ownerChanges, ownersOf, withoutRepeats } from './compose.js';
import { Entities } from './entities.js';
import { entityParts, type Likeness, swappedTasks } from './entity-swap.js';
import { isForEvaluation, type ProposeTask, type Strategy, type TaskProposal, type Variant } from './proposal.js';
import { checkReference } from './reference-check.js';
import type { Played } from './task-play.js';

export interface VariationRequest {
  readonly domain: ToolsDomain;
  /** The first is varied; `compose` joins it with the others, tried in random order. */
  readonly seeds: readonly ToolsTask[];
  readonly strategy: Strategy;
  /** Needed by `propose`. */
  readonly model?: LanguageModel;
  /** Who plays references where the domain has no rules. */
  readonly responder?: Responder;
  /** Not advanced: equal streams make equal proposals. */
  readonly rng: Rng;
  /** Times a model is asked before the proposal counts as failed. Default 2. */
  readonly attempts?: number;
  /** Of `propose`: as `ProposalRequest` has them. */
  readonly judge?: LanguageModel;
  readonly judges?: number;
  readonly steps?: number;
  readonly signal?: AbortSignal;
}

/** Entities that are tried by playing the reference before none is found. */
const MOST_CANDIDATES = 48;
const MOST_PARTNERS = 12;

/**
 * A proposal for a new task; where none could be made it holds the reasons instead.
 * @throws SCENARIO_UNFIT if the strategy needs a language model and none was given; BUDGET_SPENT and what else a
 * model's server throws, but not for a reply that cannot be used
 */
export async function varyTask(request: VariationRequest): Promise<TaskProposal> {
  const { seeds, strategy, model } = request;
  const variant = await variantOf(request);
  const used = variant.seeds ?? seeds.slice(0, 1);
  return {
    ...(variant.task === undefined ? {} : { task: named(variant.task, used, strategy) }),
    seeds: used,
    strategy,
    modelVersion: strategy === 'propose' ? model!.version : '',
    problems: variant.problems ?? [],
    cost: variant.cost ?? NO_COST,
  };
}

async function variantOf(request: VariationRequest): Promise<Variant> {
  const { seeds, strategy, model, domain } = request;
  const kept = seeds.slice(0, 1).find(isForEvaluation);
  if (seeds.length === 0) return nothing('there is no seed');
  if (kept !== undefined)
    return { problems: [{ code: 'seed_split', detail: `its seed "${kept.id}" is kept for ${kept.split}` }] };
  if (strategy === 'entity-swap') return withOtherEntity(request);
  if (strategy === 'compose') return withPartner(request);
  if (model === undefined)
    throw reverieError('SCENARIO_UNFIT', {
      problem: `Strategy "${strategy}" writes tasks with a language model, and none was given.`,
      hint: 'Name a language model, or use the strategies entity-swap, compose and persona alone.',
    });
  const responder = playerOf(domain, request.responder);
  if (responder === undefined) return nothing('nobody can play what would be proposed');
  const proposeTask = await service<ProposeTask>('proposed-task');
  return proposeTask({ ...request, seed: seeds[0], model, domain, responder });
}

async function withOtherEntity(request: VariationRequest): Promise<Variant> {
  const { domain, seeds, rng } = request;
  const task = await swapped(request, seeds[0], rng);
  return task === undefined ? nothing(`no other entity of "${domain.id}" fits task "${seeds[0].id}"`) : { task };
}

/** The first swap of entities whose reference solves it; without anyone to play it, the likeliest. */
async function swapped(
  { domain, responder }: VariationRequest,
  task: ToolsTask,
  rng: Rng,
  fixed?: ReadonlyMap<string, string>,
): Promise<ToolsTask | undefined> {
  const state = initialStateOf(domain, task);
  const player = playerOf(domain, responder);
  const alike = likenessFor(task);
  const candidates = swappedTasks({ task, state, except: keptIds(domain), rng, fixed, alike });
  if (player === undefined || task.reference === undefined) return candidates.next().value ?? undefined;
  const original = await checkReference(domain, task, player);
  if (alike !== 'named' && !changesOrTells(task, original.played)) return undefined;
  let tried = 0;
  for (const candidate of candidates) {
    if (++tried > MOST_CANDIDATES) break;
    const { reasons, played } = await checkReference(domain, candidate, player);
    if (reasons.length === 0 && toldNumbersHold(task, original.played, candidate, played)) return candidate;
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

async function withPartner(request: VariationRequest): Promise<Variant> {
  const { domain, seeds, rng, responder } = request;
  const player = playerOf(domain, responder);
  const [first, ...others] = seeds;
  if (player === undefined) return nothing('nobody can play the tasks, so what they change is not known');
  const playable = others.filter(
    (task) => task.reference !== undefined && !isForEvaluation(task) && task.split === first.split,
  );
  const order = Array.from(rng.split('partner').permutation(playable.length), (i) => playable[i]);
  let problem = 'there is no second task of its split that has a reference';
  for (const partner of order.slice(0, MOST_PARTNERS)) {
    const joined = await joinedWith(request, player, first, partner);
    if (typeof joined !== 'string') return { task: joined, seeds: [first, partner] };
    problem = joined;
  }
  return nothing(problem);
}

async function joinedWith(
  request: VariationRequest,
  player: Responder,
  first: ToolsTask,
  partner: ToolsTask,
): Promise<ToolsTask | string> {
  const { domain, rng } = request;
  if (first.reference === undefined) return 'the first has no reference';
  const owners = [first, partner].map((task) => ownersOf(task, initialStateOf(domain, task)));
  const changes = ownerChanges(owners[0], owners[1]);
  if (changes === undefined) return `"${first.id}" and "${partner.id}" are not known to be of one person`;
  const second =
    changes.size === 0 ? partner : await swapped(request, partner, rng.split('owner', partner.id), changes);
  if (second === undefined) return `"${first.id}" and "${partner.id}" are of different people`;
  const plays = await Promise.all([first, second].map((task) => checkReference(domain, task, player)));
  const joined = composed(first, second, [plays[0].played, plays[1].played]);
  if (typeof joined === 'string') return joined;
  const { reasons, played } = await checkReference(domain, joined, player);
  if (reasons.length > 0) return reasons[0].detail;
  const short = withoutRepeats(joined, first, played);
  const again = await checkReference(domain, short, player);
  return again.reasons.length === 0 ? short : joined;
}

const players = new WeakMap<ToolsDomain, Responder>();

/** Who answers calls; one for each domain, so that what it played is remembered. */
function playerOf(domain: ToolsDomain, responder: Responder | undefined): Responder | undefined {
  if (responder !== undefined || domain.rules === undefined) return responder;
  const player = players.get(domain) ?? rulesResponder(domain, 'rules');
  players.set(domain, player);
  return player;
}

/** Entities that tasks for evaluation are about. */
function keptIds({ tasks, initialState }: ToolsDomain): ReadonlySet<string> {
  const entities = new Entities(initialState);
  return new Set(
    tasks.filter(isForEvaluation).flatMap((task) => entities.named(entityParts(task)).map(({ id }) => id)),
  );
}

/** A name made of the seeds, the strategy and what the task says: equal tasks have equal names. */
function named(task: ToolsTask, seeds: readonly ToolsTask[], strategy: Strategy): ToolsTask {
  const content = { user: task.user, ...entityParts(task) };
  const hash = createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 8);
  const [{ family, split }] = seeds;
  return {
    ...task,
    id: `${seeds.map(({ id }) => id).join('+')}.${strategy}.${hash}`,
    family,
    ...(split === undefined ? {} : { split }),
  };
}

function nothing(detail: string): Variant {
  return { problems: [{ code: 'no_variant', detail }] };
}

// Numbers the agent must tell the user: in a task about another entity they must be that entity's.

/**
 * Whether every text with a number that the swapped task wants told can be read off its tools' answers. A number that not
 * even the original's answers show was computed from them, and would have to be computed anew.
 */
function toldNumbersHold(original: ToolsTask, before: Played, swapped: ToolsTask, after: Played): boolean {
  const told = swapped.verifier.communicate ?? [];
  const [shownBefore, shownAfter] = [shownBy(before), shownBy(after)];
  return (original.verifier.communicate ?? []).every((text, i) => {
    if (!/\d/.test(text)) return true;
    return isShown(shownBefore, text) && told[i] !== undefined && isShown(shownAfter, told[i]);
  });
}

function shownBy({ answers }: Played): string {
  return answers.map(({ prediction }) => prediction.observation).join('\n');
}

function isShown(shown: string, text: string): boolean {
  const number = Number(text.replaceAll(',', ''));
  // Answers write 12.50 as 12.5.
  return shown.includes(text) || (Number.isFinite(number) && shown.includes(String(number)));
}
