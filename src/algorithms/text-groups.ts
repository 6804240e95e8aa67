// Agents of text by group-relative policy gradients: imitate walkthroughs, then live groups of episodes that begin alike, in the real
// environment or in a dream made of a few of its episodes, learn from what was better than the rest of its group, and be judged in
// the real environment on tasks that were never trained on.

import { concurrently } from '../core/concurrently.js';
import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/index.js';
import { echoTrap, groupLessons, type TextLesson, type TextUpdateMetrics } from '../rl/index.js';
import { checkDream, FALSE_WINS } from './text-dream-check.js';
import { evaluate, isWon, stepsOf } from './text-evaluation.js';
import { demonstrate, imitate } from './text-imitation.js';
import { drawnBy, driftOf, dropWeights, keepWeights, withDrift } from './text-lag.js';
import { type LivedRound, liveRound, roundRng } from './text-living.js';
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
import { imitateWins } from './text-wins.js';

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
  let ahead: LivedRound | undefined;
  while (progress.round < rounds.length) {
    bar.set(progress.round, noteOf(progress));
    const round = rounds[progress.round];

    await gather(training, rounds);
    if (round.where === 'dream' && progress.checks.length === 0 && settings.checkEpisodes > 0) {
      await checkDream(training);
      await ports.checkpoint(true);
    }
    const { told, next } = await roundLearned(training, rounds, ahead);
    ahead = next;
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

/** The round that is next, in its own way; one in a dream that is shut passes without anything. */
async function roundLearned(
  training: TextTraining,
  rounds: readonly TextRound[],
  ahead: LivedRound | undefined,
): Promise<LearnedRound> {
  const { progress } = training;
  const round = rounds[progress.round];
  if (round.where === 'value') return { told: await learnValues(training) };
  if (round.where === 'dream' && progress.isShut) {
    progress.round += 1;
    return { told: { shut: true } };
  }
  return learnRound(training, rounds, ahead ?? (await liveRound(training, round, progress.round)));
}

interface LearnedRound {
  /** What the event of the round tells. */
  readonly told: Record<string, unknown>;
  /** The round after it, where that was lived meanwhile. */
  readonly next?: LivedRound;
}

/**
 * Learns from a round. With a version lag the next one is drawn by weights that are there already, so it is lived meanwhile, unless its
 * world is made anew before it. Lived later, it would be the same.
 */
async function learnRound(
  training: TextTraining,
  rounds: readonly TextRound[],
  { drawn, groups, valued, forked }: LivedRound,
): Promise<LearnedRound> {
  const { settings, parts, progress } = training;
  const { round: index } = progress;
  const { lessons, silent, filtered } = groupLessons(valued, parts.algorithm, settings);
  const grown = grow(training, drawn, groups);
  const drift = await driftOf(training, lessons);
  keepWeights(training);
  const rng = roundRng(settings.seed, index);
  const learnNow = () =>
    parts.algorithm.imitatesWins
      ? imitateWins(training, groups, rng.split('imitate'))
      : learn(training, lessons, rng.split('learn'));
  const after = rounds[index + 1];
  const isAhead = Boolean(settings.versionLag) && after !== undefined && !after.gathers;
  const { learned, next } = isAhead
    ? await learnAndLive(training, learnNow, (during) => liveRound(during, after, index + 1))
    : { learned: await learnNow(), next: undefined };

  progress.round += 1;
  dropWeights(training);
  count(progress, rounds[index], [...groups, [...forked]]);
  progress.drift = withDrift(progress.drift, drift);
  const lived = { ...livedFigures(groups), ...watch(training, groups), ...grown };
  const left = { groups: groups.length, silentGroups: silent, filteredGroups: filtered, forks: forked.length };
  const lag = settings.versionLag ? { drawnBy: drawnBy(settings, index), ...(drift && { drift }) } : {};
  return { told: { ...lived, ...left, ...learned, ...lag }, ...(next && { next }) };
}

/** Both at once; where one fails, the other has ended, too, when that is told. */
async function learnAndLive(
  training: TextTraining,
  learnNow: () => Promise<Partial<TextUpdateMetrics>>,
  live: (training: TextTraining) => Promise<LivedRound>,
): Promise<{ learned: Partial<TextUpdateMetrics>; next: LivedRound }> {
  const { ports } = training;
  const failed = new AbortController();
  const signal = AbortSignal.any([ports.signal, failed.signal]);
  const done: { learned?: Partial<TextUpdateMetrics>; next?: LivedRound } = {};
  const works = [
    async () => {
      done.learned = await learnNow();
    },
    async () => {
      done.next = await live({ ...training, ports: { ...ports, signal } });
    },
  ];
  await concurrently(
    works,
    works.length,
    (work) => work(),
    () => failed.abort(),
  );
  return { learned: done.learned!, next: done.next! };
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
