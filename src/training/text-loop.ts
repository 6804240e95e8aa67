// Agents of text by group-relative policy gradients: imitate walkthroughs, then play groups of episodes that begin alike, in the real
// environment or in a dream made of a few of its episodes, learn from what was better than the rest of its group, and be judged in
// the real environment on tasks that were never trained on.

import { Rng } from '../core/rng.js';
import { wilson } from '../core/statistics.js';
import type { ToolsTask } from '../env/tools/domain.js';
import type { LineEnvironment } from '../env/tools/text-environment.js';
import { groupLessons, type PlayedEpisode } from '../rl/group-estimators.js';
import type { TextUpdateMetrics } from '../rl/text/text-learner.js';
import type { TextLesson } from '../rl/text/text-policy.js';
import { demonstrate, imitate } from './text-imitation.js';
import {
  isFailedByOthers,
  isWon,
  livedOf,
  type PlayedText,
  playedOrLost,
  playTexts,
  saidIn,
  stepsOf,
  type TextStart,
  type TextStep,
  whoAnswered,
} from './text-play.js';
import { countGrown, familiesWithin, tasksOfRound } from './text-tasks.js';
import {
  countersOf,
  type DreamCheck,
  evenly,
  raiseAlarm,
  roundsOf,
  type TextEvaluation,
  type TextProgress,
  type TextRound,
  type TextTraining,
  tellLost,
  type WayApart,
} from './text-training.js';

/** @throws what environments, models and learners throw, and what ends a run at a checkpoint */
export async function textGroups(training: TextTraining): Promise<void> {
  const { settings, parts, progress, ports } = training;

  if (!progress.cloned) {
    const rng = Rng.fromSeed(settings.seed).split('text-groups').split('clone');
    const demonstrated = await demonstrate(training, rng);
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
  const { drawn, groups } = await playedRound(training, round, index);
  const { lessons, silent } = groupLessons(groups, parts.algorithm, settings);
  const grown = grow(training, drawn, groups);
  const learned = await learn(training, lessons, roundRng(settings.seed, index).split('learn'));

  progress.round += 1;
  count(progress, round, groups);
  const left = { groups: groups.length, silentGroups: silent };
  return { ...figuresOf(groups), ...grown, ...left, ...learned };
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
  progress.simulatedSteps += steps;
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
  countGrown(progress.grown, settings.grow, drawn, won);
  return { familiesWithin: familiesWithin(parts.tasks, settings.grow, progress.grown).length };
}

function figuresOf(groups: readonly PlayedText[][]): Record<string, number> {
  const episodes = groups.flat();
  const steps = episodes.flatMap((episode) => episode.steps);
  return {
    livedEntropy: mean(steps.map(({ entropy }) => entropy)),
    episodes: episodes.length,
    wins: episodes.filter(isWon).length,
    meanLength: steps.length / episodes.length,
  };
}

function noteOf({ evaluations }: TextProgress): string {
  const last = evaluations.at(-1);
  return last === undefined ? '' : `${last.wins} of ${last.episodes} won`;
}

/** The stream of a round. */
function roundRng(seed: number, round: number): Rng {
  return Rng.fromSeed(seed).split('text-groups').split('round', round);
}

/** Attempts at an episode of a group that fails without the policy's fault. */
const ATTEMPTS = 3;

/**
 * By task of the round `groupSize` episodes from the same start; fewer where some failed by nothing that the policy did, however
 * often their place was filled by another attempt.
 * @param index of the round, from 0
 */
async function playedRound(
  { settings, parts, progress, ports }: TextTraining,
  { where }: TextRound,
  index: number,
): Promise<{ drawn: readonly ToolsTask[]; groups: PlayedText[][] }> {
  const rng = roundRng(settings.seed, index);
  const drawn = tasksOfRound({ ...settings, tasks: parts.tasks, round: index, grown: progress.grown });
  const { groupSize } = settings;
  const starts = drawn.flatMap((task, g): TextStart[] => {
    const seed = rng.split('start', g).uint32();
    return Array.from({ length: groupSize }, (_, e) => ({ task: task.id, seed, rng: rng.split('choices', g, e) }));
  });
  const phase = ports.phase(where === 'real' ? 'live' : 'dream', starts.length, 'episodes');
  const environments = where === 'real' ? parts.environments : await parts.dream!.environments();
  const options = { environments, signal: ports.signal, rewards: settings.rewards };
  const { policy } = parts.learner;
  const played = await playTexts(policy, starts, { ...options, onEpisode: () => phase.advance(1) });
  for (let attempt = 2; attempt <= ATTEMPTS; attempt++) {
    const open = [...played.keys()].filter((i) => isFailedByOthers(played[i]));
    const again = open.map((i) => ({ ...starts[i], rng: rng.split('attempt', attempt, i) }));
    const filled = await playTexts(policy, again, { ...options, isRest: true });
    for (const [k, i] of open.entries()) played[i] = filled[k];
  }
  phase.end();
  tellLost(ports, played);
  return { drawn, groups: drawn.map((_, g) => livedOf(played.slice(g * groupSize, (g + 1) * groupSize))) };
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / Math.max(values.length, 1);
}

/** The same starts and streams each time, so that evaluations differ by the policy alone. */
async function evaluate(
  { settings, parts, progress, ports }: TextTraining,
  after: TextEvaluation['after'],
): Promise<void> {
  const { evalTasks, evalEnvironments: environments, learner } = parts;
  const rng = Rng.fromSeed(settings.seed).split('text-evaluation');
  const starts = evalTasks.map((task, i): TextStart => {
    const seed = rng.split('start', i).uint32();
    return { task: task.id, seed, ...(settings.evalChoice === 'sample' && { rng: rng.split('choices', i) }) };
  });
  const phase = ports.phase('evaluate', starts.length, 'episodes');
  const onEpisode = () => phase.advance(1);
  const all = await playTexts(learner.policy, starts, { environments, signal: ports.signal, onEpisode });
  tellLost(ports, all);
  const played = livedOf(all);
  const { round, realSteps, simulatedSteps } = progress;
  const wins = played.filter(isWon).length;
  const meanLength = stepsOf([played]) / played.length;
  const rewards = rewardsOf(all);
  const evaluation = { after, round, realSteps, simulatedSteps, episodes: played.length, wins, meanLength, rewards };
  progress.evaluations.push(evaluation);
  phase.end(`${wins} of ${played.length} won`);
  const { rewards: _, ...figures } = evaluation;
  ports.tell({ kind: 'eval', ...countersOf(progress), ...figures });
}

function rewardsOf(played: readonly PlayedText[]): (number | null)[] {
  return played.map(({ reward, lost }) => (lost === undefined ? reward : null));
}

// Rounds of a value model alone (VEM): in recorded situations, the policy of the moment draws choices, and the model says what each is
// worth. No environment is stepped, and nothing is said of what would be seen next. A situation with its draws is a group of episodes of
// one step, so that the estimators are the same.

/** Of a round, unless given. */
const SITUATIONS = 64;

/** Learns a round from what the value model says of choices in recorded situations. */
async function learnValues(training: TextTraining): Promise<Record<string, unknown>> {
  const { settings, parts, progress } = training;
  const { groupSize, situationsPerRound = SITUATIONS } = settings;
  const rng = roundRng(settings.seed, progress.round);
  const all = await parts.values!.situations();
  const drawn = rng.split('situations').permutation(all.length).slice(0, situationsPerRound);
  const situations = Array.from(drawn, (i) => all[i]);
  const choices = rng.split('choices');
  const asked = situations.flatMap((situation) => Array.from({ length: groupSize }, () => situation));
  const draws = asked.map((_, i) => choices.split(i).uniform());
  const decisions = await parts.learner.policy.decide(asked, draws);
  const values = await parts.values!.values(situations);
  const groups = situations.map((situation, g) =>
    decisions.slice(g * groupSize, (g + 1) * groupSize).map((decision): PlayedEpisode => {
      const reward = values[g][decision.choice];
      return { steps: [{ ...decision, situation, state: String(g), reward }], reward };
    }),
  );
  const { lessons, silent } = groupLessons(groups, parts.algorithm, settings);
  const learned = await learn(training, lessons, rng.split('learn'));
  progress.round += 1;
  progress.valuedChoices = (progress.valuedChoices ?? 0) + asked.length;
  const steps = groups.flat().map(({ steps: [step] }) => step);
  return {
    ...{ groups: groups.length, silentGroups: silent, choices: asked.length },
    meanValue: mean(steps.map(({ reward }) => reward)),
    livedEntropy: mean(steps.map(({ entropy }) => entropy)),
    ...learned,
  };
}

// How far the dream that a policy learns in is the world that it is judged in: the same starts, run in both with the same draws.
// As long as both worlds say the same, the policy does the same, so that a pair of episodes is one until the step at which the
// dream goes wrong.

/** A dream is shut where fewer of its wins than this are surely wins in the real environment, too. */
const LEAST_CONFIRMED = 0.5;

/**
 * What the gate of a dream goes by: whether too few of its wins can be wins (the upper end of Wilson's interval). A policy would
 * learn how to be told that it won; where hardly anything is won, it cannot be told, and rewards stay allowed.
 */
export function areFalse({ dreamWins, confirmedWins }: Pick<DreamCheck, 'dreamWins' | 'confirmedWins'>): boolean {
  return dreamWins > 0 && wilson(confirmedWins, dreamWins).high < LEAST_CONFIRMED;
}

/** The same starts and draws each time, on tasks that are learned from. @throws what environments and policies throw */
export async function checkDream({ settings, parts, progress, ports }: TextTraining): Promise<void> {
  const { environments: real, learner, dream } = parts;
  const tasks = evenly(parts.tasks, settings.checkEpisodes);
  if (dream === undefined || tasks.length === 0) return;
  const rng = Rng.fromSeed(settings.seed).split('dream-check');
  const starts = tasks.map((task, i) => ({ task: task.id, seed: rng.split('start', i).uint32() }));
  const drawn = () => starts.map((start, i): TextStart => ({ ...start, rng: rng.split('choices', i) }));

  const phase = ports.phase('check the dream', 2 * starts.length, 'episodes');
  const options = { signal: ports.signal, onEpisode: () => phase.advance(1) };
  const allSimulated = await playTexts(learner.policy, drawn(), {
    ...options,
    environments: await dream.environments(),
  });
  const allPlayed = await playTexts(learner.policy, drawn(), { ...options, environments: real });
  tellLost(ports, [...allSimulated, ...allPlayed]);
  const pairs = starts.flatMap((start, i) => {
    const pair = [allSimulated[i], allPlayed[i]] as const;
    return pair.some(({ lost }) => lost !== undefined) ? [] : [{ start, pair }];
  });
  const [simulated, played] = [pairs.map(({ pair }) => pair[0]), pairs.map(({ pair }) => pair[1])];

  const { parted, ...found } = compared(simulated, played);
  const dreamWins = simulated.filter(isWon).length;
  const doubtful = parted.filter((i) => isWon(simulated[i]));
  const again: Awaited<ReturnType<typeof saidAgain>>[] = [];
  for (const i of doubtful) {
    const said = await playedOrLost(() => saidAgain(real[0], pairs[i].start, simulated[i].steps, ports.signal));
    // A win that could not be said again is not confirmed.
    again.push('played' in said ? said.played : { isLost: true, steps: 0 });
  }
  const check: DreamCheck = {
    ...{ round: progress.round, episodes: pairs.length, ...found },
    dreamWins,
    realWins: played.filter(isWon).length,
    confirmedWins: dreamWins - again.filter(({ isLost }) => isLost).length,
    realSteps: stepsOf([played]) + again.reduce((sum, { steps }) => sum + steps, 0),
    ...{ simulated: rewardsOf(allSimulated), real: rewardsOf(allPlayed) },
  };
  progress.checks.push(check);
  const wasShut = progress.isShut === true;
  progress.isShut = areFalse(check);
  phase.end(`${check.dreamWins} won in the dream, ${check.realWins} in the real environment`);
  const { simulated: _, real: __, ...figures } = check;
  ports.tell({ kind: 'check', ...countersOf(progress), ...figures, time: progress.checks.length - 1 });
  if (!progress.isShut || wasShut) return;
  const problem = `the dream's wins are not to be believed (${check.confirmedWins} of ${dreamWins} were won by the same commands in the real environment), so nothing is learned in it as it is now`;
  raiseAlarm(progress, ports, problem);
}

/** Episode by episode, the simulated one and the real one of the same start; `parted`: places of the pairs that came apart. */
function compared(simulated: readonly PlayedText[], played: readonly PlayedText[]) {
  const apart: Record<WayApart, number> = { unanswered: 0, state: 0, text: 0, commands: 0, end: 0 };
  const wrong: Record<string, number> = {};
  const parted: number[] = [];
  let steps = 0;
  simulated.forEach((dream, i) => {
    const at = dream.steps.findIndex((_, t) => wayApart(dream, played[i], t) !== undefined);
    steps += at < 0 ? dream.steps.length : at + 1;
    if (at < 0) return;
    const way = wayApart(dream, played[i], at)!;
    apart[way] += 1;
    parted.push(i);
    const what = `${saidIn(dream.steps[at]).split(' ')[0]}: ${way}`;
    wrong[what] = (wrong[what] ?? 0) + 1;
  });
  return { steps, apart, wrong, parted };
}

/** How step `t` went wrong in the dream, where all before it went alike; undefined where it did not. */
function wayApart(dream: PlayedText, real: PlayedText, t: number): WayApart | undefined {
  const [simulated, played] = [dream.steps[t], real.steps[t]];
  if (whoAnswered(simulated) === 'none') return 'unanswered';
  if (simulated.info.stateHash !== played.info.stateHash) return 'state';
  const seen = ({ info }: TextStep) => JSON.stringify(info.predictions.map(({ observation }) => observation));
  if (seen(simulated) !== seen(played)) return 'text';
  const [next, nextReal] = [dream.steps[t + 1]?.situation, real.steps[t + 1]?.situation];
  if (next === undefined || nextReal === undefined) {
    return next === nextReal && dream.reward === real.reward ? undefined : 'end';
  }
  if (next.text !== nextReal.text) return 'text';
  const isOffered = next.admissible.length === nextReal.admissible.length;
  return isOffered && next.admissible.every((text, i) => text === nextReal.admissible[i]) ? undefined : 'commands';
}

/** Commands of one world said in another; what cannot be said there is passed over. */
async function saidAgain(
  environment: LineEnvironment,
  { task, seed }: TextStart,
  steps: readonly TextStep[],
  signal: AbortSignal,
): Promise<{ readonly isLost: boolean; readonly steps: number }> {
  let { info } = await environment.reset({ task, seed }, signal);
  let said = 0;
  let isLost = true;
  for (const step of steps) {
    const command = saidIn(step);
    if (!(info.admissible as readonly string[]).includes(command)) continue;
    const result = await environment.step(command, signal);
    ({ info } = result);
    said += 1;
    if (!result.terminated && !result.truncated) continue;
    isLost = !isWon({ reward: (info.verdict as { reward: number | null } | undefined)?.reward ?? null });
    break;
  }
  return { isLost, steps: said };
}
