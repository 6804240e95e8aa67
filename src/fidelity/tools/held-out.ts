// Whether episodes that a model is to be judged by were kept from it: no family of tasks and no episode, nor one in other words,
// is among the records that the model answers from.

import { resolve } from 'node:path';
import { reverieError } from '../../core/errors.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { ToolsScenario } from '../../kinds/tools.js';
import type { EpisodeRecord } from '../../replay/experience/experience.js';
import { readEpisodeLogs } from '../../replay/experience/logs/read-episode-logs.js';
import { gramHashes, wordsOf } from '../../synth/quality/overlap-filters.js';

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
 * @throws INPUT_INVALID naming the families, LOG_INVALID
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
  if (overlap !== undefined)
    throw reverieError('INPUT_INVALID', {
      problem: `"${path}" is not held out: the model was made from what it holds (${overlap}).`,
      hint: 'Judge by records that the model never saw: other families of tasks, other episodes; or leave --held-out away and take the result as one on training data.',
    });
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
