// An agent of text that imitates its own wins: rounds are lived to find some, and every so many rounds the shortest win of each task so far
// is imitated beside the walkthroughs (ReST-EM, Singh et al. 2023, 2312.06585: generate, keep what was rewarded, fine-tune; expert
// iteration, Anthony et al. 2017). In a dream the search costs no real step. Whoever wins one episode of eight teaches itself that one.

import type { Rng } from '../core/rng.js';
import type { TextUpdateMetrics } from '../rl/index.js';
import { isWon } from './text-evaluation.js';
import { passes } from './text-imitation.js';
import type { PlayedText } from './text-play.js';
import { roundsOf, type TextTraining } from './text-training.js';
import { DEMONSTRATIONS, lessonsOf, type WonText, wonText } from './text-won.js';

/** Keeps what the round won and, where it is time, imitates all that there is. */
export async function imitateWins(
  training: TextTraining,
  groups: readonly (readonly PlayedText[])[],
  rng: Rng,
): Promise<Partial<TextUpdateMetrics> & { readonly imitated?: number }> {
  const { settings, progress, ports } = training;
  const { round } = progress;
  const won = groups.flatMap((group) => group.filter((episode) => isWon(episode) && episode.steps.length > 0));
  await ports.wins.keep(String(round), shortest(won.map(wonText)));
  const isTime = (round + 1) % settings.restEvery === 0 || round + 1 === roundsOf(settings).length;
  if (!isTime) return {};
  const names = Array.from({ length: round + 1 }, (_, i) => String(i));
  const shown = await ports.wins.kept([DEMONSTRATIONS]);
  const own = shortest(await ports.wins.kept(names));
  const lessons = [...shown, ...own].flatMap(lessonsOf);
  ports.tell({ kind: 'imitate', round, demonstrations: shown.length, tasksWon: own.length });
  const learned = await passes(training, lessons, rng, round);
  return { ...learned, imitated: own.length };
}

/** Of each task the shortest, the first of these; in the order in which tasks were won first. */
function shortest(won: readonly WonText[]): WonText[] {
  const best = new Map<string, WonText>();
  for (const one of won) {
    const known = best.get(one.task);
    if (known === undefined || one.steps.length < known.steps.length) best.set(one.task, one);
  }
  return [...best.values()];
}
