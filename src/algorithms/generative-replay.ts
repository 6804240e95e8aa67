// Rows drawn from a diffusion of the real ones, beside which a learner replays them (SynthER, Lu et al. 2023, 2303.06614), or rows
// like those that the learner is most wrong about (PGR, Wang et al. 2024, 2410.18082, with the temporal-difference error as relevance).

import type { OpenPhase } from '../core/progress.js';
import type { Rng } from '../core/rng.js';
import { type ReplayBuffer, sliceBatch, type TransitionBatch } from '../replay/index.js';
import { fitDiffusion, type ReplayLearner } from '../rl/index.js';
import type { GenerativeSettings, TrainingSettings } from './training-settings.js';

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

interface Generation {
  readonly real: ReplayBuffer;
  readonly synthetic: ReplayBuffer;
  readonly learner: ReplayLearner;
}

interface Ports {
  readonly phase: OpenPhase;
  readonly signal: AbortSignal;
}

/** Rows whose temporal-difference errors are asked for at once. */
const JUDGED_AT_ONCE = 4096;

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
    { real, synthetic, learner }: Generation,
    rng: Rng,
    { phase, signal }: Ports,
  ): Promise<GenerationSummary> {
    const started = performance.now();
    const { diffusion, rows, relevance, condition, guidance, levels } = this.settings;
    const batch = real.rows();
    const worth = relevance === 'td-error' ? await errorsOf(learner, batch, rng.split('relevance')) : undefined;
    const fitting = phase('fit diffusion', diffusion.updates, 'updates');
    const onProgress = (updates: number) => fitting.set(updates);
    const model = await fitDiffusion(batch, real, diffusion, { rng: rng.split('fit'), worth, signal, onProgress });
    fitting.end();
    try {
      const drawing = phase('draw rows', rows, 'rows');
      const asked = { steps: levels, condition: worth === undefined ? null : condition, guidance };
      const watch = { signal, onProgress: (done: number) => drawing.set(done) };
      const drawn = await model.draw(rows, rng.split('draw'), asked, watch);
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

/** |temporal-difference error| of every row. */
async function errorsOf(learner: ReplayLearner, batch: TransitionBatch, rng: Rng): Promise<Float32Array> {
  const errors = new Float32Array(batch.rows);
  for (let from = 0, part = 0; from < batch.rows; from += JUDGED_AT_ONCE, part++) {
    const to = Math.min(batch.rows, from + JUDGED_AT_ONCE);
    errors.set(await learner.tdErrors(sliceBatch(batch, from, to), rng.split('part', part)), from);
  }
  return errors;
}
