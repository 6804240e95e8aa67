// Records the truth in the real environment: whole episodes of a mixture of policies, so that a model is judged where policies of
// every kind lead, from seeds that no other job uses, with the environment's own snapshots where open-loop simulations begin.
// Recorded once: who opens the run again finds it.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { canonicalJson } from '../../core/canonical-json.js';
import type { VectorEnvironment } from '../../core/environment.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../core/files.js';
import type { Policy, PolicyAction } from '../../core/policy.js';
import { Acting } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { joinedFloats } from '../../core/statistics.js';
import { rowSize } from '../../env/space-values.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import { RandomPolicy } from '../../rl/policies.js';
import { readKept } from '../measure.js';
import type { FidelityServices } from '../setup.js';
import type { DriftStart, TruthEpisode, VectorHost, VectorSetup, VectorTruth } from './ground.js';
import { fromHeads, headsOf } from './ladder-policies.js';

export interface NamedPolicy {
  readonly name: string;
  readonly policy: Policy;
}

export interface PolicyMixture {
  readonly policies: readonly NamedPolicy[];
  /** The one that acts in simulations whose actions are then done for real. */
  readonly replayed: NamedPolicy;
  close(): Promise<void>;
}

/** Shares of random actions that a trained policy acts with. */
const NOISE = [0, 0.1, 0.3, 0.6];
const CONTROLLERS = 3;

/** @throws CHECKPOINT_CORRUPT, or INPUT_UNFIT for a checkpoint that acts in other spaces */
export async function policyMixture(
  env: VectorEnvironment,
  checkpoint: string | undefined,
  host: Pick<VectorHost, 'learner'>,
): Promise<PolicyMixture> {
  const random = new RandomPolicy(env.actionSpace);
  const controllers = Array.from({ length: CONTROLLERS }, (_, i) => linearController(env, i));
  const untrained = [{ name: 'random', policy: random }, ...controllers];
  if (checkpoint === undefined) return { policies: untrained, replayed: controllers[0], close: async () => {} };
  const { learner } = await host.learner(env, checkpoint);
  const trained = NOISE.map((share) => {
    const name = share === 0 ? 'trained' : `trained, ${100 * share} % random`;
    return { name, policy: noisy(learner.policy(), random, share) };
  });
  return { policies: [...untrained, ...trained], replayed: trained[0], close: () => learner.close() };
}

/** Acts by the mode of `policy`, and in a `share` of the steps at random. */
export function noisy(policy: Policy, random: Policy, share: number): Policy {
  return {
    version: `${policy.version}+random-${share}`,
    memory: policy.memory,
    async act(obs, rows, rng, { carry: before } = {}): Promise<PolicyAction> {
      const { action, carry } = await policy.act(obs, rows, rng, { deterministic: true, carry: before });
      if (share === 0) return { action, carry };
      const mixed = action.slice();
      const width = action.length / rows;
      const { action: drawn } = await random.act(obs, rows, rng);
      for (let r = 0; r < rows; r++) {
        if (rng.uniform() < share) mixed.set(drawn.subarray(r * width, (r + 1) * width), r * width);
      }
      return { action: mixed, carry };
    },
  };
}

/**
 * A random linear function of the observation, squashed into the action space: it reacts to what it sees, which a random
 * policy does not (random linear policies: Mania et al. 2018, 1803.07055).
 */
function linearController(env: VectorEnvironment, index: number): NamedPolicy {
  const { actionSpace, observationSpace } = env;
  const widths = [rowSize(observationSpace), headsOf(actionSpace)];
  const weights = Rng.fromSeed(index)
    .split('linear controller')
    .fillNormal(new Float64Array(widths[0] * widths[1]));
  const act = (obs: Float32Array, rows: number): PolicyAction => {
    const actions = Array.from({ length: rows }, (_, row) => {
      const heads = Float64Array.from({ length: widths[1] }, (_, k) => {
        let sum = 0;
        for (let j = 0; j < widths[0]; j++) sum += weights[k * widths[0] + j] * obs[row * widths[0] + j];
        return sum;
      });
      return fromHeads(actionSpace, heads);
    });
    return { action: joinedFloats(actions) };
  };
  const version = createHash('sha256').update(weights).digest('hex').slice(0, 8);
  return { name: `linear controller ${index + 1}`, policy: { version: `linear-${version}`, act } };
}

/** Rows, episodes and starts, without the names that go with them. */
export type TruthRows = Pick<VectorTruth, 'rows' | 'episodes' | 'starts'> & {
  /** Of the rows and the starts. */
  readonly version: string;
  readonly description: string;
  readonly notes: readonly string[];
};

/** What lies beside the recorded rows; written last, so that where it is, all is. */
interface TruthFile {
  /** Identifies what was to be recorded. */
  readonly key: string;
  /** Hash of the rows. */
  readonly rows: string;
  readonly episodes: readonly (TruthEpisode & { readonly policy: string })[];
  readonly starts: readonly DriftStart[];
}

const FOLDER = 'truth';
const FILE = 'truth.json';
/** Steps of an episode in an environment without a clock. */
const LONGEST = 1000;

export async function recordedTruth(
  setup: VectorSetup,
  env: VectorEnvironment,
  mixture: PolicyMixture,
  services?: FidelityServices,
): Promise<TruthRows> {
  const folder = join(setup.out, FOLDER);
  const { policies } = mixture;
  const { transitions, starts } = setup.scenario.config.fidelity;
  const versions = policies.map(({ policy }) => policy.version);
  const key = hashOf(setup.host.environment(setup.scenario), setup.seed, transitions, starts, versions);
  const kept = (await readKept(join(folder, FILE))) as TruthFile | undefined;
  const file = kept?.key === key ? kept : await record(setup, env, mixture, folder, key, services);
  const buffer = await ReplayBuffer.load(folder);
  return {
    rows: buffer.rows(),
    episodes: file.episodes,
    starts: file.starts,
    version: hashOf(file.rows, file.episodes, file.starts),
    description: `${env.id}, recorded with ${policies.map(({ name }) => name).join('; ')}`,
    notes: [
      'The truth was recorded for this report, in episodes of a seed stream of its own: no model was fitted to them.',
      ...(setup.inputs.checkpoint !== undefined
        ? []
        : ['No --checkpoint was given: only untrained policies acted, and models are judged where those lead.']),
    ],
  };
}

async function record(
  setup: VectorSetup,
  env: VectorEnvironment,
  mixture: PolicyMixture,
  folder: string,
  key: string,
  services?: FidelityServices,
): Promise<TruthFile> {
  const { transitions } = setup.scenario.config.fidelity;
  const recorder = new Recorder(setup, env);
  const phase = services?.progress.phase('record truth', transitions, 'real steps');
  const taken = mixture.policies.map(() => 0);
  while (recorder.buffer.size < transitions) {
    services?.signal.throwIfAborted();
    // The one with fewest steps: each policy gets an equal share of the rows, however soon its episodes end.
    const turn = taken.indexOf(Math.min(...taken));
    taken[turn] += await recorder.episode(mixture.policies[turn]);
    phase?.set(Math.min(recorder.buffer.size, transitions));
    // Physics answers without waiting: let the bar move and Ctrl-C in.
    await nextTurn();
  }
  phase?.end();
  await ensureFolder(folder);
  await recorder.buffer.save(folder);
  const { buffer, episodes, starts } = recorder;
  const file: TruthFile = { key, rows: buffer.hash(), episodes, starts };
  await writeFileAtomic(join(folder, FILE), sealedText(file));
  return file;
}

interface Step {
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly nextObs: Float32Array;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** Runs whole episodes and keeps them. */
class Recorder {
  readonly buffer: ReplayBuffer;
  readonly episodes: (TruthEpisode & { readonly policy: string })[] = [];
  readonly starts: DriftStart[] = [];
  private readonly root: Rng;
  private readonly startRows: ReadonlySet<number>;
  private readonly limit: number;

  constructor(
    private readonly setup: VectorSetup,
    private readonly env: VectorEnvironment,
  ) {
    const { transitions, starts } = setup.scenario.config.fidelity;
    this.limit = env.maxEpisodeSteps ?? LONGEST;
    this.root = Rng.fromSeed(setup.seed).split('fidelity', 'truth');
    this.startRows = new Set(this.root.split('starts').permutation(transitions).subarray(0, starts));
    this.buffer = new ReplayBuffer({
      capacity: transitions + this.limit,
      obsDim: rowSize(env.observationSpace),
      actionDim: rowSize(env.actionSpace),
      source: 'real',
    });
  }

  /** Answers the steps taken. */
  async episode({ name, policy }: NamedPolicy): Promise<number> {
    const number = this.episodes.length;
    const seed = this.root.split('episode', number).uint32();
    const rng = this.root.split('policy', number);
    const first = this.buffer.size;
    const steps: Step[] = [];
    const acting = new Acting(policy, 1);
    let { observation } = await this.env.reset({ seed });
    for (let ended = false; !ended && steps.length < this.limit; ) {
      const row = first + steps.length;
      if (this.startRows.has(row)) this.starts.push({ row, snapshot: await this.env.snapshot() });
      const { action } = await acting.act(observation, rng);
      const result = await this.env.step(action);
      steps.push({ obs: observation, action, ...result, nextObs: result.observation });
      ended = result.terminated || result.truncated;
      observation = result.observation;
    }
    this.keep(steps, policy.version);
    this.episodes.push({ first, rows: steps.length, seed, policy: name });
    return steps.length;
  }

  private keep(steps: readonly Step[], policyVersion: string): void {
    const { scenario, seed } = this.setup;
    const episode = new Float64Array(steps.length).fill(this.episodes.length);
    const step = Uint32Array.from(steps, (_, i) => i);
    const shared = { source: 'real', backend: 'real', modelVersion: '', scenario: scenario.config.name } as const;
    const batch = {
      rows: steps.length,
      obs: joinedFloats(steps.map(({ obs }) => obs)),
      action: joinedFloats(steps.map(({ action }) => action)),
      reward: Float32Array.from(steps, ({ reward }) => reward),
      terminated: Uint8Array.from(steps, ({ terminated }) => Number(terminated)),
      truncated: Uint8Array.from(steps, ({ truncated }) => Number(truncated)),
      nextObs: joinedFloats(steps.map(({ nextObs }) => nextObs)),
    };
    this.buffer.append(batch, { ...shared, policyVersion, seed, episode, step });
  }
}

/** Short hash of plain data. */
export function hashOf(...parts: readonly unknown[]): string {
  return createHash('sha256').update(canonicalJson(parts)).digest('hex').slice(0, 32);
}
