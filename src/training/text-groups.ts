// Agents of text by group-relative policy gradients: imitate walkthroughs, then live groups of episodes that begin alike, in the real
// environment or in a dream made of a few of its episodes, learn from what was better than the rest of its group, and be judged in
// the real environment on tasks that were never trained on.

import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/tools/domain.js';
import { echoTrap } from '../rl/group/echo-trap.js';
import { groupLessons } from '../rl/group/group-lessons.js';
import type { TextLesson, TextUpdateMetrics } from '../rl/text/text-policy.js';
import { checkDream, FALSE_WINS } from './text-dream-check.js';
import { evaluate, isWon, stepsOf } from './text-evaluation.js';
import { demonstrate, imitate } from './text-imitation.js';
import { liveRound, roundRng } from './text-living.js';
import { type PlayedText, whoAnswered } from './text-play.js';
import { countGrown, familiesWithin, grownDeficits } from './text-tasks.js';
import {
  countersOf,
  raiseAlarm,
  roundsOf,
  type TextProgress,
  type TextRound,
  type TextTraining,
} from './text-training.js';
import { valuedRound } from './text-values.js';
import { watchedRound } from './text-watch.js';

/** Of those of a round, in its event. */
const TOLD_DEFICITS = 5;

/** @throws what environments, models and learners throw, and what ends a run at a checkpoint */
export async function textGroups(training: TextTraining): Promise<void> {
  const { settings, parts, progress, ports } = training;

  if (!progress.cloned) {
    const rng = Rng.fromSeed(settings.seed).split('text-groups').split('clone');
    const demonstrated = await demonstrate(training, rng);
    parts.learner.prepare?.(demonstrated.shown.flatMap(({ steps }) => steps.map(({ situation }) => situation)));
    await evaluate(training, 'nothing');
    if (settings.clone.tasks > 0) {
      await imitate(training, demonstrated, rng);
      await evaluate(training, 'cloning');
    }
    // What was imitated is what a KL penalty holds on to.
    parts.learner.anchor();
    progress.cloned = true;
    await ports.checkpoint();
  }

  const rounds = roundsOf(settings);
  const bar = ports.phase('rounds', rounds.length, 'rounds');
  while (progress.round < rounds.length) {
    bar.set(progress.round, noteOf(progress));
    const round = rounds[progress.round];

    await gather(training, rounds);
    if (round.where === 'dream' && progress.checks.length === 0 && settings.checkEpisodes > 0) {
      await checkDream(training);
      await ports.checkpoint(true);
    }
    const told = await roundLearned(training, round);
    ports.tell({ kind: 'update', ...countersOf(progress), where: round.where, ...told });
    if (progress.round % settings.evalEvery === 0 || progress.round === rounds.length) {
      await evaluate(training, 'rounds');
      if (round.where === 'dream') await checkDream(training);
    }
    await ports.checkpoint();
  }
  bar.set(progress.round);
  bar.end(noteOf(progress));
}

/** The round that is next, in its own way; one in a dream that is shut passes without anything. Answers what its event tells. */
async function roundLearned(training: TextTraining, round: TextRound): Promise<Record<string, unknown>> {
  const { settings, parts, progress } = training;
  if (round.where === 'value') return learnValues(training);
  const { round: index } = progress;
  if (round.where === 'dream' && progress.isShut) {
    progress.round += 1;
    return { shut: true };
  }
  const { drawn, groups } = await liveRound(training, round, index);
  const { lessons, silent, filtered } = groupLessons(groups, parts.algorithm, settings);
  const grown = grow(training, drawn, groups);
  const learned = await learn(training, lessons, roundRng(settings.seed, index).split('learn'));

  progress.round += 1;
  count(progress, round, groups);
  const left = { groups: groups.length, silentGroups: silent, filteredGroups: filtered };
  return { ...livedFigures(groups), ...watch(training, groups), ...grown, ...left, ...learned };
}

/** Learns a round from what the value model says of choices in recorded situations. */
async function learnValues(training: TextTraining): Promise<Record<string, unknown>> {
  const { settings, progress } = training;
  const rng = roundRng(settings.seed, progress.round);
  const { lessons, figures, choices } = await valuedRound(training, rng);
  const learned = await learn(training, lessons, rng.split('learn'));
  progress.round += 1;
  progress.valuedChoices = (progress.valuedChoices ?? 0) + choices;
  return { ...figures, ...learned };
}

/** Where the round begins with it, unless an earlier process of the run has done it. */
async function gather({ parts, progress, ports }: TextTraining, rounds: readonly TextRound[]): Promise<void> {
  const wanted = rounds.slice(0, progress.round + 1).filter(({ gathers }) => gathers).length;
  const maker = parts.values ?? parts.dream;
  if (maker?.gather === undefined || wanted === progress.gathered.length) return;
  const time = progress.gathered.length;
  const gathered = await maker.gather(time);
  progress.gathered.push(gathered);
  progress.isShut = false;
  progress.realSteps += gathered.steps;
  ports.tell({ kind: 'gather', ...countersOf(progress), time, ...gathered });
  await ports.checkpoint(true);
}

async function learn(
  { settings, parts }: TextTraining,
  lessons: readonly TextLesson[],
  rng: Rng,
): Promise<Partial<TextUpdateMetrics>> {
  if (lessons.length === 0) return {};
  let metrics: TextUpdateMetrics | undefined;
  for (let epoch = 0; epoch < settings.epochs; epoch++) {
    const order = rng.split(epoch).permutation(lessons.length);
    metrics = await parts.learner.update(lessons, { lr: settings.lr, order });
  }
  return { ...metrics };
}

function count(progress: TextProgress, { where }: TextRound, groups: readonly PlayedText[][]): void {
  const steps = stepsOf(groups);
  if (where === 'real') {
    progress.realSteps += steps;
    return;
  }
  progress.dreamtSteps += steps;
  const { answeredBy } = progress;
  for (const step of groups.flat().flatMap((episode) => episode.steps)) {
    const who = whoAnswered(step);
    answeredBy[who] = (answeredBy[who] ?? 0) + 1;
  }
}

/** Where tasks are taken by what the policy can do: what it came to on these, and how many families are within the band now. */
function grow(
  { settings, parts, progress }: TextTraining,
  drawn: readonly ToolsTask[],
  groups: readonly PlayedText[][],
): Record<string, unknown> {
  if (settings.grow === undefined) return {};
  const won = groups.map((group) => group.map((episode) => (isWon(episode) ? 1 : 0)));
  countGrown(progress.grown, settings.grow, drawn, won, groups);
  const within = { familiesWithin: familiesWithin(parts.tasks, settings.grow, progress.grown).length };
  if (!settings.grow.deficits) return within;
  return { ...within, deficits: Object.fromEntries(grownDeficits(progress.grown).slice(0, TOLD_DEFICITS)) };
}

function livedFigures(groups: readonly PlayedText[][]): Record<string, number> {
  const episodes = groups.flat();
  return {
    episodes: episodes.length,
    wins: episodes.filter(isWon).length,
    meanLength: stepsOf(groups) / episodes.length,
  };
}

/** Keeps an eye on the round, and says once when the agent has fallen into the echo trap. */
function watch({ progress, ports }: TextTraining, groups: readonly PlayedText[][]): Record<string, number> {
  const round = watchedRound(groups);
  progress.watched.push(round);
  const isTold = progress.alarms.some(({ problem }) => !problem.startsWith(FALSE_WINS));
  const problem = isTold ? undefined : echoTrap(progress.watched);
  if (problem !== undefined) raiseAlarm(progress, ports, problem);
  return { livedEntropy: round.entropy, groupSpread: round.spread, repetition: round.repetition };
}

function noteOf({ evaluations }: TextProgress): string {
  const last = evaluations.at(-1);
  return last === undefined ? '' : `${last.wins} of ${last.episodes} won`;
}
