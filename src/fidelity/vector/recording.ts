// Records the truth in the real environment: whole episodes of a mixture of policies, from seeds that no other job uses,
// with the environment's own snapshots where open-loop dreams begin. Recorded once: who opens the run again finds it.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { canonicalJson } from '../../core/canonical-json.js';
import type { EnvSnapshot, VectorEnvironment } from '../../core/environment.js';
import { ensureFolder, sealedText, writeFileAtomic } from '../../core/files.js';
import { Acting } from '../../core/policy.js';
import { Rng } from '../../core/rng.js';
import { rowSize } from '../../env/space-values.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import type { TransitionBatch } from '../../replay/transition.js';
import { readKept } from '../measure.js';
import type { FidelityServices } from '../setup.js';
import type { NamedPolicy, PolicyMixture } from './recording-policies.js';
import type { VectorSetup } from './setup.js';
import type { DriftStart, TruthEpisode, VectorTruth } from './truth.js';

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
  const key = keyOf(setup, mixture);
  const kept = await readTruth(folder, key);
  const file = kept ?? (await record(setup, env, mixture, folder, key, services));
  const buffer = await ReplayBuffer.load(folder);
  const { policies } = mixture;
  const isTrained = setup.inputs.checkpoint !== undefined;
  return {
    rows: buffer.rows(),
    episodes: file.episodes,
    starts: file.starts,
    version: hashOf(file.rows, file.episodes, file.starts),
    description: `${env.id}, recorded with ${policies.map(({ name }) => name).join('; ')}`,
    notes: [
      'The truth was recorded for this report, in episodes of a seed stream of its own: no model was fitted to them.',
      ...(isTrained
        ? []
        : ['No --checkpoint was given: only untrained policies acted, and models are judged where those lead.']),
    ],
  };
}

function keyOf(setup: VectorSetup, { policies }: PolicyMixture): string {
  const { transitions, starts } = setup.scenario.config.fidelity;
  const versions = policies.map(({ policy }) => policy.version);
  return hashOf(setup.host.environment(setup.scenario), setup.seed, transitions, starts, versions);
}

async function readTruth(folder: string, key: string): Promise<TruthFile | undefined> {
  const file = (await readKept(join(folder, FILE))) as TruthFile | undefined;
  return file?.key === key ? file : undefined;
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
  const lived = mixture.policies.map(() => 0);
  while (recorder.rows < transitions) {
    services?.signal.throwIfAborted();
    // Whoever has lived least: each policy gets an equal share of the rows, however soon its episodes end.
    const turn = lived.indexOf(Math.min(...lived));
    lived[turn] += await recorder.episode(mixture.policies[turn]);
    phase?.set(Math.min(recorder.rows, transitions));
    // Physics answers without waiting: let the bar move and Ctrl-C in.
    await new Promise((resolve) => setImmediate(resolve));
  }
  phase?.end();
  await ensureFolder(folder);
  await recorder.buffer.save(folder);
  const file: TruthFile = { key, rows: recorder.buffer.hash(), episodes: recorder.episodes, starts: recorder.starts };
  await writeFileAtomic(join(folder, FILE), sealedText(file));
  return file;
}

/** Lives whole episodes and keeps them. */
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

  get rows(): number {
    return this.buffer.size;
  }

  /** Answers the steps lived. */
  async episode({ name, policy }: NamedPolicy): Promise<number> {
    const number = this.episodes.length;
    const seed = this.root.split('episode', number).uint32();
    const rng = this.root.split('policy', number);
    const first = this.rows;
    const steps: Step[] = [];
    const acting = new Acting(policy, 1);
    let { observation } = await this.env.reset({ seed });
    for (let ended = false; !ended && steps.length < this.limit; ) {
      await this.markStart(first + steps.length);
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

  private async markStart(row: number): Promise<void> {
    if (!this.startRows.has(row)) return;
    const snapshot: EnvSnapshot = await this.env.snapshot();
    this.starts.push({ row, snapshot });
  }

  private keep(steps: readonly Step[], policyVersion: string): void {
    const { scenario, seed } = this.setup;
    const episode = new Float64Array(steps.length).fill(this.episodes.length);
    const step = Uint32Array.from(steps, (_, i) => i);
    const shared = { source: 'real', backend: 'real', modelVersion: '', scenario: scenario.config.name } as const;
    this.buffer.append(batchOf(steps, this.buffer), { ...shared, policyVersion, seed, episode, step });
  }
}

interface Step {
  readonly obs: Float32Array;
  readonly action: Float32Array;
  readonly nextObs: Float32Array;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

function batchOf(steps: readonly Step[], { obsDim, actionDim }: ReplayBuffer): TransitionBatch {
  const rows = steps.length;
  const batch = {
    rows,
    obs: new Float32Array(rows * obsDim),
    action: new Float32Array(rows * actionDim),
    reward: Float32Array.from(steps, ({ reward }) => reward),
    terminated: Uint8Array.from(steps, ({ terminated }) => Number(terminated)),
    truncated: Uint8Array.from(steps, ({ truncated }) => Number(truncated)),
    nextObs: new Float32Array(rows * obsDim),
  };
  steps.forEach((step, r) => {
    batch.obs.set(step.obs, r * obsDim);
    batch.action.set(step.action, r * actionDim);
    batch.nextObs.set(step.nextObs, r * obsDim);
  });
  return batch;
}

// What recording and reading the truth both give, and the hashes that identify it.

/** Rows, episodes and starts, without the names that go with them. */
export type TruthRows = Pick<VectorTruth, 'rows' | 'episodes' | 'starts'> & {
  /** Of the rows and the starts. */
  readonly version: string;
  readonly description: string;
  readonly notes: readonly string[];
};

/** Short hash of plain data. */
export function hashOf(...parts: readonly unknown[]): string {
  return createHash('sha256').update(canonicalJson(parts)).digest('hex').slice(0, 32);
}
