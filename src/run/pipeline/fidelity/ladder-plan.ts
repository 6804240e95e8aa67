// Which policies a ladder has: from chance to the best there is, chosen without a look at the dream, so that the dream is not
// asked about policies it was picked for.

import type { VectorEnvironment } from '../../../env/index.js';
import { rowSize } from '../../../env/index.js';
import { RandomPolicy } from '../../../rl/index.js';
import type { Rng } from '../../../rng.js';
import {
  headsOf,
  type Ladder,
  type NamedRecipe,
  type Normaliser,
  type Recipe,
  randomNetwork,
} from './ladder-recipes.js';
import { scriptFor } from './ladder-scripts.js';
import { searchLinear } from './ladder-search.js';

export interface LadderOptions {
  /** Rungs; at least 8 are needed to speak of rank. */
  readonly policies: number;
  readonly hasCheckpoint: boolean;
  readonly rng: Rng;
  readonly signal?: AbortSignal;
}

const NORMALISER_STEPS = 1000;
const SEARCH = { generations: 9, population: 12, elites: 3, maxSteps: 500 } as const;
const MIXTURES = [0.5, 0.25, 0.75, 0.1, 0.9] as const;

/** Throws SPACE_UNSUPPORTED for an action box without finite bounds. */
export async function planLadder(env: VectorEnvironment, options: LadderOptions): Promise<Ladder> {
  const { rng, policies: wanted } = options;
  const normaliser = await normaliserOf(env, rng.split('normaliser'));
  const candidates = [...fixed(), ...(options.hasCheckpoint ? trained() : scripted(env.id))];
  const blind = blindPolicies(env, rng.split('blind'), wanted);
  if (options.hasCheckpoint) {
    const policies = [...candidates, ...scripted(env.id), ...blind].slice(0, wanted);
    const note =
      'The ladder: the checkpoint, mixed with random actions to several shares, and policies that know nothing.';
    return { policies, normaliser, realSteps: NORMALISER_STEPS, notes: [note] };
  }
  const search = await searchLinear(env, normaliser, { ...SEARCH, rng: rng.split('search'), signal: options.signal });
  const found = [9, 3, 6, 1].map((generation): NamedRecipe => {
    return { name: `searched, ${generation} generations`, recipe: search.means[generation - 1] };
  });
  const policies = interleaved([...candidates, ...found.slice(0, 3)], blind, found.slice(3)).slice(0, wanted);
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

function trained(): NamedRecipe[] {
  return [
    { name: 'checkpoint', recipe: { kind: 'checkpoint' } },
    ...mixtures('checkpoint', { kind: 'checkpoint' }, MIXTURES),
  ];
}

function scripted(environment: string): NamedRecipe[] {
  if (scriptFor(environment) === undefined) return [];
  return [{ name: 'scripted', recipe: { kind: 'scripted' } }, ...mixtures('scripted', { kind: 'scripted' }, [0.5])];
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

/** The first three blind ones come before what is only there to fill long ladders. */
function interleaved(first: NamedRecipe[], blind: NamedRecipe[], last: NamedRecipe[]): NamedRecipe[] {
  return [...first, ...blind.slice(0, 3), ...last, ...blind.slice(3)];
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
