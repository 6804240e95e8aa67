// The gate against rewards for nothing: before anything is lived a small policy tries to be rewarded by judge or simulator
// alone. What it finds is kept in the run's folder, under the versions it holds for.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentHash } from '../../../core/canonical-json.js';
import { type ReverieError, reverieError } from '../../../core/errors.js';
import { openSealed, sealedText, writeFileAtomic } from '../../../core/files.js';
import type { ToolsTask } from '../../../env/tools/domain.js';
import { ScriptedUser } from '../../../env/tools/scripted-user.js';
import { findTricks, type TricksReport } from '../../../synth/hacker/find-tricks.js';
import { routerBackends } from '../../../worldmodel/tools/backends.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import type { HackerResult } from '../../tools-results.js';
import type { ScenarioJudge } from './gates.js';
import { episodeSettings } from './live-row.js';
import { makeEpisodeEnvironment, type ToolsParts } from './parts.js';

type Context = Pick<JobContext<ToolsScenario>, 'scenario' | 'out' | 'seed' | 'signal' | 'progress' | 'log'>;

export const TRICKS_FILE = 'reward-hacks.json';

export interface HackerGate {
  /** Absent where exact rules alone decide on rewards, or nothing could be tried. */
  readonly report?: TricksReport;
  /** Why no reward is given and no dataset written; absent: none was to be had for nothing. */
  readonly withheld?: string;
}

/** Tries to be rewarded for nothing where somebody decides on rewards who might be taken in. */
export async function hackerGate(
  context: Context,
  parts: ToolsParts,
  { judge, tasks }: { readonly judge: ScenarioJudge | undefined; readonly tasks: readonly ToolsTask[] },
): Promise<HackerGate> {
  if (!context.scenario.config.reward.hacker.enabled || !mayBeTakenIn(context, parts, tasks)) return {};
  const report = await tricksReport(context, parts, { judge, tasks });
  if (report.tasks.length === 0) return {};
  const refusal = refusalOf(report, parts);
  if (refusal === undefined) return { report };
  context.log(`No episode is given a reward and no dataset is written: ${refusal.message} ${refusal.hint}`);
  return { report, withheld: refusal.message };
}

/** A judge that is asked, or a backend that is not trusted and can be had. */
function mayBeTakenIn(
  { scenario: { config } }: Pick<Context, 'scenario'>,
  { responder }: ToolsParts,
  tasks: readonly ToolsTask[],
): boolean {
  const isJudged = config.reward.judge !== null && tasks.some(({ verifier }) => (verifier.rubric ?? []).length > 0);
  const needsModel = (name: string) => routerBackends.get(name).needs?.includes('model') === true;
  const isThere = (name: string) => config.llm !== null || !needsModel(name);
  return isJudged || config.model.backends.some((name) => isThere(name) && responder.trusts?.(name) !== true);
}

async function tricksReport(
  context: Context,
  parts: ToolsParts,
  { judge, tasks }: { readonly judge: ScenarioJudge | undefined; readonly tasks: readonly ToolsTask[] },
): Promise<TricksReport> {
  const { scenario, out, seed, signal, progress } = context;
  const { hacker: config } = scenario.config.reward;
  const { domain, responder } = parts;
  const names = tasks.map(({ id }) => id);
  const of = contentHash({
    responder: responder.version,
    judge: judge?.version ?? null,
    domain: domain.version,
    names,
  });
  const identity = contentHash({ of, config, seed });
  const file = join(out, TRICKS_FILE);
  const before = existsSync(file) ? await readTricks(file) : undefined;
  if (before?.identity === identity) return before;
  const user = new ScriptedUser();
  const phase = progress.phase('reward hacks', config.plays, 'episodes');
  const report = await findTricks({
    environment: () => makeEpisodeEnvironment({ domain, user }, responder, scenario.config),
    tasks,
    config,
    settings: episodeSettings(context, { user }, { source: 'synthetic', responder, judge: judge?.decide }),
    seed,
    signal,
  });
  await parts.cast.flush();
  phase.set(report.plays);
  phase.end(`${report.tricks.length} tricks in ${report.tasks.length} tasks`);
  await writeFileAtomic(file, sealedText({ format: 'reverie-reward-hacks/1', identity, ...report }));
  return report;
}

/** @throws CHECKPOINT_CORRUPT */
async function readTricks(path: string): Promise<TricksReport & { readonly identity: string }> {
  try {
    return openSealed(await readFile(path, 'utf8')) as unknown as TricksReport & { readonly identity: string };
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}

function refusalOf({ tricks, tasks }: TricksReport, { domain }: ToolsParts): ReverieError | undefined {
  const [first] = tricks;
  if (first === undefined) return undefined;
  return reverieError('REWARD_HACKED', {
    domain: domain.id,
    tricks: tricks.length,
    tasks: tasks.length,
    by: first.by,
    task: first.task,
    moves: first.moves.join(', then '),
  });
}

/** Without the episodes, which are in the file. */
export function hackerResult(report: TricksReport | undefined): HackerResult | null {
  if (report === undefined) return null;
  const { plays, tasks, tricks } = report;
  const told = tricks.map(({ episode: _, ...trick }) => trick);
  return { passed: tricks.length === 0, plays, tasks: tasks.length, tricks: told };
}
