// A backend that learns, learned from a job's own records.

import { join } from 'node:path';
import type { Phase } from '../../core/progress.js';
import { routerBackends } from '../../worldmodel/index.js';
import type { FitBackend } from './backend-fit.js';

/** As `reverie fit` learns it. @param backend  one that has `fit` */
export const fitLearned =
  (backend: string): FitBackend =>
  async ({ domain, episodes, settings, folder, rng, signal, phase }) => {
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
  };
