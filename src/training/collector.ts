// Real steps, kept with where they came from: a collector runs episodes with a frozen policy, a recorder says which policy acts next, and
// an explorer is a recorder that plans for what a model is unsure of.

import { join } from 'node:path';
import type { FrozenCarry } from '../core/dynamics.js';
import type { EnvSnapshot, VectorEnvironment } from '../core/environment.js';
import { Acting, type Policy } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import type { EnvSpec } from '../env/env-spec.js';
import { rowSize } from '../env/space-values.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import { allocateBatch, sliceBatch } from '../replay/columns.js';
import type { Provenance, TransitionBatch } from '../replay/transition.js';
import { PlannerPolicy } from '../rl/icem.js';
import { RandomPolicy } from '../rl/policies.js';
import type { ModelSection, StoredDynamics } from '../worldmodel/dynamics.js';
import { dynamicsKinds, loadWorldModel } from '../worldmodel/kinds.js';

interface CollectorState {
  readonly env: EnvSnapshot | null;
  readonly observation: number[];
  readonly episode: number;
  readonly step: number;
  readonly episodeReturn: number;
  /** What the policy that acted last remembers of the episode; absent without a memory. */
  readonly remembered?: FrozenCarry;
}

/** A finished real episode. */
export interface EpisodeSummary {
  readonly episode: number;
  readonly return: number;
  readonly length: number;
}

export interface Collected {
  readonly batch: TransitionBatch;
  readonly provenance: Provenance;
  readonly episodes: readonly EpisodeSummary[];
}

/** Where in the environment we are; `collect` goes on from there, so episodes may span several calls. */
export class Collector {
  private observation: Float32Array = new Float32Array(0);
  private live = false;
  private step = 0;
  private episodeReturn = 0;
  private remembered: FrozenCarry | undefined;

  /**
   * @param seeds root stream: episode n is reset with a seed drawn from `seeds.split('episode', n)`
   * @param episode number of the first episode, after those of records that are there already
   */
  constructor(
    private readonly env: VectorEnvironment,
    private readonly scenario: string,
    private readonly seeds: Rng,
    private readonly seed: number,
    private episode = 0,
  ) {}

  /**
   * Takes exactly `steps` real steps; `rng` feeds the policy alone. Stops early, with what there is, when `signal` aborts. A
   * policy of another version than the last call's begins to remember anew, within an episode too.
   */
  async collect(policy: Policy, steps: number, rng: Rng, signal?: AbortSignal): Promise<Collected> {
    const { observationSpace, actionSpace } = this.env;
    const batch = allocateBatch(steps, rowSize(observationSpace), rowSize(actionSpace));
    const episode = new Float64Array(steps);
    const step = new Uint32Array(steps);
    const logProb = new Float32Array(steps).fill(Number.NaN);
    const episodes: EpisodeSummary[] = [];
    const acting = new Acting(policy, 1);
    if (this.live && this.remembered?.version === policy.version) acting.revive(this.remembered);
    let row = 0;
    while (row < steps && !signal?.aborted) {
      if (!this.live) {
        await this.begin();
        acting.restart(Uint32Array.of(0));
      }
      episode[row] = this.episode;
      step[row] = this.step;
      const acted = await acting.act(this.observation, rng);
      if (acted.logProb) logProb[row] = acted.logProb[0];
      const finished = await this.stepOnce(acted.action, batch, row);
      if (finished) episodes.push(finished);
      row++;
    }
    this.remembered = acting.freeze();
    const whole = row === steps;
    return {
      batch: whole ? batch : truncateBatch(batch, row),
      provenance: {
        source: 'real',
        backend: 'real',
        modelVersion: '',
        scenario: this.scenario,
        policyVersion: policy.version,
        seed: this.seed,
        episode: whole ? episode : episode.slice(0, row),
        step: whole ? step : step.slice(0, row),
        logProb: whole ? logProb : logProb.slice(0, row),
      },
      episodes,
    };
  }

  async state(): Promise<CollectorState> {
    return {
      env: this.live ? await this.env.snapshot() : null,
      observation: Array.from(this.observation),
      episode: this.episode,
      step: this.step,
      episodeReturn: this.episodeReturn,
      ...(this.remembered && { remembered: this.remembered }),
    };
  }

  async restore(state: CollectorState): Promise<void> {
    this.live = state.env !== null;
    if (state.env) await this.env.restore(state.env);
    this.observation = Float32Array.from(state.observation);
    this.episode = state.episode;
    this.step = state.step;
    this.episodeReturn = state.episodeReturn;
    this.remembered = state.remembered;
  }

  private async begin(): Promise<void> {
    const seed = this.seeds.split('episode', this.episode).uint32();
    this.observation = (await this.env.reset({ seed })).observation;
    this.live = true;
    this.step = 0;
    this.episodeReturn = 0;
  }

  /** One real step, written to `row`; answers the episode's summary when it ended. */
  private async stepOnce(
    action: Float32Array,
    batch: TransitionBatch,
    row: number,
  ): Promise<EpisodeSummary | undefined> {
    const result = await this.env.step(action);
    const obsDim = this.observation.length;
    batch.obs.set(this.observation, row * obsDim);
    batch.action.set(action, row * action.length);
    batch.nextObs.set(result.observation, row * obsDim);
    batch.reward[row] = result.reward;
    batch.terminated[row] = result.terminated ? 1 : 0;
    batch.truncated[row] = result.truncated ? 1 : 0;
    this.observation = result.observation;
    this.step++;
    this.episodeReturn += result.reward;
    if (!result.terminated && !result.truncated) return undefined;
    this.live = false;
    return { episode: this.episode++, return: this.episodeReturn, length: this.step };
  }
}

function truncateBatch(batch: TransitionBatch, rows: number): TransitionBatch {
  // Copies: the rest of the arrays is not kept.
  const { rows: _, ...columns } = sliceBatch(batch, 0, rows);
  const copies = Object.entries(columns).map(([name, values]) => [name, values.slice()]);
  return { rows, ...Object.fromEntries(copies) };
}

// Recording: it can be paused at any step and resumed.

/** Steps between looks at the clock, the progress bar and Ctrl-C. */
const STRETCH = 250;

/** Who acts next, and for how many steps at most. */
export interface Stretch {
  readonly policy: Policy;
  readonly steps: number;
}

/** Says who acts, by what was lived so far; asked before every stretch. Same rows, same answer. */
export interface Recorder {
  next(real: ReplayBuffer): Promise<Stretch>;
}

/** One policy to the end. */
export function recorderOf(policy: Policy): Recorder {
  return { next: async () => ({ policy, steps: Number.POSITIVE_INFINITY }) };
}

/** Everything that must survive a pause. */
export interface Recording {
  readonly collector: Collector;
  readonly recorder: Recorder;
  /** What the policy draws from. */
  readonly rng: Rng;
  readonly buffer: ReplayBuffer;
  /** Those that ended. */
  readonly episodes: EpisodeSummary[];
}

export interface RecordingPorts {
  readonly signal: AbortSignal;
  /** One event for the journal of metrics. */
  tell(event: { readonly kind: string; readonly [key: string]: unknown }): void;
  /** After every stretch. Keeps the recording where that is due; throws where the run is to end here. */
  checkpoint(recording: Recording): Promise<void>;
}

/** Records until the buffer holds `steps` rows. @throws what environment and policy throw, and what ends a run at a checkpoint */
export async function record(recording: Recording, steps: number, ports: RecordingPorts): Promise<void> {
  const { collector, recorder, rng, buffer, episodes } = recording;
  while (buffer.size < steps) {
    const { policy, steps: most } = await recorder.next(buffer);
    const lived = await collector.collect(policy, Math.min(STRETCH, most, steps - buffer.size), rng, ports.signal);
    buffer.append(lived.batch, lived.provenance);
    for (const episode of lived.episodes) ports.tell({ kind: 'episode', realSteps: buffer.size, ...episode });
    episodes.push(...lived.episodes);
    await ports.checkpoint(recording);
    // Physics answers without waiting: let the bar move and Ctrl-C in.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

interface ExplorationSettings {
  /** What is learned to be unsure of; a kind that can be fitted and answers `disagreement`. */
  readonly model: ModelSection;
  /** Real steps at random, before the first fit. */
  readonly initialRandomSteps: number;
  /** Real steps between fits. */
  readonly refitEvery: number;
  readonly horizon: number;
  readonly candidates: number;
  /** How much reward counts beside disagreement. */
  readonly rewardWeight: number;
  /** Worker threads for fitting; never changes results. */
  readonly workers: number;
  /** The environment, from anywhere. */
  readonly env: EnvSpec;
}

const MODEL_FOLDER = 'model';

/**
 * Plans for what the model is unsure of, so that rows are collected where another one says most (Plan2Explore, Sekar et al. 2020,
 * 2005.05960; here by planning at every step, as Shyam et al. 2019, 1810.12162). The model is fitted anew as rows come in; rewards
 * count for nothing unless they are asked for.
 */
export class Explorer implements Recorder {
  private model: StoredDynamics | undefined;
  /** Rows the model was fitted to. */
  private fitted = 0;

  /** @param rng root of its fits; not advanced */
  constructor(
    private readonly settings: ExplorationSettings,
    private readonly env: VectorEnvironment,
    private readonly rng: Rng,
    private readonly onFit: (fit: { readonly rows: number; readonly holdoutError: number }) => void,
    private readonly signal: AbortSignal,
  ) {}

  /** @throws SETTING_INVALID, by the planner, for models without a second opinion; SCENARIO_UNFIT but for boxes */
  async next(real: ReplayBuffer): Promise<Stretch> {
    const { initialRandomSteps, refitEvery } = this.settings;
    if (real.size < initialRandomSteps) {
      return { policy: new RandomPolicy(this.env.actionSpace), steps: initialRandomSteps - real.size };
    }
    const due = real.size - ((real.size - initialRandomSteps) % refitEvery);
    if (this.fitted < due) await this.fit(real);
    return { policy: this.planner(), steps: due + refitEvery - real.size };
  }

  /** Number of rows fitted to, which `resume` is to be given. */
  async save(folder: string): Promise<number> {
    await this.model?.save(join(folder, MODEL_FOLDER));
    return this.fitted;
  }

  async resume(folder: string, fitted: number): Promise<void> {
    this.fitted = fitted;
    if (fitted > 0) this.model = await loadWorldModel(join(folder, MODEL_FOLDER));
  }

  async close(): Promise<void> {
    await this.model?.close();
  }

  private planner(): Policy {
    const { horizon, candidates, rewardWeight } = this.settings;
    return new PlannerPolicy(this.model!, { horizon, candidates, rewardWeight, bonusWeight: 1 });
  }

  private async fit(real: ReplayBuffer): Promise<void> {
    const { model: section, env, workers } = this.settings;
    const kind = await dynamicsKinds.get(section.kind).make();
    const { model, report } = await kind.fit!({
      ...{ section, data: real, spaces: this.env, rng: this.rng.split('fit', real.size), workers },
      ...{ previous: this.model, known: this.env.known, env, signal: this.signal },
    });
    await this.model?.close();
    this.model = model;
    this.fitted = real.size;
    this.onFit({ rows: real.size, holdoutError: report.holdoutError });
  }
}
