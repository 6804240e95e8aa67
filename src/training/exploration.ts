// Recording to make a model from: the explorer plans for what the model is unsure of, so that it lives where another row says
// most (Plan2Explore, Sekar et al. 2020, 2005.05960; here by planning at every step, as Shyam et al. 2019, 1810.12162). The model is
// fitted anew as rows come in; rewards count for nothing unless they are asked for.

import { join } from 'node:path';
import type { VectorEnvironment } from '../core/environment.js';
import type { Policy } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import type { EnvSpec } from '../env/env-spec.js';
import type { ReplayBuffer } from '../replay/buffer.js';
import { PlannerPolicy } from '../rl/icem.js';
import { RandomPolicy } from '../rl/random-policy.js';
import type { ModelSection, StoredDynamics } from '../worldmodel/dynamics.js';
import { dynamicsKinds, loadWorldModel } from '../worldmodel/kinds.js';
import type { Recorder, Stretch } from './recording.js';

export interface ExplorationSettings {
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
