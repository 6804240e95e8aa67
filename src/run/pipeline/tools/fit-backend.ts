// `reverie fit` of a tools scenario: the backend that learns is fitted to recorded episodes.

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { Rng } from '../../../core/rng.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import { makeDomain } from '../../../env/tools/domains.js';
import type { EpisodeRecord } from '../../../replay/experience/experience.js';
import { fitBars } from '../../../synth/train-backend.js';
import type { BackendEntry } from '../../../worldmodel/tools/backend-model.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import { backendSettings } from '../../../worldmodel/tools/router.js';
import { digest, toolsSet } from '../../evaluation-set.js';
import { formatCount, formatPercent } from '../../format.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import { digestOf, inputNeeded } from '../inputs.js';
import { EPISODES_FILE, readEpisodes } from './datasets.js';

type Learned = BackendEntry & Required<Pick<BackendEntry, 'fit'>>;

export type BackendFitResult = Awaited<ReturnType<typeof fitBackendJob>>;

export async function fitBackendJob(context: JobContext<ToolsScenario>) {
  const { scenario, inputs, out, seed, signal, metrics, progress } = context;
  const { config, folder } = scenario;
  if (inputs.model !== undefined) {
    const expected = 'none: a backend is fitted from its records alone, not from an earlier model';
    throw reverieError('FLAG_INVALID', { flag: '--model', value: inputs.model, expected });
  }
  const data = episodesFolder(inputs.data);
  const domain = await makeDomain(config.domain, { folder });
  const model = join(out, 'model');
  const work = join(out, 'training');
  try {
    const entry = learnedBackend(config.model.backends, domain);
    const settings = backendSettings(entry, config.model);
    // It is judged on tasks held out of the same records.
    const policies = { learner: `${entry.name}@${digest(settings)}`, data: await digestOf(data) };
    const evaluationSet = toolsSet(context, domain, [], policies, {});
    const learn = await entry.fit();
    const episodes: EpisodeRecord[] = [];
    for await (const episode of readEpisodes(data)) episodes.push(episode);
    const { onProgress, end } = fitBars((name, total, unit) => progress.phase(name, total, unit));
    const rng = Rng.fromSeed(seed).split('fit', entry.name);
    const fitted = await learn({ domain, episodes, work, out: model, signal, settings, rng, onProgress });
    end();
    await rm(work, { recursive: true, force: true });
    const { version, exactness, isReady, report } = fitted;
    metrics.write({ kind: 'fit', modelVersion: version, ...report });
    const bar = `model.${entry.name}.minExactness`;
    const rows = [
      ['learned from', `${formatCount(report.learnedFrom)} steps of ${formatCount(episodes.length)} episodes`],
      ['judged by', `${formatCount(report.steps)} steps of tasks that it did not learn from`],
      ['exact state', formatPercent(report.stateExact)],
      ['exact text', formatPercent(report.textExact)],
      ['exact end', formatPercent(report.endExact)],
      ['confident', `${formatPercent(report.sure)}, of these exact ${formatPercent(report.exactOfSure)}`],
      ['gate', isReady ? 'open' : `SHUT: too often wrong to be used; ${bar} is the bar`],
      ['model', `${model} (${version})`],
    ] as const;
    context.show({ title: '', blocks: [{ kind: 'facts', rows }] });
    return {
      ...{ job: 'fit', family: 'tools', wallSeconds: metrics.wallSeconds, evaluationSet, backend: entry.name, model },
      ...{ modelVersion: version, episodes: episodes.length, exactness, isReady, heldOut: report },
    };
  } finally {
    domain.close();
  }
}

/** The first of a scenario's backends that learns; where none does, the only one there is for such a domain. */
function learnedBackend(names: readonly string[], domain: ToolsDomain): Learned {
  const learned = routerBackends
    .list()
    .filter((entry): entry is Learned => entry.fit !== undefined && (entry.learns?.(domain) ?? true));
  const [named] = names.flatMap((name) => learned.filter((entry) => entry.name === name));
  const found = named ?? (learned.length === 1 ? learned[0] : undefined);
  if (found !== undefined) return found;
  const known = learned.map(({ name }) => name).join(', ') || 'only games of text and screens have one';
  const problem = `it lists none that learns from records: ${known}.`;
  throw reverieError('SCENARIO_INVALID', { path: 'model.backends', problem });
}

/** The folder of a run's episodes, or itself. @throws INPUT_NEEDED, INPUT_MISSING */
function episodesFolder(given: string | undefined): string {
  const what = 'file of episodes';
  if (given === undefined) throw inputNeeded(`a ${what}`, 'data');
  const found = [join(given, 'data'), given].find((folder) => existsSync(join(folder, EPISODES_FILE)));
  if (found !== undefined) return found;
  throw reverieError('INPUT_MISSING', { what, path: given, input: 'data' });
}
