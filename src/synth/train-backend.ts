// How a backend is made from records that a job has gathered. Whatever else `model` names answers as the scenario has it.

import { join } from 'node:path';
import { reverieError } from '../core/errors.js';
import type { OpenPhase, Phase } from '../core/progress.js';
import { type Entry, Registry } from '../core/registry.js';
import type { Rng } from '../core/rng.js';
import type { ToolsDomain } from '../env/tools/domain.js';
import type { EpisodeRecord, ExperienceStep } from '../replay/experience/experience.js';
import { writeFileAtomic } from '../store/atomic-file.js';
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
export type FittedBackendEntry = Entry<FitBackend>;

/** Backends that are found in records by what only this room knows. */
export const fittedBackends = new Registry<FittedBackendEntry>('fitted backend', [
  { name: 'operators', summary: 'Induces preconditions and effects.', make: async () => fitOperators },
]);

/** What makes a backend of records; undefined where it is not made of any. @throws NOT_REGISTERED */
export async function fitterOf(backend: string): Promise<FitBackend | undefined> {
  if (fittedBackends.has(backend)) return fittedBackends.get(backend).make();
  return routerBackends.get(backend).fit === undefined ? undefined : (request) => fitLearned(backend, request);
}

/** As `reverie fit` learns it. */
async function fitLearned(
  backend: string,
  { domain, episodes, settings, folder, rng, signal, phase }: FitRequest,
): Promise<FittedBackend> {
  const learn = await routerBackends.get(backend).fit!();
  const model = join(folder, 'model');
  let open: { readonly name: string; readonly bar: Phase } | undefined;
  const { exactness, isReady, report } = await learn({
    ...{ domain, episodes, settings, rng, signal, work: join(folder, 'training'), out: model },
    onProgress: ({ phase: name, unit, done, total, note }) => {
      if (open?.name !== name) {
        open?.bar.end();
        open = { name, bar: phase(name, total, unit) };
      }
      open.bar.set(done, note);
    },
  });
  open?.bar.end();
  const about = `${(100 * exactness).toFixed(1)} % of ${report.steps} held-out steps exact, learned from ${report.learnedFrom}`;
  return { settings: { model }, about, isReady };
}

/** @throws OPERATORS_NO_FACTS in a world whose states are no facts about objects */
async function fitOperators({ domain, steps, folder, phase }: FitRequest): Promise<FittedBackend> {
  if (domain.rules?.scene === undefined) throw reverieError('OPERATORS_NO_FACTS', { domain: domain.id });
  const [{ induceOperators }, { recordedTries }] = await Promise.all([
    import('./operators/induce-operators.js'),
    import('./operators/recorded-tries.js'),
  ]);
  const bar = phase('induce operators', 1, 'fits');
  const found = induceOperators(recordedTries(steps, domain));
  const file = join(folder, 'operators.json');
  await writeFileAtomic(file, `${JSON.stringify(found, null, 2)}\n`);
  const about = `${found.operators.length} operators from ${found.from.transitions} calls, ${found.from.accepted} of them carried out`;
  bar.end(about);
  return { settings: { file }, about, isReady: true };
}
