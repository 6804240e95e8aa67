// What breaks a training run that no single client notices: many sessions at once, and clients that vanish.

import { concurrently } from '../../core/concurrently.js';
import type { JsonObject } from '../../core/json.js';
import { difference, play, playAlone, randomActions, type Trajectory } from './policies.js';
import { requireRepeatable } from './repeatable.js';
import { startOf, starts } from './starts.js';
import { type Check, CheckFailed, NotChecked, requireWords, type Subject } from './validate-contract.js';
import { vanish } from './vanishing-client.js';

/** Sessions at once: as many as a group of GRPO. */
const SESSIONS = 8;
/** Times they all play; what two threads do to each other shows now and then only. */
const ROUNDS = 3;
/** Clients that vanish: more than a server that takes few sessions has slots, and than a pool of threads has threads. */
const VANISHING = 48;
/** They come in groups, and after each the server is asked for a session. */
const GROUP = 8;
/** Milliseconds after which a slot of a client that is gone counts as lost. */
const RELEASE = 10_000;
const PAUSE = 250;

export const LOAD_CHECKS: readonly Check[] = [
  { name: 'seeds-under-load', run: seedsUnderLoad },
  { name: 'threads', run: threads },
  { name: 'slots', run: slots },
];

/** Everybody plays the same episode at the same time. */
async function seedsUnderLoad(subject: Subject): Promise<string> {
  await requireRepeatable(subject);
  const episode = { reset: startOf(subject), actions: randomActions(subject, 'load') };
  const alone = await playAlone(subject.server, episode.reset, episode.actions);
  await together(
    subject,
    Array.from({ length: SESSIONS }, () => ({ ...episode, alone })),
  );
  const what = subject.server.lacks.seeds === undefined ? 'seed' : 'task';
  return `${SESSIONS} sessions of one ${what} at once, ${ROUNDS} times: all as alone`;
}

/** Everybody plays another episode: what one session leaves lying about, the next one trips over. */
async function threads(subject: Subject): Promise<string> {
  await requireRepeatable(subject);
  const { seed } = subject.options;
  const episodes: Episode[] = [];
  for (let i = 0; i < SESSIONS; i++) {
    // Where there are no seeds, other tasks stand for them.
    const begun =
      subject.server.lacks.seeds === undefined ? startOf(subject) : starts(subject)[i % starts(subject).length];
    const reset = { ...begun, seed: seed + i };
    const actions = randomActions(subject, `thread ${i}`);
    episodes.push({ reset, actions, alone: await playAlone(subject.server, reset, actions) });
  }
  await together(subject, episodes);
  return `${SESSIONS} sessions of other seeds and actions at once, ${ROUNDS} times: each as alone`;
}

/** @throws CheckFailed, NotChecked where the server takes one session at a time */
async function together({ server }: Subject, episodes: readonly Episode[]): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const players = await concurrently(episodes, SESSIONS, () => server.connect());
    try {
      const seen = await concurrently(episodes, SESSIONS, async ({ reset, actions }, i) => {
        try {
          return await play(players[i], reset, actions);
        } catch (error) {
          if (isFull(error)) return undefined;
          throw error;
        }
      });
      requireAsAlone(episodes, seen);
    } finally {
      await Promise.all(players.map((player) => player.close()));
    }
  }
}

interface Episode {
  readonly reset: JsonObject;
  readonly actions: readonly JsonObject[];
  /** How it goes with nobody else there. */
  readonly alone: Trajectory;
}

/** Whom the server had no place for has seen nothing wrong. */
function requireAsAlone(episodes: readonly Episode[], seen: readonly (Trajectory | undefined)[]): void {
  const played = seen.filter((replies) => replies !== undefined).length;
  if (played < 2) throw new NotChecked('the server takes one session at a time');
  for (const [i, replies] of seen.entries()) {
    const problem = replies && difference(episodes[i].alone, replies);
    if (!problem) continue;
    const { seed } = episodes[i].reset;
    throw new CheckFailed(`seed ${seed} beside ${played - 1} other sessions goes otherwise than alone: ${problem}`);
  }
}

/** Clients that are killed in mid-episode leave their places to others. */
async function slots(subject: Subject): Promise<string> {
  requireWords(subject.server, 'slots');
  let gone = 0;
  for (let group = 0; group < VANISHING / GROUP; group++) {
    for (let i = 0; i < GROUP; i++) if (await vanish(subject.server, startOf(subject))) gone++;
    await requirePlace(subject, gone);
  }
  return `${gone} clients vanished in mid-episode, and the next one got a session each time`;
}

async function requirePlace(subject: Subject, gone: number): Promise<void> {
  const until = performance.now() + RELEASE;
  for (;;) {
    try {
      await playAlone(subject.server, startOf(subject), []);
      return;
    } catch (error) {
      if (!(error instanceof CheckFailed)) throw error;
      if (performance.now() > until) {
        const problem = `${gone} clients vanished in mid-episode, and ${RELEASE / 1000} s later there is no session to be had`;
        throw new CheckFailed(`${problem}: ${error.message}`);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

function isFull(error: unknown): boolean {
  return error instanceof CheckFailed && error.message.includes('CAPACITY_REACHED');
}
