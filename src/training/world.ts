// The world a run dreams in: a model kept up to date with the real rows, or one that was brought, and the threads that
// simulate branches in it (MBPO, Janner et al. 2019, 1906.08253, algorithm 2).

import type { VectorEnvironment } from '../core/environment.js';
import type { PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import { fitDiffusion } from '../rl/synther.js';
import { drawStarts, type RolloutCounts } from '../synth/rollout/plan.js';
import { RolloutPool } from '../synth/rollout/pool.js';
import type { DynamicsKind, StoredDynamics } from '../worldmodel/dynamics.js';
import { dynamicsKinds, loadWorldModel } from '../worldmodel/kinds.js';
import { observedRange } from '../worldmodel/seen-range.js';
import { tryModel, withTrial } from './model-trial.js';
import {
  type DreamPlan,
  type DreamSettings,
  type GenerativeSettings,
  type HeldOutSkill,
  isRefitDue,
  type ModelEvidence,
  planDream,
  skillOf,
  type TrainingPorts,
  type TrainingSettings,
} from './settings.js';

type FitSummary = Awaited<ReturnType<FittingKind['fit']>>['report'] & {
  readonly modelVersion: string;
  readonly skill?: HeldOutSkill;
  readonly seconds: number;
};

/** What a run that goes on must know of its model, beside the model itself. JSON-safe. */
export interface WorldState {
  /** Real rows ever inserted when the model was fitted; 0 before the first fit, and for one that was brought. */
  readonly fittedAt: number;
  readonly evidence: ModelEvidence;
}

type FittingKind = DynamicsKind & Required<Pick<DynamicsKind, 'fit'>>;

interface Buffers {
  readonly real: ReplayBuffer;
  readonly synthetic: ReplayBuffer;
}

export class DreamWorld {
  private model: StoredDynamics | undefined;
  private known: WorldState = { fittedAt: 0, evidence: {} };
  private readonly pool: RolloutPool;
  private nextEpisode = 0;

  constructor(
    private readonly run: Pick<TrainingSettings, 'scenario' | 'seed' | 'workers' | 'fitWorkers' | 'device'>,
    private readonly settings: DreamSettings,
    private readonly env: VectorEnvironment,
  ) {
    this.pool = new RolloutPool({ workers: run.workers, device: run.device });
  }

  /** Number of branches simulated so far: the next branch's episode id. */
  get episodes(): number {
    return this.nextEpisode;
  }

  get modelVersion(): string | undefined {
    return this.model?.modelVersion;
  }

  /** The model itself, for who steps it in this thread; the world's to close. @throws before the first fit, a defect of the loop */
  get dynamics(): StoredDynamics {
    if (!this.model) throw new Error('Dreaming before the first fit: a defect of the loop.');
    return this.model;
  }

  /** What is known of the model. */
  get state(): WorldState {
    return this.known;
  }

  /** Goes on with a model that was saved. */
  async resume(folder: string, episodes: number, state: WorldState | undefined): Promise<void> {
    this.model = await loadWorldModel(folder);
    this.nextEpisode = episodes;
    if (state) this.known = state;
  }

  async save(folder: string): Promise<void> {
    await this.model?.save(folder);
  }

  /**
   * Brings the model up to date with the real rows, where a refit is due, and finds out what it is worth: on rows collected since it
   * was fitted, before they are learnt from. A model that was brought is loaded once and stays as it is.
   */
  async fit(
    real: ReplayBuffer,
    rng: Rng,
    ports: Pick<TrainingPorts<never>, 'phase' | 'signal'>,
  ): Promise<FitSummary | undefined> {
    const { model: section, modelFolder } = this.settings;
    const kind = await dynamicsKinds.get(section.kind).make();
    if (kind.fit === undefined) this.model ??= await loadWorldModel(modelFolder!);
    const { fittedAt: from } = this.known;
    const isTried = this.model !== undefined && real.inserted > from;
    const tried = isTried ? await tryModel(this.dynamics, real, { from, rng: rng.split('try') }) : undefined;
    const { skill } = this.known.evidence;
    const trial = withTrial(this.known.evidence.trial, tried);
    this.known = { ...this.known, evidence: { trial, skill } };
    if (kind.fit === undefined || !isRefitDue(this.settings, this.known, real.inserted)) return undefined;
    const fitted = await this.refit(real, kind as FittingKind, rng, ports);
    this.known = { fittedAt: real.inserted, evidence: { trial, skill: fitted.skill } };
    return fitted;
  }

  private async refit(
    real: ReplayBuffer,
    kind: FittingKind,
    rng: Rng,
    { phase: open, signal }: Pick<TrainingPorts<never>, 'phase' | 'signal'>,
  ): Promise<FitSummary> {
    const { model: section, modelFolder, refit, env } = this.settings;
    const started = performance.now();
    const phase = open('fit model', null, 'epochs');
    // The first fit starts from the model that was brought.
    const earlier = this.model ?? (modelFolder === undefined ? undefined : await kind.load(modelFolder, {}));
    const isContinued = this.model === undefined || refit === 'continue';
    const {
      model: fitted,
      report,
      heldOut,
    } = await kind.fit({
      ...{ section, data: real, spaces: this.env },
      rng,
      workers: this.run.fitWorkers ?? this.run.workers,
      device: this.run.device?.kind === 'native' ? 'native' : 'cpu',
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
    const judged = heldOut?.();
    return { modelVersion: fitted.modelVersion, ...report, ...(judged && { skill: skillOf(judged) }), seconds };
  }

  /** How the round is simulated, and whether at all. */
  plan(realRatio: number | 'auto', realSteps: number): DreamPlan {
    return planDream(this.settings, realRatio, this.known.evidence, realSteps);
  }

  /** Dreams from `starts` random real states into `synthetic`, on the worker threads. */
  async dream(
    policy: PolicySnapshot,
    { real, synthetic }: Buffers,
    starts: number,
    rng: Rng,
    plan: DreamPlan,
    signal?: AbortSignal,
  ): Promise<{ readonly counts: RolloutCounts; readonly horizon: number; readonly seconds: number }> {
    const started = performance.now();
    const { horizon } = plan;
    const { scenario, seed } = this.run;
    const { propagation, chunkRows: chunkSize } = this.settings;
    const { batch, provenance, counts } = await this.pool.branchedRollouts(
      {
        ...drawStarts(real, starts, rng.split('starts')),
        ...{ firstEpisode: this.nextEpisode, scenario, seed },
        disagreementLimit: plan.disagreementLimit ?? undefined,
        model: await this.dynamics.snapshot(),
        policy,
        horizon,
        propagation,
        chunkSize,
        range: observedRange(real.rows(), real.obsDim, this.settings.range),
        rng: rng.split('rollouts'),
      },
      { signal },
    );
    synthetic.append(batch, provenance);
    this.nextEpisode += counts.episodes;
    return { counts, horizon, seconds: (performance.now() - started) / 1000 };
  }

  async close(): Promise<void> {
    await this.pool.close();
    await this.model?.close();
  }
}

/** What a run that goes on must know, beside the rows that were drawn. JSON-safe. */
export interface GenerativeState {
  /** Real rows ever inserted when the diffusion was last fitted; 0 before. */
  readonly fittedAt: number;
  /** Rows drawn so far: the next one's episode id. */
  readonly drawn: number;
}

export interface GenerationSummary {
  readonly modelVersion: string;
  /** Drawn now. */
  readonly rows: number;
  /** Real rows the diffusion was fitted to. */
  readonly fittedTo: number;
  readonly seconds: number;
}

/** Rows drawn from a diffusion of the real ones, beside which a learner replays them (SynthER). */
export class GenerativeReplay {
  private known: GenerativeState = { fittedAt: 0, drawn: 0 };

  constructor(
    private readonly run: Pick<TrainingSettings, 'scenario' | 'seed'>,
    readonly settings: GenerativeSettings,
  ) {}

  get state(): GenerativeState {
    return this.known;
  }

  /** Goes on where a run was broken off. */
  resume(state: GenerativeState): void {
    this.known = state;
  }

  /** Share of real rows in a batch: all of it until there are others. */
  get realRatio(): number {
    return this.known.drawn === 0 ? 1 : 1 - this.settings.share;
  }

  /** Whether so many real rows are new. */
  isDue(real: ReplayBuffer): boolean {
    return real.inserted - this.known.fittedAt >= this.settings.refitEvery;
  }

  /**
   * Fits a diffusion to all real rows, anew, and draws rows from it into `synthetic`. The same rows and stream, the same bytes.
   * @throws NON_FINITE_VALUE where the diffusion did not learn to draw rows, and the signal's reason
   */
  async renew(
    { real, synthetic }: Buffers,
    rng: Rng,
    { phase, signal }: Pick<TrainingPorts<never>, 'phase' | 'signal'>,
  ): Promise<GenerationSummary> {
    const started = performance.now();
    const { diffusion, rows, levels } = this.settings;
    const batch = real.rows();
    const fitting = phase('fit diffusion', diffusion.updates, 'updates');
    const onProgress = (updates: number) => fitting.set(updates);
    const model = await fitDiffusion(batch, real, diffusion, { rng: rng.split('fit'), signal, onProgress });
    fitting.end();
    try {
      const drawing = phase('draw rows', rows, 'rows');
      const watch = { signal, onProgress: (done: number) => drawing.set(done) };
      const drawn = await model.draw(rows, rng.split('draw'), levels, watch);
      drawing.end();
      synthetic.append(drawn, model.provenance(rows, this.run, this.known.drawn));
    } finally {
      await model.close();
    }
    this.known = { fittedAt: real.inserted, drawn: this.known.drawn + rows };
    const seconds = (performance.now() - started) / 1000;
    return { modelVersion: model.modelVersion, rows, fittedTo: batch.rows, seconds };
  }
}
