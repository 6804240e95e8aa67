// Ranking of policies for scenarios of numbers: a ladder of policies lives in the real environment and in the dream.

import { join } from 'node:path';
import type { VectorEnvironment } from '../../core/environment.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../core/files.js';
import type { Policy } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { makeEnvironment } from '../../env/make-environment.js';
import type { Learner } from '../../rl/learner.js';
import type { VectorDynamics } from '../../worldmodel/dynamics.js';
import type { Instrument } from '../instrument.js';
import { readKept } from '../measure.js';
import { type RankSource, rankInstrument } from '../rank/rank.js';
import type { EpisodeReturn } from '../rank/rank-metrics.js';
import { type Actor, actorOf, type Ladder, type TrainedPolicies } from './ladder-policies.js';
import {
  dreamtReturns,
  type EpisodeRules,
  type EpisodeSeeds,
  firstObservation,
  livedReturn,
  startSeed,
} from './paired-episodes.js';
import { planLadder } from './policy-ladder.js';
import { policyGamma, type VectorSetup } from './setup.js';

/** The dream policies live in: a model that answers rows side by side, or an environment whose episodes start as the real ones. */
export interface LadderDream {
  readonly model?: VectorDynamics;
  /** Closed by whoever asked for it. */
  dream(seed: number): Promise<VectorEnvironment>;
}

/** The policies of a run, and how any model is judged by them. */
export interface OpenedLadder {
  /** Identifies the policies. */
  readonly identity: string;
  rank(dream: LadderDream): Instrument;
  close(): Promise<void>;
}

/** Episodes of environments without a clock. */
const MAX_STEPS = 1000;

/** Throws what making the environment or reading the checkpoint throws, and SCENARIO_UNFIT for actions without bounds. */
export async function openVectorLadder(setup: VectorSetup): Promise<OpenedLadder> {
  const { scenario, seed } = setup;
  const { fidelity, env: spec } = scenario.config;
  const env = await makeEnvironment(spec, { folder: scenario.folder });
  let trained: OpenedTrained | undefined;
  const close = async () => {
    await trained?.close();
    await env.close();
  };
  try {
    trained = await openTrained(setup, env);
    const policies = trained;
    const ladder = await ladderOf(setup, env, policies);
    const { episodes } = fidelity.rank;
    const options = { seed, notes: ladder.notes, chunkEpisodes: episodes };
    return {
      identity: JSON.stringify([identityOf(setup, policies), episodes]),
      rank: (dream) => rankInstrument(new VectorLadder(setup, env, ladder, policies, dream), options),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The same in all threads of a run. */
function ladderOf(setup: VectorSetup, env: VectorEnvironment, trained?: TrainedPolicies): Promise<Ladder> {
  const { policies } = setup.scenario.config.fidelity.rank;
  const rng = Rng.fromSeed(setup.seed).split('ladder');
  const earlier = [...(trained?.earlier.keys() ?? [])];
  return keptLadder(setup.out, identityOf(setup, trained), () =>
    planLadder(env, {
      ...{ policies, hasCheckpoint: trained !== undefined, hasPlanner: trained?.planner !== undefined },
      ...{ earlier, rng },
    }),
  );
}

function identityOf({ scenario, seed }: VectorSetup, trained: TrainedPolicies | undefined): string {
  const { env, fidelity } = scenario.config;
  const earlier = [...(trained?.earlier ?? [])].map(([steps, { version }]) => [steps, version]);
  const planner = trained?.planner === undefined ? [] : [trained.planner.version];
  const policies = [trained?.last.version ?? null, ...(earlier.length === 0 ? [] : [earlier]), ...planner];
  return JSON.stringify(['ladder 1', env, seed, fidelity.rank.policies, ...policies]);
}

interface OpenedTrained extends TrainedPolicies {
  close(): Promise<void>;
}

/**
 * The policy of `--checkpoint`; of a run that kept some on the way, these too; of a learner that plans, its planner. Nothing stays
 * open where one cannot be read.
 */
async function openTrained({ inputs, host }: VectorSetup, env: VectorEnvironment): Promise<OpenedTrained | undefined> {
  const folder = host.find(inputs, 'checkpoint');
  if (folder === undefined || inputs.checkpoint === undefined) return undefined;
  const opened: { close(): Promise<void> }[] = [];
  const close = async () => {
    for (const one of opened) await one.close();
  };
  const open = async (from: string): Promise<Learner> => {
    const { learner } = await host.learner(env, from);
    opened.push(learner);
    return learner;
  };
  try {
    const learner = await open(folder);
    const planner = await host.planner(learner, folder);
    if (planner) opened.push(planner);
    const last = learner.policy();
    const earlier = new Map<number, Policy>();
    for (const kept of await host.keptLearners(inputs.checkpoint)) {
      const policy = (await open(kept.folder)).policy();
      if (policy.version !== last.version) earlier.set(kept.realSteps, policy);
    }
    return { last, earlier, planner: planner?.policy, close };
  } catch (error) {
    await close();
    throw error;
  }
}

class VectorLadder implements RankSource {
  readonly policies: readonly string[];
  readonly episodes: number;
  readonly gamma: number;
  /** Of each policy, who acts in an episode. */
  private readonly actors: readonly (() => Actor)[];
  private readonly maxSteps: number;

  constructor(
    private readonly setup: VectorSetup,
    env: VectorEnvironment,
    { policies, normaliser }: Ladder,
    trained: TrainedPolicies | undefined,
    private readonly world: LadderDream,
  ) {
    const { fidelity } = setup.scenario.config;
    this.policies = policies.map(({ name }) => name);
    this.episodes = fidelity.rank.episodes;
    this.gamma = policyGamma(setup.scenario.config);
    this.actors = policies.map(
      ({ recipe }) =>
        () =>
          actorOf(recipe, { env, normaliser, trained }),
    );
    this.maxSteps = env.maxEpisodeSteps ?? MAX_STEPS;
  }

  async returnsOf(world: 'real' | 'dream', policy: number, episodes: readonly number[], signal?: AbortSignal) {
    const rules: EpisodeRules = { gamma: this.gamma, maxSteps: this.maxSteps, signal };
    const seeds = episodes.map((episode): EpisodeSeeds => ({ seed: this.setup.seed, episode }));
    return world === 'real' ? this.real(policy, seeds, rules) : this.dreamt(policy, seeds, rules);
  }

  /** An environment of one's own: chunks may be under way at once. */
  private async real(policy: number, seeds: readonly EpisodeSeeds[], rules: EpisodeRules): Promise<EpisodeReturn[]> {
    return this.withReal(async (env) => {
      const returns: EpisodeReturn[] = [];
      for (const one of seeds) returns.push(await livedReturn(env, this.actors[policy](), one, rules));
      return returns;
    });
  }

  private async dreamt(policy: number, seeds: readonly EpisodeSeeds[], rules: EpisodeRules) {
    const { model } = this.world;
    if (model === undefined) return this.apart(policy, seeds, rules);
    const starts = await this.withReal(async (env) => {
      const found: Float32Array[] = [];
      for (const one of seeds) found.push(await firstObservation(env, one));
      return found;
    });
    const { propagation } = this.setup.scenario.config.rollout;
    return dreamtReturns({ model, propagation }, this.actors[policy], starts, seeds, rules);
  }

  /** A served environment, or a model that answers one episode at a time. */
  private async apart(policy: number, seeds: readonly EpisodeSeeds[], rules: EpisodeRules): Promise<EpisodeReturn[]> {
    const returns: EpisodeReturn[] = [];
    for (const one of seeds) {
      const env = await this.world.dream(startSeed(one));
      try {
        returns.push(await livedReturn(env, this.actors[policy](), one, rules));
      } finally {
        await env.close();
      }
    }
    return returns;
  }

  private async withReal<T>(work: (env: VectorEnvironment) => Promise<T>): Promise<T> {
    const { config, folder } = this.setup.scenario;
    const env = await makeEnvironment(config.env, { folder });
    try {
      return await work(env);
    } finally {
      await env.close();
    }
  }
}

// A ladder is made once a run and kept in its folder: worker threads, and a run that goes on, judge by the same policies.

const FILE = 'ladder.json';

/** The kept ladder where one was made for `identity`, else that of `make`, kept. @throws CHECKPOINT_CORRUPT for a damaged file */
async function keptLadder(folder: string, identity: string, make: () => Promise<Ladder>): Promise<Ladder> {
  const path = join(folder, FILE);
  const kept = (await readKept(path)) as { readonly identity: string; readonly ladder: Ladder } | undefined;
  if (kept?.identity === identity) return kept.ladder;
  const ladder = await make();
  await ensureFolder(folder);
  await writeFileAtomic(path, sealedText({ identity, ladder }));
  return ladder;
}
