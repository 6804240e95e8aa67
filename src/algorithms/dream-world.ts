// The world a run dreams in: a model kept up to date with the real rows, or one that was brought, and the threads that
// dream branches in it (MBPO, Janner et al. 2019, 1906.08253, algorithm 2).

import type { Rng } from '../core/rng.js';
import type { PolicySnapshot, VectorEnvironment } from '../env/index.js';
import type { ReplayBuffer } from '../replay/index.js';
import type { Rollout, RolloutLearner } from '../rl/index.js';
import { drawStarts, type HorizonSchedule, horizonSchedule, type RolloutCounts, RolloutPool } from '../synth/index.js';
import { dynamicsKinds, loadWorldModel, type StoredDynamics } from '../worldmodel/index.js';
import { dreamRollout } from './dream-rollout.js';
import type { DreamSettings, TrainingPorts, TrainingSettings } from './training-settings.js';

export interface FitSummary {
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

export class DreamWorld {
  private model: StoredDynamics | undefined;
  /** The same on the run's device, for steps of this thread. */
  private resident: StoredDynamics | undefined;
  private readonly pool: RolloutPool;
  private nextEpisode = 0;

  constructor(
    private readonly run: Pick<TrainingSettings, 'scenario' | 'seed' | 'workers' | 'device'>,
    private readonly settings: DreamSettings,
    private readonly env: VectorEnvironment,
  ) {
    this.pool = new RolloutPool({ workers: run.workers, device: run.device });
  }

  /** Number of branches dreamt so far: the next branch's episode id. */
  get episodes(): number {
    return this.nextEpisode;
  }

  get modelVersion(): string | undefined {
    return this.model?.modelVersion;
  }

  /** The model itself, for who steps it in this thread; the world's to close. @throws before the first fit, a defect of the loop */
  get dynamics(): StoredDynamics {
    return this.current();
  }

  /** Goes on with a model that was saved. */
  async resume(folder: string, episodes: number): Promise<void> {
    this.model = await loadWorldModel(folder);
    this.nextEpisode = episodes;
  }

  async save(folder: string): Promise<void> {
    await this.model?.save(folder);
  }

  /** Learns the dynamics anew from all real rows; a model that was brought is loaded once and stays as it is. */
  async fit(
    real: ReplayBuffer,
    rng: Rng,
    { phase: open, signal }: Pick<TrainingPorts<never>, 'phase' | 'signal'>,
  ): Promise<FitSummary | undefined> {
    const { model: section, modelFolder, refit, env } = this.settings;
    const kind = await dynamicsKinds.get(section.kind).make();
    if (kind.fit === undefined) {
      this.model ??= await loadWorldModel(modelFolder!);
      return undefined;
    }
    const started = performance.now();
    const phase = open('fit model', null, 'epochs');
    // The first fit goes on from the model that was brought.
    const earlier = this.model ?? (modelFolder === undefined ? undefined : await kind.load(modelFolder, {}));
    const isContinued = this.model === undefined || refit === 'continue';
    const { model: fitted, report } = await kind.fit({
      ...{ section, data: real, spaces: this.env },
      rng,
      workers: this.run.workers,
      previous: isContinued ? earlier : undefined,
      known: this.env.known,
      env,
      onProgress: ({ epochs, holdoutError }) => phase.set(epochs, `error ${holdoutError.toFixed(4)}`),
      signal,
    });
    phase.end(`error ${report.holdoutError.toFixed(4)}`);
    await earlier?.close();
    this.model = fitted;
    const seconds = (performance.now() - started) / 1000;
    return { modelVersion: fitted.modelVersion, epochs: report.epochs, holdoutError: report.holdoutError, seconds };
  }

  /** Dreams from `starts` random real states into `synthetic`, on the worker threads. */
  async dream(
    policy: PolicySnapshot,
    { real, synthetic }: Buffers,
    starts: number,
    rng: Rng,
    signal?: AbortSignal,
  ): Promise<DreamSummary> {
    const started = performance.now();
    const horizon = horizonAt(real.inserted, this.settings.horizon);
    const { propagation, chunkRows: chunkSize } = this.settings;
    const { batch, provenance, counts } = await this.pool.branchedRollouts(
      {
        ...drawStarts(real, starts, rng.split('starts'), this.current().context),
        ...this.provenance(),
        model: await this.current().snapshot(),
        policy,
        horizon,
        propagation,
        chunkSize,
        rng: rng.split('rollouts'),
      },
      { signal },
    );
    synthetic.append(batch, provenance);
    this.nextEpisode += counts.episodes;
    return { counts, horizon, seconds: (performance.now() - started) / 1000 };
  }

  /** As `dream`, `branches` side by side in this thread, and keeps the rollout as `actor` learns from it. */
  async dreamRollout(
    actor: RolloutLearner,
    { real, synthetic }: Buffers,
    branches: number,
    rng: Rng,
    signal?: AbortSignal,
  ): Promise<DreamSummary & { readonly rollout: Rollout }> {
    const started = performance.now();
    const horizon = horizonAt(real.inserted, this.settings.horizon);
    const model = await this.onDevice();
    const { propagation } = this.settings;
    const request = { ...this.provenance(), model, actor, real, branches, horizon, propagation, rng, signal };
    const { rollout, provenance, counts } = await dreamRollout(request);
    synthetic.append(rollout.batch, provenance);
    this.nextEpisode += counts.episodes;
    return { rollout, counts, horizon, seconds: (performance.now() - started) / 1000 };
  }

  async close(): Promise<void> {
    await this.pool.close();
    await this.resident?.close();
    await this.model?.close();
  }

  /** What rows are recorded with, and where their branches are cut. */
  private provenance() {
    const { scenario, seed } = this.run;
    const disagreementLimit = this.settings.disagreementLimit ?? undefined;
    return { firstEpisode: this.nextEpisode, scenario, seed, disagreementLimit };
  }

  /** The model where it is to be stepped: on the run's device, if it has one. */
  private async onDevice(): Promise<StoredDynamics> {
    const { device } = this.run;
    const model = this.current();
    if (device === undefined) return model;
    if (this.resident?.modelVersion !== model.modelVersion) {
      await this.resident?.close();
      this.resident = await loadWorldModel(model.snapshot(), { device });
    }
    return this.resident!;
  }

  private current(): StoredDynamics {
    if (!this.model) throw new Error('Dreaming before the first fit: a defect of the loop.');
    return this.model;
  }
}

/** Length of a branch after so many real steps. */
export function horizonAt(realSteps: number, horizon: number | HorizonSchedule): number {
  return typeof horizon === 'number' ? horizon : horizonSchedule(realSteps, horizon);
}
