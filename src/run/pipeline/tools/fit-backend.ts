// `reverie fit` of a tools scenario: the backend that learns is fitted to recorded episodes, whoever lived and answered them.

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { contentHash } from '../../../core/canonical-json.js';
import { reverieError } from '../../../core/errors.js';
import type { Phase } from '../../../core/progress.js';
import { Rng } from '../../../core/rng.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import { makeDomain } from '../../../env/tools/domains.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import type { BackendEntry, BackendFitNote } from '../../../worldmodel/tools/backend-model.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { backendSettings } from '../../../worldmodel/tools/router.js';
import { requireSet } from '../../evaluation-set.js';
import { type JobContext, whileOpen } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { BackendFitResult } from '../../tools-results.js';
import { digestOf } from '../inputs.js';
import { readEpisodes } from './datasets.js';
import { backendFitPanel } from './episodes-panel.js';
import { EPISODES_FILE } from './judged-rows.js';

type Context = JobContext<ToolsScenario>;
type Learned = BackendEntry & Required<Pick<BackendEntry, 'fit'>>;

export async function fitBackendJob(context: Context): Promise<BackendFitResult> {
  const { config, folder } = context.scenario;
  const { model: earlier } = context.inputs;
  if (earlier !== undefined) {
    const expected = 'none: a backend is fitted from its records alone, not from an earlier model';
    throw reverieError('FLAG_INVALID', { flag: '--model', value: earlier, expected });
  }
  const data = episodesFolder(context.inputs.data);
  const domain = await makeDomain(config.domain, { folder });
  const phases = new Phases(context);
  const model = join(context.out, 'model');
  const work = join(context.out, 'training');
  return whileOpen(context, domain, async () => {
    const entry = learnedBackend(config.model.backends, domain);
    const settings = backendSettings(entry, config.model);
    const learner = `${entry.name}@${contentHash(settings).slice(0, 12)}`;
    const panel = backendFitPanel(context, domain, { learner, data: await digestOf(data) });
    requireSet(panel, context.inputs);
    const learn = await entry.fit();
    const episodes: EpisodeRecord[] = [];
    for await (const episode of readEpisodes(data)) episodes.push(episode);
    const fitted = await learn({
      ...{ domain, episodes, work, out: model, signal: context.signal },
      settings,
      rng: Rng.fromSeed(context.seed).split('fit', entry.name),
      onProgress: (note) => phases.note(note),
    });
    phases.end();
    await rm(work, { recursive: true, force: true });
    const { version, exactness, isReady, report } = fitted;
    context.metrics.write({ kind: 'fit', modelVersion: version, ...report });
    return {
      ...{ job: 'fit', family: 'tools', wallSeconds: context.metrics.wallSeconds },
      ...{ backend: entry.name, model, modelVersion: version, episodes: episodes.length, exactness, isReady, report },
      panel,
    };
  });
}

/** The first of a scenario's backends that learns; where none does, the only one there is for such a domain. */
function learnedBackend(names: readonly string[], domain: ToolsDomain): Learned {
  const learned = routerBackends
    .list()
    .filter((entry): entry is Learned => entry.fit !== undefined && (entry.learns?.(domain) ?? true));
  const [named] = names.flatMap((name) => learned.filter((entry) => entry.name === name));
  const found = named ?? (learned.length === 1 ? learned[0] : undefined);
  if (found !== undefined) return found;
  const path = 'model.backends';
  const problem = `it lists none that learns from records: ${learned.map(({ name }) => name).join(', ')}.`;
  throw reverieError('SCENARIO_INVALID', { path, problem });
}

/** The folder of a run's episodes, or itself. @throws INPUT_NEEDED, INPUT_MISSING */
function episodesFolder(given: string | undefined): string {
  const what = 'file of episodes';
  if (given === undefined) {
    throw reverieError('INPUT_NEEDED', {
      problem: `This needs a ${what}, and --data was not given.`,
      hint: `Give --data FOLDER: one that holds a ${what}, or a run that does.`,
    });
  }
  const found = [join(given, 'data'), given].find((folder) => existsSync(join(folder, EPISODES_FILE)));
  if (found === undefined) throw reverieError('INPUT_MISSING', { what, path: given, input: 'data' });
  return found;
}

/** Bars for what a fit does one after the other. */
class Phases {
  private open: { readonly name: string; readonly phase: Phase } | undefined;

  constructor(private readonly context: Context) {}

  note({ phase: name, unit, done, total, note }: BackendFitNote): void {
    if (this.open?.name !== name) {
      this.end();
      this.open = { name, phase: this.context.progress.phase(name, total, unit) };
    }
    this.open!.phase.set(done, note);
  }

  end(): void {
    this.open?.phase.end();
    this.open = undefined;
  }
}
