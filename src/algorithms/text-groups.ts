// Agents of text by group-relative policy gradients: imitate walkthroughs, then live groups of episodes that begin alike, in the real
// environment or in a dream made of a few of its episodes, learn from what was better than the rest of its group, and be judged in
// the real environment on tasks that were never trained on.

import { Rng } from '../core/rng.js';
import type { ToolsTask } from '../env/index.js';
import { echoTrap, groupLessons, type TextLesson, type TextUpdateMetrics } from '../rl/index.js';
import { checkDream } from './text-dream-check.js';
import { evaluate, isWon, stepsOf } from './text-evaluation.js';
import { forkGroups } from './text-forks.js';
import { demonstrate, imitate } from './text-imitation.js';
import { livedOf, type PlayedText, type PlayOptions, playTexts, type TextStart, whoAnswered } from './text-play.js';
import { countGrown, familiesWithin, grownDeficits, tasksOfRound } from './text-tasks.js';
import {
  countersOf,
  roundsOf,
  type TextProgress,
  type TextRound,
  type TextTraining,
  tellLost,
} from './text-training.js';
import { valuedRound } from './text-values.js';
import { watchedRound } from './text-watch.js';
import { imitateWins } from './text-wins.js';

/** Of those of a round, in its event. */
const TOLD_DEFICITS = 5;

/** @throws what environments, models and learners throw, and what ends a run at a checkpoint */
export async function textGroups(training: TextTraining): Promise<void> {
  const { settings, parts, progress, ports } = training;
  const root = Rng.fromSeed(settings.seed).split('text-groups');

  if (!progress.cloned) {
    const demonstrated = await demonstrate(training, root.split('clone'));
    parts.learner.prepare?.(demonstrated.shown.flatMap(({ steps }) => steps.map(({ situation }) => situation)));
    await evaluate(training, 'nothing');
    if (settings.clone.tasks > 0) {
      await imitate(training, demonstrated, root.split('clone'));
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
    const rng = root.split('round', progress.round);

    await gather(training, rounds);
    if (round.where === 'dream' && progress.checks.length === 0 && settings.checkEpisodes > 0) {
      await checkDream(training);
      await ports.checkpoint(true);
    }
    const told = round.where === 'value' ? await learnValues(training, rng) : await liveRound(training, round, rng);
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

/** Lives a round and learns from it; what the event of the round tells. */
async function liveRound(training: TextTraining, round: TextRound, rng: Rng): Promise<Record<string, unknown>> {
  const { settings, parts, progress } = training;
  const drawn = tasksOfRound({ ...settings, tasks: parts.tasks, round: progress.round, grown: progress.grown });
  const groups = await liveGroups(training, round, drawn, rng);
  const { valued, forked } = await fork(training, round, groups, rng);
  const { lessons, silent, filtered } = groupLessons(valued, parts.algorithm, settings);
  const learned = parts.algorithm.imitatesWins
    ? await imitateWins(training, groups, rng.split('imitate'))
    : await learn(training, lessons, rng.split('learn'));

  progress.round += 1;
  count(progress, round, [...groups, [...forked]]);
  const grown = grow(training, drawn, groups);
  const lived = { ...livedFigures(groups), ...watch(training, groups), ...grown };
  const left = { groups: groups.length, silentGroups: silent, filteredGroups: filtered, forks: forked.length };
  return { ...lived, ...left, ...learned };
}

/** Learns a round from what the value model says of choices in recorded situations. */
async function learnValues(training: TextTraining, rng: Rng): Promise<Record<string, unknown>> {
  const { progress } = training;
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
  progress.realSteps += gathered.steps;
  ports.tell({ kind: 'gather', ...countersOf(progress), time, ...gathered });
  await ports.checkpoint(true);
}

/** `groupSize` episodes from the same start, for each task of the round; fewer where some were lost. */
async function liveGroups(
  { settings, parts, ports }: TextTraining,
  { where }: TextRound,
  tasks: readonly ToolsTask[],
  rng: Rng,
): Promise<PlayedText[][]> {
  const { groupSize } = settings;
  const starts = tasks.flatMap((task, g): TextStart[] => {
    const seed = rng.split('start', g).uint32();
    return Array.from({ length: groupSize }, (_, e) => ({ task: task.id, seed, rng: rng.split('choices', g, e) }));
  });
  const phase = ports.phase(where === 'real' ? 'live' : 'dream', starts.length, 'episodes');
  const played = await playTexts(parts.learner.policy, starts, {
    ...(await playing({ settings, parts, ports }, where)),
    snapshots: parts.algorithm.livesForks === true,
    onEpisode: () => phase.advance(1),
  });
  phase.end();
  tellLost(ports, played);
  return tasks.map((_, g) => livedOf(played.slice(g * groupSize, (g + 1) * groupSize)));
}

/** How episodes of the round are lived. */
async function playing(
  { settings, parts, ports }: Pick<TextTraining, 'settings' | 'parts' | 'ports'>,
  where: TextRound['where'],
): Promise<PlayOptions> {
  return {
    environments: where === 'real' ? parts.environments : await parts.dream!.environments(),
    signal: ports.signal,
    shaping: { weight: settings.progressWeight, gamma: settings.gamma },
    rewards: settings.rewards,
  };
}

/** Where the learner asks for it, what came of living on from the steps of the groups. */
async function fork(
  training: TextTraining,
  { where }: TextRound,
  groups: PlayedText[][],
  rng: Rng,
): Promise<{ valued: PlayedText[][]; forked: readonly PlayedText[] }> {
  const { settings, parts, ports } = training;
  if (!parts.algorithm.livesForks) return { valued: groups, forked: [] };
  const phase = ports.phase('live on from steps', null, 'episodes');
  const { groups: valued, lived } = await forkGroups(parts.learner.policy, groups, rng.split('forks'), {
    ...(await playing(training, where)),
    ...{ forks: settings.forks, gamma: settings.gamma },
    onEpisode: () => phase.advance(1),
  });
  phase.end();
  return { valued, forked: livedOf(lived) };
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
  const problem = progress.alarms.length === 0 ? echoTrap(progress.watched) : undefined;
  if (problem !== undefined) {
    progress.alarms.push({ round: progress.round, problem });
    ports.warn(`Round ${progress.round}, ${problem}.`);
    ports.tell({ kind: 'alarm', ...countersOf(progress), problem });
  }
  return { livedEntropy: round.entropy, groupSpread: round.spread, repetition: round.repetition };
}

function noteOf({ evaluations }: TextProgress): string {
  const last = evaluations.at(-1);
  return last === undefined ? '' : `${last.wins} of ${last.episodes} won`;
}
