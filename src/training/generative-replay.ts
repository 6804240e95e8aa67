// Rows drawn from a diffusion of the real ones, beside which a learner replays them (SynthER, Lu et al. 2023, 2303.06614).

import type { OpenPhase } from '../core/progress.js';
import type { Rng } from '../core/rng.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import { fitDiffusion } from '../rl/synther.js';
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
}

interface Ports {
  readonly phase: OpenPhase;
  readonly signal: AbortSignal;
}

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
  async renew({ real, synthetic }: Generation, rng: Rng, { phase, signal }: Ports): Promise<GenerationSummary> {
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
