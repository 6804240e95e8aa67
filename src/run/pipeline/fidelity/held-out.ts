// Whether what a model is to be judged by was kept from it. Episodes of tools: no family of tasks and no episode, nor one in
// other clothes, of the records that the model answers from. Transitions: none that lies where a model was fitted.

import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ReverieError, reverieError } from '../../../core/errors.js';
import type { ToolsDomain } from '../../../env/index.js';
import { type EpisodeRecord, ReplayBuffer, readEpisodeLogs, type TransitionBatch } from '../../../replay/index.js';
import { gramHashes, wordsOf } from '../../../synth/index.js';
import { readRunRecord } from '../../run-folder.js';
import type { ToolsScenario } from '../../scenario.js';
import { findInput } from '../inputs.js';

/** Words of a run, as benchmarks are decontaminated. */
const WORDS = 8;
/**
 * Share of a user's runs of words from which an episode is one that was seen. Single runs are shared by chance: of 120 recorded
 * airline episodes of τ-bench, held against those of all other tasks, half share some, and none more than 26 %.
 */
const ALIKE = 0.5;
/** Runs below which a share says nothing. */
const LEAST_RUNS = 5;
/** What episodes of so many families say is the domain's manner of speaking, and leaks nothing. */
const MANNER_FAMILIES = 2;
/** Families that an error names. */
const NAMED = 5;

/**
 * Refuses episodes that are like what the scenario's model answers from (`experience.logs`).
 *
 * @param path of the episodes, for the message
 * @throws FIDELITY_HELD_OUT_SEEN naming the families, LOG_INVALID
 */
export async function refuseSeenEpisodes(
  path: string,
  episodes: readonly EpisodeRecord[],
  { config, folder }: ToolsScenario,
  domain: ToolsDomain,
): Promise<void> {
  const trained: EpisodeRecord[] = [];
  for (const log of config.experience.logs) {
    const options = { domain, scenario: config.name, tolerant: config.experience.tolerant };
    trained.push(...(await readEpisodeLogs(resolve(folder, log), options)).episodes);
  }
  const overlap = episodeOverlap(episodes, trained);
  if (overlap !== undefined) throw reverieError('FIDELITY_HELD_OUT_SEEN', { path, overlap });
}

/** What both have, in words; undefined where they have nothing in common. */
export function episodeOverlap(
  heldOut: readonly EpisodeRecord[],
  trained: readonly EpisodeRecord[],
): string | undefined {
  const families = new Set(trained.map(({ family }) => family).filter((family) => family !== ''));
  const shared = heldOut.map(({ family }) => family).filter((family) => families.has(family));
  if (shared.length > 0) return `families of tasks: ${namesOf(shared)}`;
  const ids = new Set(trained.map(({ id }) => id));
  const same = heldOut.filter(({ id }) => ids.has(id));
  if (same.length > 0) return `${same.length} of the same episodes`;
  const grams = ownGrams(trained);
  const alike = heldOut.filter((episode) => {
    const own = gramsOf(episode);
    const known = own.filter((gram) => grams.has(gram)).length;
    return known >= LEAST_RUNS && known >= ALIKE * own.length;
  });
  return alike.length === 0
    ? undefined
    : `users say the same in ${alike.length} episodes of: ${namesOf(alike.map(({ family }) => family))}`;
}

function namesOf(names: readonly string[]): string {
  const all = [...new Set(names)].sort();
  const more = all.length - NAMED;
  return `${all.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Runs of words of users that a single family has. */
function ownGrams(episodes: readonly EpisodeRecord[]): Set<number> {
  const users = new Map<number, Set<string>>();
  for (const episode of episodes) {
    for (const gram of gramsOf(episode)) users.set(gram, (users.get(gram) ?? new Set()).add(episode.family));
  }
  return new Set([...users].filter(([, families]) => families.size < MANNER_FAMILIES).map(([gram]) => gram));
}

/** What the agent says and the tools answer is alike in all episodes; what the user wants is not. */
function gramsOf({ messages }: EpisodeRecord): number[] {
  return messages.flatMap((message) => {
    const words = message.role === 'user' ? wordsOf(message.content) : [];
    return words.length < WORDS ? [] : gramHashes(words, WORDS);
  });
}

/**
 * Folders of transitions that a model was made from, as far as runs say: those that lie beside it, those its run was given,
 * and those of the model that it goes on from.
 *
 * @param model a world model's folder, or a run that holds one
 */
export function trainingFolders(model: string, known: ReadonlySet<string> = new Set()): string[] {
  const folder = resolve(model);
  if (known.has(folder) || !existsSync(folder)) return [];
  const seen = new Set([...known, folder]);
  const run = [folder, dirname(folder)].find((place) => readRunRecord(place) !== undefined) ?? folder;
  const { data, model: earlier } = readRunRecord(run)?.inputs ?? {};
  const named = data !== undefined && existsSync(data) ? transitionsIn(data) : [];
  const before = earlier === undefined ? [] : trainingFolders(earlier, seen);
  return [...new Set([...transitionsIn(run), ...named, ...before])];
}

function transitionsIn(folder: string): string[] {
  try {
    const found = findInput({ data: folder }, 'data');
    return found === undefined ? [] : [resolve(found)];
  } catch (error) {
    // A model need not lie where transitions do.
    if (error instanceof ReverieError && error.code === 'INPUT_MISSING') return [];
    throw error;
  }
}

/**
 * How many of the rows lie, to the bit, in one of the folders.
 *
 * @param rows float rows: observations and actions as wide as the batch says
 * @throws CHECKPOINT_CORRUPT
 */
export async function seenRows(rows: TransitionBatch, folders: readonly string[]): Promise<number> {
  const known = new Set<string>();
  for (const folder of folders) {
    const theirs = (await ReplayBuffer.load(folder)).rows();
    for (let row = 0; row < theirs.rows; row++) known.add(rowKey(theirs, row));
  }
  let seen = 0;
  for (let row = 0; row < rows.rows; row++) if (known.has(rowKey(rows, row))) seen++;
  return seen;
}

function rowKey({ rows, obs, action, nextObs }: TransitionBatch, row: number): string {
  return [obs, action, nextObs]
    .map((values) => {
      const width = values.length / rows;
      return values.subarray(row * width, (row + 1) * width).join();
    })
    .join(';');
}
