// Policies written by hand: a controller, an expert to clone, a probe. They travel to workers as the module that holds them.

import { sha256 } from '../core/canonical-json.js';
import { reverieError } from '../core/errors.js';
import type { ActOptions, Policy, PolicyAction, PolicySnapshot } from '../core/policy.js';
import type { Rng } from '../core/rng.js';
import { compiledUrl } from '../core/threads.js';

/** One row's decision: reads obs[offset ...], answers actionDim numbers. All its randomness comes from `rng`. */
export type Script = (obs: Float32Array, offset: number, rng: Rng, options: ActOptions) => ArrayLike<number>;

/** Where a script lies: `export` of `module` is a function from `settings` (JSON) to a `Script`. */
export interface ScriptSource {
  /** URL a worker can import, e.g. `compiledUrl(import.meta.url, './controller.js')`. */
  readonly module: string;
  readonly export: string;
  readonly settings?: unknown;
  readonly obsDim: number;
  readonly actionDim: number;
}

export interface ScriptedPayload {
  readonly kind: 'scripted';
  readonly source: ScriptSource;
}

export class ScriptedPolicy implements Policy {
  readonly version: string;
  private readonly source: ScriptSource;
  private readonly script: Script;

  constructor(source: ScriptSource, script: Script) {
    this.source = source;
    this.script = script;
    const { export: name, settings = null, obsDim, actionDim } = source;
    const text = JSON.stringify([name, settings, obsDim, actionDim, script.toString()]);
    this.version = `scripted-${sha256(text).slice(0, 8)}`;
  }

  /** Imports the module of a source. Throws MODEL_FILE_INVALID if it has no such function. */
  static async load(source: ScriptSource): Promise<ScriptedPolicy> {
    const module = (await import(source.module)) as Record<string, unknown>;
    const make = module[source.export];
    if (typeof make !== 'function') {
      throw reverieError('MODEL_FILE_INVALID', {
        problem: `This is not a policy that can be loaded: ${`${source.module} exports no function "${source.export}"`}.`,
        hint: 'Give the payload of a PolicySnapshot made by this version of reverie.',
      });
    }
    return new ScriptedPolicy(source, make(source.settings) as Script);
  }

  act(obs: Float32Array, rows: number, rng: Rng, options: ActOptions = {}): PolicyAction {
    const { obsDim, actionDim } = this.source;
    const action = new Float32Array(rows * actionDim);
    for (let row = 0; row < rows; row++) action.set(this.script(obs, row * obsDim, rng, options), row * actionDim);
    return { action };
  }

  snapshot(): PolicySnapshot {
    const payload: ScriptedPayload = { kind: 'scripted', source: this.source };
    return { version: this.version, loader: compiledUrl(import.meta.url, './load-policy.js'), payload };
  }
}
