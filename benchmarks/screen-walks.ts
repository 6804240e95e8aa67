// Walks of chance over MiniWoB++'s screens, recorded in a browser, and dreams made of such records.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Rng } from '../src/core/rng.js';
import { actionLine } from '../src/env/screens/screen-actions.js';
import type { ToolsDomain, ToolsTask } from '../src/env/tools/domain.js';
import { rulesResponder } from '../src/env/tools/rules-responder.js';
import { ScriptedUser } from '../src/env/tools/scripted-user.js';
import { ToolsEpisodeEnvironment } from '../src/env/tools/tools-environment.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import { ExperienceStore } from '../src/replay/experience/store.js';
import type { TextPolicy } from '../src/rl/text/text-policy.js';
import { realSteps } from '../src/run/pipeline/tools/records.js';
import type { BrowserName } from '../src/screens/page/page-browser.js';
import { planRow, runEpisode } from '../src/synth/episodes/run-episode.js';
import { TextPolicyAgent } from '../src/training/text-play.js';
import { routerBackends } from '../src/worldmodel/tools/backends.js';
import { backendSettings, makeRouter } from '../src/worldmodel/tools/router.js';
import { parseToolsModelConfig, type ToolsModelConfigInput } from '../src/worldmodel/tools/tools-model-schema.js';

interface Pages {
  homeOf(given: string | undefined, folder: string): string;
  namesOf(home: string, browser: BrowserName, wanted?: readonly string[]): readonly string[];
  domainOf(
    home: string,
    settings: { readonly names: readonly string[]; readonly seeds: number; readonly browser: BrowserName },
  ): ToolsDomain;
}

export interface ScreensAsked {
  readonly root: string;
  /** All that the browser can do unless given. */
  readonly names?: readonly string[];
  /** Of each task and split. */
  readonly seeds: number;
  readonly browser: BrowserName;
}

/** @throws where the pages are not found */
export async function openScreens({ root, names, seeds, browser }: ScreensAsked): Promise<ToolsDomain> {
  const pages = (await import(pathToFileURL(join(root, 'packs', 'miniwob', 'pages.mjs')).href)) as Pages;
  const home = pages.homeOf(undefined, root);
  return pages.domainOf(home, { names: pages.namesOf(home, browser, names), seeds, browser });
}

export function tasksOf({ tasks }: ToolsDomain, split: ToolsTask['split'] = 'train'): ToolsTask[] {
  return tasks.filter((task) => task.split === split);
}

export function screenEnvironmentOf(
  domain: ToolsDomain,
  responder: Responder,
  maxSteps: number,
): ToolsEpisodeEnvironment {
  return new ToolsEpisodeEnvironment({ id: domain.id, domain, responder, user: new ScriptedUser(), maxSteps });
}

/** Each of what a screen offers as likely as any other. */
export const uniform: TextPolicy = {
  version: 'uniform',
  decide: async (situations, draws) =>
    situations.map(({ admissible: { length } }, i) => {
      const choice = Math.min(Math.floor((draws?.[i] ?? 0) * length), length - 1);
      return { choice, logProb: -Math.log(length), entropy: Math.log(length) };
    }),
};

export interface WalksAsked {
  readonly domain: ToolsDomain;
  readonly tasks: readonly ToolsTask[];
  readonly seed: number;
  readonly maxSteps: number;
}

/** An episode of each task, in the browser. */
export async function recordedWalks({ domain, tasks, seed, maxSteps }: WalksAsked): Promise<EpisodeRecord[]> {
  const agent = new TextPolicyAgent(uniform, actionLine);
  const responder = rulesResponder(domain);
  const environment = screenEnvironmentOf(domain, responder, maxSteps);
  const records: EpisodeRecord[] = [];
  for (const [row, task] of tasks.entries()) {
    const plan = planRow(row, { seed, groupSize: 1, branchAt: 0 });
    const settings = {
      scenario: domain.id,
      scenarioHash: domain.version,
      seed,
      source: 'real',
      responderVersion: responder.version,
      userVersion: 'scripted',
      maxSteps,
      weigh: () => 1,
    } as const;
    records.push(await runEpisode(environment, agent, task, plan, settings));
  }
  return records;
}

/** A dream by such a model, of such records; what of it learns lies in `folder` afterwards, and answers however good it is. */
export async function recordedDream(
  domain: ToolsDomain,
  records: readonly EpisodeRecord[],
  model: ToolsModelConfigInput,
  folder: string,
): Promise<Responder> {
  const index = await ExperienceStore.open();
  await index.add(realSteps(domain, records));
  let config = parseToolsModelConfig({ kind: 'tools', ...model });
  for (const name of config.backends) {
    const entry = routerBackends.get(name);
    if (entry.fit === undefined) continue;
    const learn = await entry.fit();
    const out = join(folder, name);
    await learn({
      ...{ domain, episodes: records, work: join(folder, 'work'), out, settings: backendSettings(entry, config) },
      rng: Rng.fromSeed(0),
      signal: new AbortController().signal,
      onProgress: () => {},
    });
    const settings = backendSettings(entry, config) as object;
    const bar = 'minExactness' in settings ? { minExactness: 0 } : {};
    config = parseToolsModelConfig({ ...config, [name]: { ...settings, ...bar, model: out } });
  }
  return makeRouter(config, { domain, index, folder });
}
