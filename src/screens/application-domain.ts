// Applications as domains: a pack says how one is found, how it is started, which tasks there are and who judges them. Which
// settings a scenario has of it, its pages by seed and the browser are the same for all.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { contentHash, type Json } from '../core/canonical-json.js';
import type { DomainEntry } from '../env/tools/domain.js';
import type { AppSpec, PageContract } from './page/page-browser.js';
import { type ScreensDomainOptions, screensDomain } from './screens-domain.js';
import { type ScreenPage, seededPages } from './seeded-pages.js';

/** What a seed makes of a task. */
export interface ApplicationStart extends Pick<AppSpec, 'goal' | 'files'> {
  /** What the judge is told: the application's data once the task is done, or the like. */
  readonly wanted: Json;
}

export interface ApplicationTask {
  readonly begin: (seed: number) => ApplicationStart;
  readonly solve?: ScreenPage['solve'];
}

/** An application that was found on this machine. */
export interface FoundApplication {
  readonly program: string;
  readonly version: string;
}

export interface ApplicationOptions extends Pick<ScreensDomainOptions, 'settle' | 'timeoutSeconds' | 'policy'> {
  /** The domain's name in scenarios. */
  readonly id: string;
  /** What messages call the application. */
  readonly name: string;
  readonly summary: string;
  /** How `domain.app` is told: what it names, the environment variable in its place, and where is looked without either. */
  readonly place: { readonly what: string; readonly variable: string; readonly otherwise: string };
  /** @param named absolute path of what the scenario or the variable names. @throws appNotFound */
  readonly find: (named: string | undefined) => FoundApplication;
  /** Program and arguments: see AppSpec. */
  readonly command: (program: string) => readonly string[];
  /** Where tasks begin: a path below the application's address. */
  readonly path: string;
  /** The judge's module: see AppJudge. */
  readonly judge: URL;
  /** By name. */
  readonly tasks: Readonly<Record<string, ApplicationTask>>;
}

const SEEDS = 5;
/** A server starts, and waits for a browser that starts too. */
const TIMEOUT_SECONDS = 180;
/** What pages of no task of their own say: the application tells goal and reward. */
const CONTRACT: PageContract = { begin: '() => {}', goal: '""', reward: '0', done: 'false', hidden: [] };

/** Nothing is looked for before the domain is made, and nothing started before a page is opened. */
export function applicationDomain(options: ApplicationOptions): DomainEntry {
  const { id, summary, tasks, place, settle, timeoutSeconds = TIMEOUT_SECONDS, policy } = options;
  const schema = settingsOf(options);
  return {
    name: id,
    summary,
    schema,
    make: async () => async (given, folder) => {
      const { app, screens = Object.keys(tasks), seeds = SEEDS, screenshots } = schema.parse(given);
      const named = app ?? process.env[place.variable];
      const { program, version } = options.find(named ? resolve(folder, named) : undefined);
      const pages = seededPages(screens, seeds, (name, seed) => pageOf(options, program, tasks[name], seed));
      const told = pages.map(({ app: of }) => [of!.goal, of!.files] as unknown as Json);
      return screensDomain({
        ...{ id, pages, version: contentHash({ version, tasks: told }) },
        ...{ contract: CONTRACT, browser: 'chromium', timeoutSeconds, policy },
        ...(settle !== undefined && { settle }),
        ...(screenshots !== undefined && { screenshots }),
      });
    },
  };
}

function settingsOf({ id, place: { what, variable, otherwise }, tasks }: ApplicationOptions) {
  const where = `${what}, relative to the scenario; default: $${variable}, else ${otherwise}`;
  const most = 1_000_000;
  return z.strictObject({
    app: z.string().min(1).optional().describe(`${id}: ${where}`),
    screens: z
      .array(z.enum(Object.keys(tasks)))
      .min(1)
      .optional()
      .describe(`${id}: tasks by their names; default: all`),
    seeds: z.int().min(1).max(most).optional().describe(`${id}: seeds of each task and split; default ${SEEDS}`),
    screenshots: z.boolean().optional().describe('screens have a picture, and boxes of their elements; in Chromium'),
  });
}

function pageOf(
  { name, command, path, judge }: ApplicationOptions,
  program: string,
  { begin, solve }: ApplicationTask,
  seed: number,
): Pick<ScreenPage, 'file' | 'app' | 'solve'> {
  const { goal, files, wanted } = begin(seed);
  const module = fileURLToPath(judge);
  return {
    file: '',
    app: { name, command: command(program), files, path, goal, judge: { module, task: wanted } },
    ...(solve && { solve }),
  };
}
