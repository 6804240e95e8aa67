// Real episodes that the dream of a training is made of, a file for each time that any were gathered and one of those that were
// imitated, so that a run that goes on has them all.
//
//   records/000.jsonl              EpisodeRecord, a line each
//   records/demonstrations.jsonl   the same

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { NO_COST } from '../../../core/cost.js';
import { reverieError } from '../../../core/errors.js';
import { ensureFolder, writeFileAtomic } from '../../../core/files.js';
import { Rng } from '../../../core/rng.js';
import { applyOperations } from '../../../env/state/operations.js';
import { stateHash } from '../../../env/state/state.js';
import type { ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { realResponder } from '../../../env/tools/rules-responder.js';
import { initialStateOf } from '../../../env/tools/situation.js';
import type { ToolsPolicy } from '../../../env/tools/tools-family.js';
import type { EpisodeRecord, EpisodeStep, ExperienceStep } from '../../../replay/experience/experience.js';
import { episodeSteps, statesOf } from '../../../replay/experience/steps.js';
import { type EndedRun, episodeRecord, planRow } from '../../../synth/episodes/run-episode.js';
import type { PlayedText } from '../../../training/text-play.js';
import type { JobContext } from '../../job.js';
import type { ToolsScenario } from '../../scenario.js';
import { episodeSettings, liveRowHere } from './live-row.js';
import type { ToolsParts } from './parts.js';

/** What walkthroughs are lived with. */
const DEMONSTRATION_SEED = 0;

export interface GatherRequest {
  readonly context: JobContext<ToolsScenario>;
  readonly parts: ToolsParts;
  readonly agent: ToolsPolicy;
  readonly tasks: readonly ToolsTask[];
  readonly episodes: number;
  /** Counts from 0. */
  readonly time: number;
}

/** Lives and keeps the episodes of one time; tasks come in an order of their own, all of them before any comes again. */
export async function gatherRecords(request: GatherRequest): Promise<EpisodeRecord[]> {
  const { context, parts, agent, tasks, episodes, time } = request;
  const { scenario, signal } = context;
  const root = Rng.fromSeed(context.seed).split('gather');
  const order = root.permutation(tasks.length);
  const live = liveRowHere(context, { ...parts, agent }, { source: 'real', responder: realResponder(parts.domain) });
  const phase = context.progress.phase('gather', episodes, 'real episodes');
  const records: EpisodeRecord[] = [];
  for (let row = time * episodes; row < (time + 1) * episodes; row++) {
    signal.throwIfAborted();
    const plan = planRow(row, { seed: root.split('rows').uint32(), groupSize: 1, branchAt: 0 });
    const task = tasks[order[row % tasks.length]];
    records.push(await live({ plan, task, maxSteps: scenario.config.synth.maxSteps }, signal));
    phase.advance(1);
  }
  phase.end();
  await keep(fileOf(context.out, time), records);
  return records;
}

/** Keeps the episodes that were imitated, as records of the same form. */
export async function keepDemonstrations(
  { context, parts }: Pick<GatherRequest, 'context' | 'parts'>,
  shown: readonly PlayedText[],
): Promise<EpisodeRecord[]> {
  const responder = realResponder(parts.domain);
  const settings = episodeSettings(context, parts, { source: 'real', responder });
  const seed = Rng.fromSeed(context.seed).split('demonstrations').uint32();
  const records = shown.map((played, row) => {
    const plan = { ...planRow(row, { seed, groupSize: 1, branchAt: 0 }), envSeed: DEMONSTRATION_SEED };
    const task = parts.domain.tasks.find(({ id }) => id === played.task)!;
    return episodeRecord(livedOf(played, parts.domain, task), task, plan, { ...settings, seed });
  });
  await keep(demonstrationsOf(context.out), records);
  return records;
}

/** What was imitated, in the form of what agents live. */
function livedOf({ steps, messages }: PlayedText, domain: ToolsDomain, task: ToolsTask): EndedRun {
  const said = messages.flatMap((message, i) => (message.role === 'assistant' ? [{ ...message, at: i }] : []));
  const turns = said.slice(-steps.length);
  let state = initialStateOf(domain, task);
  const kept = steps.map(({ reward, info: { predictions } }, i): EpisodeStep => {
    const { at: message, role: _role, ...action } = turns[i];
    for (const { operations } of predictions) state = applyOperations(state, operations);
    return { message, action, predictions, reward, stateHash: stateHash(state) };
  });
  const verdict = steps.at(-1)!.info.verdict;
  return {
    messages,
    steps: kept,
    terminated: verdict !== undefined,
    truncated: false,
    verdict: verdict ?? { reward: null, checks: [] },
    policyVersion: 'demonstrated',
    cost: NO_COST,
  };
}

async function keep(file: string, records: readonly EpisodeRecord[]): Promise<void> {
  await ensureFolder(dirname(file));
  await writeFileAtomic(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}

/** @throws CHECKPOINT_CORRUPT where the run's own file is gone or damaged */
export function keptRecords(out: string, time: number): Promise<EpisodeRecord[]> {
  return read(fileOf(out, time));
}

/** None where nothing was imitated. @throws CHECKPOINT_CORRUPT where the run's own file is damaged */
export async function keptDemonstrations(out: string): Promise<EpisodeRecord[]> {
  const path = demonstrationsOf(out);
  return existsSync(path) ? read(path) : [];
}

async function read(path: string): Promise<EpisodeRecord[]> {
  if (!existsSync(path)) throw reverieError('CHECKPOINT_CORRUPT', { path, problem: 'records of the run are missing' });
  try {
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
    return lines.map((line) => JSON.parse(line) as EpisodeRecord);
  } catch (error) {
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem: (error as Error).message }, error);
  }
}

/** Every so many episodes one is held out, those of each time alike. */
export function splitRecords(
  records: readonly EpisodeRecord[],
  share: number,
): { used: EpisodeRecord[]; heldOut: EpisodeRecord[] } {
  const isHeldOut = (_: EpisodeRecord, i: number) => Math.floor((i + 1) * share) > Math.floor(i * share);
  return { used: records.filter((record, i) => !isHeldOut(record, i)), heldOut: records.filter(isHeldOut) };
}

/** Steps as the store of experience has real ones: of no row of a job, and by no model. */
export function realSteps(domain: ToolsDomain, records: readonly EpisodeRecord[]): ExperienceStep[] {
  return records.flatMap((record) => {
    const task = domain.tasks.find(({ id }) => id === record.task)!;
    const states = statesOf(record, stateHash(initialStateOf(domain, task)));
    return episodeSteps(record, states).map((step) => ({ ...step, row: -1, modelVersion: '' }));
  });
}

function demonstrationsOf(out: string): string {
  return join(out, 'records', 'demonstrations.jsonl');
}

function fileOf(out: string, time: number): string {
  return join(out, 'records', `${String(time).padStart(3, '0')}.jsonl`);
}
