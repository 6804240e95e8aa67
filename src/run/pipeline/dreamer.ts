// The dreaming half of a training run: keeps the world model up to date with the real transitions and fills the
// synthetic buffer with rollouts branched from them (MBPO, Janner et al. 2019, 1906.08253, algorithm 2).

import { resolve } from 'node:path';
import { dreamRollout } from '../../algorithms/index.js';
import type { Rng } from '../../core/rng.js';
import type { PolicySnapshot, VectorEnvironment } from '../../env/index.js';
import { rowSize } from '../../env/index.js';
import type { ReplayBuffer } from '../../replay/index.js';
import type { Ppo, Rollout } from '../../rl/index.js';
import { horizonSchedule, type RolloutCounts, RolloutPool } from '../../synth/index.js';
import { EnsembleModel, fitEnsemble, loadWorldModel, type StoredWorldModel } from '../../worldmodel/index.js';
import type { JobContext } from '../job.js';
import type { ScenarioConfig } from '../scenario-schema.js';
import { resolvedSpec } from './env-spec.js';
import { findInput } from './inputs.js';

export interface RefitSummary {
  readonly modelVersion: string;
  readonly epochs: number;
  /** Held-out one-step error of the mean prediction, in units of the data's standard deviation. */
  readonly holdoutError: number;
  readonly seconds: number;
}

export interface DreamSummary {
  readonly counts: RolloutCounts;
  readonly horizon: number;
  readonly seconds: number;
}

interface Buffers {
  readonly real: ReplayBuffer;
  readonly synthetic: ReplayBuffer;
}

/** Owns the world model and the threads that dream in it. */
export class Dreamer {
  private model: StoredWorldModel | undefined;
  /** The same on the run's device, for steps of this thread. */
  private resident: StoredWorldModel | undefined;
  private readonly pool: RolloutPool;
  private readonly config: ScenarioConfig;
  private nextEpisode = 0;

  constructor(
    private readonly context: JobContext,
    private readonly env: VectorEnvironment,
  ) {
    this.config = context.scenario.config;
    this.pool = new RolloutPool({ workers: context.workers, device: context.device });
  }

  /** Number of branches dreamt so far: the next branch's episode id. */
  get episodes(): number {
    return this.nextEpisode;
  }

  get modelVersion(): string | undefined {
    return this.model?.modelVersion;
  }

  /** Goes on with a model made earlier. */
  async resume(folder: string, episodes: number): Promise<void> {
    this.model = await loadWorldModel(folder);
    this.nextEpisode = episodes;
  }

  async save(folder: string): Promise<void> {
    await this.model?.save(folder);
  }

  /** Learns the dynamics anew from all real transitions; a model the user brought is loaded once and stays as it is. */
  async refit(real: ReplayBuffer, rng: Rng): Promise<RefitSummary | undefined> {
    const { model } = this.config;
    const { workers } = this.context;
    if (model.kind === 'onnx') {
      const { inputs, scenario } = this.context;
      this.model ??= await loadWorldModel(findInput(inputs, 'model') ?? resolve(scenario.folder, model.folder));
      return undefined;
    }
    const started = performance.now();
    const phase = this.context.progress.phase('fit model', null, 'epochs');
    const earlier = (this.model as EnsembleModel | undefined) ?? (await this.broughtEnsemble());
    const isContinued = this.model === undefined || this.config.train.refit === 'continue';
    const { model: fitted, report } = await fitEnsemble(real.rows(), this.env, model, {
      rng,
      workers,
      previous: isContinued ? earlier : undefined,
      known: this.env.known,
      env: resolvedSpec(this.context.scenario),
      onProgress: ({ epochs, holdoutError }) => phase.set(epochs, `error ${holdoutError.toFixed(4)}`),
      signal: this.context.signal,
    });
    phase.end(`error ${report.holdoutError.toFixed(4)}`);
    await earlier?.close();
    this.model = fitted;
    const seconds = (performance.now() - started) / 1000;
    return { modelVersion: fitted.modelVersion, epochs: report.epochs, holdoutError: report.holdoutError, seconds };
  }

  /** The ensemble given with --model: the first fit goes on from it. */
  private async broughtEnsemble(): Promise<EnsembleModel | undefined> {
    const folder = findInput(this.context.inputs, 'model');
    return folder === undefined ? undefined : EnsembleModel.load(folder);
  }

  /** Dreams from `starts` random real states into `synthetic`, on the worker threads. */
  async dream(policy: PolicySnapshot, { real, synthetic }: Buffers, starts: number, rng: Rng): Promise<DreamSummary> {
    const started = performance.now();
    const { rollout } = this.config;
    const { disagreementLimit } = rollout;
    const horizon = horizonAt(real.inserted, rollout.horizon);
    const { batch, provenance, counts } = await this.pool.branchedRollouts(
      {
        ...drawStarts(real, rowSize(this.env.observationSpace), starts, rng.split('starts')),
        model: await this.world().snapshot(),
        policy,
        horizon,
        propagation: rollout.propagation,
        disagreementLimit: disagreementLimit ?? undefined,
        chunkSize: rollout.chunkRows,
        rng: rng.split('rollouts'),
        firstEpisode: this.nextEpisode,
        scenario: this.config.name,
        seed: this.context.seed,
      },
      { signal: this.context.signal },
    );
    synthetic.append(batch, provenance);
    this.nextEpisode += counts.episodes;
    return { counts, horizon, seconds: (performance.now() - started) / 1000 };
  }

  /** As `dream`, `branches` side by side in this thread, and keeps the rollout as PPO learns from it. */
  async dreamOnPolicy(
    actor: Ppo,
    { real, synthetic }: Buffers,
    branches: number,
    rng: Rng,
  ): Promise<DreamSummary & { readonly rollout: Rollout }> {
    const started = performance.now();
    const { propagation, disagreementLimit, ...settings } = this.config.rollout;
    const horizon = horizonAt(real.inserted, settings.horizon);
    const { rollout, provenance, counts } = await dreamRollout({
      ...{ model: await this.worldOnDevice(), actor, real, branches, horizon, propagation, rng },
      disagreementLimit: disagreementLimit ?? undefined,
      firstEpisode: this.nextEpisode,
      scenario: this.config.name,
      seed: this.context.seed,
      signal: this.context.signal,
    });
    synthetic.append(rollout.batch, provenance);
    this.nextEpisode += counts.episodes;
    return { rollout, counts, horizon, seconds: (performance.now() - started) / 1000 };
  }

  async close(): Promise<void> {
    await this.pool.close();
    await this.resident?.close();
    await this.model?.close();
  }

  /** The model where it is to be stepped: on the run's device, if it has one. */
  private async worldOnDevice(): Promise<StoredWorldModel> {
    const { device } = this.context;
    const model = this.world();
    if (device === undefined) return model;
    if (this.resident?.modelVersion !== model.modelVersion) {
      await this.resident?.close();
      this.resident = await loadWorldModel(model.snapshot(), { device });
    }
    return this.resident!;
  }

  private world(): StoredWorldModel {
    if (!this.model) throw new Error('Dreaming before the first refit: a defect of the training loop.');
    return this.model;
  }
}

/** Length of a branch after so many real steps. */
export function horizonAt(realSteps: number, horizon: ScenarioConfig['rollout']['horizon']): number {
  if (horizon === 'auto') throw new Error('A horizon that nobody settled: a defect of the job.');
  return typeof horizon === 'number' ? horizon : horizonSchedule(realSteps, horizon);
}

/** Random real states to branch from, with the row ids they have in the real buffer. */
export function drawStarts(real: ReplayBuffer, obsDim: number, rows: number, rng: Rng) {
  const starts = new Float32Array(rows * obsDim);
  const startIds = new Float64Array(rows);
  const { obs } = real.columns();
  for (let row = 0; row < rows; row++) {
    const index = rng.int(real.size);
    starts.set(obs.subarray(index * obsDim, (index + 1) * obsDim), row * obsDim);
    startIds[row] = real.rowId(index);
  }
  return { starts, startIds };
}
