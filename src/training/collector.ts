// Real steps, kept with where they came from: a collector runs episodes with a frozen policy.

import type { FrozenCarry } from '../core/dynamics.js';
import type { EnvSnapshot, VectorEnvironment } from '../core/environment.js';
import { Acting, type Policy } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { rowSize } from '../env/space-values.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import { allocateBatch, sliceBatch } from '../replay/columns.js';
import type { Provenance, TransitionBatch } from '../replay/transition.js';

export interface CollectorState {
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
  /** What the environment threw after these steps, which ended its episode. */
  readonly failure?: unknown;
  readonly batch: TransitionBatch;
  readonly provenance: Provenance;
  readonly episodes: readonly EpisodeSummary[];
}

/** Where in the environment we are; `collect` resumes there, so episodes may span several calls. */
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
   * Takes exactly `steps` real steps; `rng` feeds the policy alone. Stops early, with what there is, when `signal` aborts or a step or a start fails. A
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
    let failure: unknown;
    while (row < steps && !signal?.aborted) {
      try {
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
      } catch (error) {
        failure = error;
        if (row > 0 && step[row] > 0) batch.truncated[row - 1] = 1;
        this.live = false;
        this.episode++;
        break;
      }
      row++;
    }
    this.remembered = acting.freeze();
    const whole = row === steps;
    return {
      ...(failure !== undefined && { failure }),
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

/** Everything that must survive a pause. */
export interface Recording {
  readonly collector: Collector;
  readonly policy: Policy;
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
  /** After every stretch. Keeps the recording where that is due, or the last chance; throws where the run is to end here. */
  checkpoint(recording: Recording, isLast: boolean): Promise<void>;
}

/** Records until the buffer holds `steps` rows. @throws what environment and policy throw, and what ends a run at a checkpoint */
export async function record(recording: Recording, steps: number, ports: RecordingPorts): Promise<void> {
  const { collector, policy, rng, buffer, episodes } = recording;
  while (buffer.size < steps) {
    const collected = await collector.collect(policy, Math.min(STRETCH, steps - buffer.size), rng, ports.signal);
    buffer.append(collected.batch, collected.provenance);
    for (const episode of collected.episodes) ports.tell({ kind: 'episode', realSteps: buffer.size, ...episode });
    episodes.push(...collected.episodes);
    await ports.checkpoint(recording, collected.failure !== undefined);
    if (collected.failure !== undefined) throw collected.failure;
    // Physics answers without waiting: let the bar move and Ctrl-C in.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
