// Which policies a ladder has: from chance to the best there is, chosen without a look at the dream, so that the dream is not
// asked about policies it was picked for.

import type { VectorEnvironment } from '../../../../env/index.js';
import { rowSize } from '../../../../env/index.js';
import { RandomPolicy } from '../../../../rl/index.js';
import type { Rng } from '../../../../rng.js';
import { headsOf, type Ladder, type NamedRecipe, type Normaliser, type Recipe, randomNetwork } from './recipes.js';
import { scriptFor } from './scripts.js';
import { searchLinear } from './search.js';

export interface LadderOptions {
  /** Rungs; at least 8 are needed to speak of rank. More where more policies were kept on the way. */
  readonly policies: number;
  /** Whether there is a checkpoint. */
  readonly hasCheckpoint: boolean;
  /** Real steps after which it was kept on the way, ascending: each is a rung. */
  readonly earlier?: readonly number[];
  readonly rng: Rng;
  readonly signal?: AbortSignal;
}

const NORMALISER_STEPS = 1000;
const SEARCH = { generations: 8, population: 10, elites: 3, episodes: 2, maxSteps: 500 } as const;
/** Generations after which the search is stopped for a rung, those first that tell most where a ladder is short. */
const RUNGS = [8, 3, 5, 1] as const;
/** Shares of random actions. */
const MIXTURES = [0.5, 0.25, 0.75, 0.1, 0.9] as const;

/** Throws SPACE_UNSUPPORTED for an action box without finite bounds. */
export async function planLadder(env: VectorEnvironment, options: LadderOptions): Promise<Ladder> {
  const normaliser = await normaliserOf(env, options.rng.split('normaliser'));
  return options.hasCheckpoint ? trainedLadder(env, normaliser, options) : searchedLadder(env, normaliser, options);
}

function trainedLadder(
  env: VectorEnvironment,
  normaliser: Normaliser,
  { policies: wanted, earlier = [], rng }: LadderOptions,
): Ladder {
  const rungs = [...fixed(), ...keptOnTheWay(earlier), CHECKPOINT];
  const all = [
    ...rungs,
    ...mixtures('checkpoint', CHECKPOINT.recipe, MIXTURES),
    ...scripted(env.id),
    ...blindPolicies(env, rng.split('blind'), wanted),
  ];
  const way = earlier.length === 0 ? '' : `, as it was at ${earlier.length} times on the way`;
  const note = `The ladder: the checkpoint${way}, mixed with random actions to several shares, and policies that know nothing.`;
  return {
    policies: all.slice(0, Math.max(wanted, rungs.length)),
    normaliser,
    realSteps: NORMALISER_STEPS,
    notes: [note],
  };
}

async function searchedLadder(
  env: VectorEnvironment,
  normaliser: Normaliser,
  { policies: wanted, rng, signal }: LadderOptions,
): Promise<Ladder> {
  const search = await searchLinear(env, normaliser, { ...SEARCH, rng: rng.split('search'), signal });
  const found = RUNGS.map((generations): NamedRecipe => {
    const name = `searched, ${generations} generation${generations === 1 ? '' : 's'}`;
    return { name, recipe: search.means[generations - 1] };
  });
  const known = scripted(env.id);
  const first = known.length > 0 ? 1 : 3;
  const blind = blindPolicies(env, rng.split('blind'), wanted);
  const best = [...fixed(), ...known, ...found.slice(0, first), ...blind.slice(0, 3)];
  const policies = [...best, ...found.slice(first), ...blind.slice(3)].slice(0, wanted);
  const realSteps = NORMALISER_STEPS + search.realSteps;
  const note = `The ladder: random, scripted where a controller is known, drawn at random, and found by a search of ${search.realSteps} real steps; none was chosen by the dream. Give --checkpoint to have a trained policy in it.`;
  return { policies, normaliser, realSteps, notes: [note] };
}

function fixed(): NamedRecipe[] {
  return [
    { name: 'random', recipe: { kind: 'random' } },
    { name: 'zero action', recipe: { kind: 'zero' } },
  ];
}

const CHECKPOINT: NamedRecipe = { name: 'checkpoint', recipe: { kind: 'checkpoint' } };

function keptOnTheWay(steps: readonly number[]): NamedRecipe[] {
  return steps.map((realSteps) => ({
    name: `after ${realSteps.toLocaleString('en')} steps`,
    recipe: { kind: 'checkpoint', realSteps },
  }));
}

function scripted(environment: string): NamedRecipe[] {
  if (scriptFor(environment) === undefined) return [];
  return [
    { name: 'scripted', recipe: { kind: 'scripted' } },
    ...mixtures('scripted', { kind: 'scripted' }, MIXTURES.slice(0, 3)),
  ];
}

function mixtures(name: string, of: Recipe, shares: readonly number[]): NamedRecipe[] {
  return shares.map((epsilon) => ({
    name: `${name}, ${Math.round(100 * epsilon)} % random`,
    recipe: { kind: 'mixed', epsilon, of },
  }));
}

/** Policies that know nothing of the task, each of another kind in turn. */
function blindPolicies(env: VectorEnvironment, rng: Rng, count: number): NamedRecipe[] {
  const ends = [rowSize(env.observationSpace), headsOf(env.actionSpace)];
  return Array.from({ length: count }, (_, i): NamedRecipe => {
    const stream = rng.split(i);
    const number = Math.floor(i / 3) + 1;
    if (i % 3 === 0) return { name: `bang-bang ${number}`, recipe: randomNetwork(ends, stream, true) };
    if (i % 3 === 1) return { name: `linear ${number}`, recipe: randomNetwork(ends, stream) };
    return { name: `network ${number}`, recipe: randomNetwork([ends[0], 16, ends[1]], stream) };
  });
}

/** From real steps with random actions. */
async function normaliserOf(env: VectorEnvironment, rng: Rng): Promise<Normaliser> {
  const policy = new RandomPolicy(env.actionSpace);
  const rows: Float32Array[] = [];
  let observation: Float32Array | undefined;
  for (let i = 0; i < NORMALISER_STEPS; i++) {
    observation ??= (await env.reset({ seed: rng.split('reset', i).uint32() })).observation;
    rows.push(observation);
    const result = await env.step(policy.act(observation, 1, rng).action);
    observation = result.terminated || result.truncated ? undefined : result.observation;
  }
  const mean = Array.from(rows[0], (_, j) => rows.reduce((sum, row) => sum + row[j], 0) / rows.length);
  const std = mean.map((centre, j) => {
    const deviation = Math.sqrt(rows.reduce((sum, row) => sum + (row[j] - centre) ** 2, 0) / rows.length);
    return deviation < 1e-6 ? 1 : deviation;
  });
  return { mean, std };
}
