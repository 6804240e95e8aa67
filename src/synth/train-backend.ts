// How a backend is made from records that a job has gathered. Whatever else `model` names answers as the scenario has it.

import { join } from 'node:path';
import type { OpenPhase, Phase } from '../core/progress.js';
import { type Entry, Registry } from '../core/registry.js';
import type { Rng } from '../core/rng.js';
import type { ToolsDomain } from '../env/tools/domain.js';
import type { EpisodeRecord, ExperienceStep } from '../replay/experience/experience.js';
import type { BackendFitNote } from '../worldmodel/tools/backend-model.js';
import { routerBackends } from '../worldmodel/tools/backends.js';

export interface FitRequest {
  readonly domain: ToolsDomain;
  /** Episodes of the real environment. */
  readonly episodes: readonly EpisodeRecord[];
  /** Their calls, in order. */
  readonly steps: readonly ExperienceStep[];
  /** The backend's section of `model`, as far as the scenario has one. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Exists, and is the backend's alone. */
  readonly folder: string;
  readonly rng: Rng;
  readonly signal: AbortSignal;
  readonly phase: OpenPhase;
}

export interface FittedBackend {
  /** What the section is to say now, over what it says. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** What was found, in a few words. */
  readonly about: string;
  /** Whether it is good enough to answer; until then it is left out of the router. */
  readonly isReady: boolean;
}

/** The same request gives the same backend. @throws what the reason of the signal is, and storage errors */
export type FitBackend = (request: FitRequest) => Promise<FittedBackend>;
type FittedBackendEntry = Entry<FitBackend>;

/** How plugins make backends of records, where these do not say it themselves. */
export const fittedBackends = new Registry<FittedBackendEntry>('fitted backend');

/** What makes a backend of records; undefined where it is not made of any. @throws NAME_UNKNOWN */
export async function fitterOf(backend: string): Promise<FitBackend | undefined> {
  if (fittedBackends.has(backend)) return fittedBackends.get(backend).make();
  return routerBackends.get(backend).fit === undefined ? undefined : (request) => fitLearned(backend, request);
}

/** A bar for each thing that a fit does one after the other. */
export function fitBars(phase: OpenPhase) {
  let open: { readonly name: string; readonly bar: Phase } | undefined;
  return {
    onProgress: ({ phase: name, unit, done, total, note }: BackendFitNote) => {
      if (open?.name !== name) {
        open?.bar.end();
        open = { name, bar: phase(name, total, unit) };
      }
      open.bar.set(done, note);
    },
    end: () => open?.bar.end(),
  };
}

/** As `reverie fit` learns it. */
async function fitLearned(
  backend: string,
  { domain, episodes, settings, folder, rng, signal, phase }: FitRequest,
): Promise<FittedBackend> {
  const learn = await routerBackends.get(backend).fit!();
  const model = join(folder, 'model');
  const { onProgress, end } = fitBars(phase);
  const { exactness, isReady, report } = await learn({
    ...{ domain, episodes, settings, rng, signal, work: join(folder, 'training'), out: model, onProgress },
  });
  end();
  const about = `${(100 * exactness).toFixed(1)} % of ${report.steps} held-out steps exact, learned from ${report.learnedFrom}`;
  return { settings: { model }, about, isReady };
}
