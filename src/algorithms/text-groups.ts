// Agents of text by group-relative policy gradients: imitate walkthroughs, then live groups of episodes that begin alike, learn from
// what was better than the rest of its group, and be judged on tasks that were never trained on.

import { reverieError } from '../core/errors.js';
import type { OpenPhase } from '../core/progress.js';
import { Rng } from '../core/rng.js';
import type { TextEnvironment, ToolsTask } from '../env/index.js';
import {
  type Estimator,
  type GroupOptions,
  groupLessons,
  type TextLearner,
  type TextLesson,
  type TextUpdateMetrics,
} from '../rl/index.js';
import { type PlayedText, playTexts, TextEpisode, type TextStart } from './text-play.js';

export interface TextGroupSettings extends GroupOptions {
  readonly seed: number;
  readonly rounds: number;
  readonly tasksPerRound: number;
  readonly groupSize: number;
  /** Passes over the lessons of a round, and their step size. */
  readonly epochs: number;
  readonly lr: number;
  readonly clone: { readonly tasks: number; readonly epochs: number; readonly lr: number };
  /** Rounds between two evaluations; the first is before the first round, the last after the last. */
  readonly evalEvery: number;
  /** Whether an evaluation draws its choices, or takes the most probable. */
  readonly evalChoice: 'sample' | 'mode';
}

export interface TextGroupParts {
  readonly learner: TextLearner;
  readonly estimate: Estimator;
  /** Each lives one episode at a time; as many as may be under way at once. */
  readonly environments: readonly TextEnvironment[];
  /** Where evaluations are lived, likewise. */
  readonly evalEnvironments: readonly TextEnvironment[];
  readonly tasks: readonly ToolsTask[];
  readonly evalTasks: readonly ToolsTask[];
}

export interface TextEvaluation {
  /** What the policy had behind it. */
  readonly after: 'nothing' | 'cloning' | 'rounds';
  readonly round: number;
  readonly steps: number;
  readonly episodes: number;
  readonly wins: number;
  readonly meanLength: number;
}

/** All that must survive between rounds beside the learner. */
export interface TextProgress {
  round: number;
  /** Steps lived in training, walkthroughs not among them. */
  steps: number;
  cloned: boolean;
  /** Steps of walkthroughs that were imitated. */
  clonedSteps: number;
  readonly evaluations: TextEvaluation[];
}

export interface TextGroupPorts {
  readonly phase: OpenPhase;
  readonly signal: AbortSignal;
  tell(event: { readonly kind: string; readonly [key: string]: unknown }): void;
  /** A safe point: may keep all, and may end the run by throwing. */
  checkpoint(): Promise<void>;
}

export interface TextTraining {
  readonly settings: TextGroupSettings;
  readonly parts: TextGroupParts;
  readonly progress: TextProgress;
  readonly ports: TextGroupPorts;
}

/** @throws what environments, models and learners throw, and what ends a run at a checkpoint */
export async function textGroups(training: TextTraining): Promise<void> {
  const { settings, parts, progress, ports } = training;
  const root = Rng.fromSeed(settings.seed).split('text-groups');

  if (!progress.cloned) {
    await evaluate(training, 'nothing');
    if (settings.clone.tasks > 0) {
      await imitate(training, root.split('clone'));
      await evaluate(training, 'cloning');
    }
    // What was imitated is what a KL penalty holds on to.
    parts.learner.anchor();
    progress.cloned = true;
    await ports.checkpoint();
  }

  const bar = ports.phase('rounds', settings.rounds, 'rounds');
  while (progress.round < settings.rounds) {
    bar.set(progress.round, noteOf(progress));
    const rng = root.split('round', progress.round);

    const groups = await liveGroups(training, rng);
    const { lessons, silent } = groupLessons(groups, parts.estimate, settings);
    const learned = await learn(training, lessons, rng.split('learn'));

    progress.round += 1;
    progress.steps += stepsOf(groups);
    ports.tell({ kind: 'update', ...countersOf(progress), ...livedFigures(groups), silentGroups: silent, ...learned });
    if (progress.round % settings.evalEvery === 0 || progress.round === settings.rounds) {
      await evaluate(training, 'rounds');
    }
    await ports.checkpoint();
  }
  bar.set(progress.round);
  bar.end(noteOf(progress));
}

/** Passes over what walkthroughs say in each situation on their way. */
async function imitate({ settings, parts, progress, ports }: TextTraining, rng: Rng): Promise<void> {
  const { tasks, epochs, lr } = settings.clone;
  const chosen = evenly(parts.tasks, tasks);
  const phase = ports.phase('walkthroughs', chosen.length, 'tasks');
  const lessons: TextLesson[] = [];
  for (const task of chosen) {
    ports.signal.throwIfAborted();
    lessons.push(...(await demonstrated(parts.environments[0], task)));
    phase.advance(1);
  }
  phase.end(`${lessons.length} choices`);
  if (lessons.length === 0) {
    const problem =
      'none of those chosen for cloning has a reference whose commands can be said (train.cloneTasks=0: no cloning)';
    throw reverieError('TEXT_TASKS_MISSING', {
      domain: parts.environments[0].tools.domain.id,
      purpose: 'to imitate',
      problem,
    });
  }
  progress.clonedSteps = lessons.length;
  const bar = ports.phase('imitate', epochs, 'epochs');
  for (let epoch = 0; epoch < epochs; epoch++) {
    ports.signal.throwIfAborted();
    const order = rng.split(epoch).permutation(lessons.length);
    const metrics = await parts.learner.update(lessons, { lr, order });
    ports.tell({ kind: 'clone', round: 0, epoch, choices: lessons.length, ...metrics });
    bar.advance(1, `loss ${metrics.loss.toFixed(3)}`);
  }
  bar.end();
}

/** What the task's reference says, for as long as it can be said. */
async function demonstrated(environment: TextEnvironment, task: ToolsTask): Promise<TextLesson[]> {
  const lessons: TextLesson[] = [];
  const commands = (task.reference?.calls ?? []).map((call) => call.arguments.text);
  const episode = await TextEpisode.begin(environment, { task: task.id, seed: 0 });
  for (const command of commands) {
    const { situation } = episode;
    const choice = situation.admissible.indexOf(command as string);
    if (choice < 0 || episode.ended) break;
    lessons.push({ situation, choice });
    await episode.step({ choice, logProb: 0, entropy: 0 });
  }
  return lessons;
}

/** `groupSize` episodes from the same start, for each task of the round. */
async function liveGroups({ settings, parts, progress, ports }: TextTraining, rng: Rng): Promise<PlayedText[][]> {
  const { tasksPerRound, groupSize } = settings;
  const tasks = Array.from({ length: tasksPerRound }, (_, i) =>
    taskAt(parts.tasks, progress.round * tasksPerRound + i, settings.seed),
  );
  const starts = tasks.flatMap((task, g): TextStart[] => {
    const seed = rng.split('start', g).uint32();
    return Array.from({ length: groupSize }, (_, e) => ({ task: task.id, seed, rng: rng.split('choices', g, e) }));
  });
  const phase = ports.phase('live', starts.length, 'episodes');
  const played = await playTexts(parts.learner.policy, starts, {
    environments: parts.environments,
    signal: ports.signal,
    onEpisode: () => phase.advance(1),
  });
  phase.end();
  return tasks.map((_, g) => played.slice(g * groupSize, (g + 1) * groupSize));
}

/** All tasks once in an order of their own before any comes again. */
function taskAt(tasks: readonly ToolsTask[], turn: number, seed: number): ToolsTask {
  const lap = Math.floor(turn / tasks.length);
  const order = Rng.fromSeed(seed).split('text-tasks', lap).permutation(tasks.length);
  return tasks[order[turn % tasks.length]];
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
  const played = await playTexts(learner.policy, starts, { environments, signal: ports.signal, onEpisode });
  const { round, steps } = progress;
  const wins = played.filter(isWon).length;
  const evaluation = {
    after,
    round,
    steps,
    episodes: played.length,
    wins,
    meanLength: stepsOf([played]) / played.length,
  };
  progress.evaluations.push(evaluation);
  phase.end(`${wins} of ${played.length} won`);
  ports.tell({ kind: 'eval', ...countersOf(progress), ...evaluation });
}

export function isWon({ reward }: PlayedText): boolean {
  return reward !== null && reward >= 1;
}

function livedFigures(groups: readonly PlayedText[][]): Record<string, number> {
  const episodes = groups.flat();
  const steps = stepsOf(groups);
  const entropies = episodes.flatMap((episode) => episode.steps.map(({ entropy }) => entropy));
  return {
    episodes: episodes.length,
    wins: episodes.filter(isWon).length,
    livedEntropy: entropies.reduce((a, b) => a + b, 0) / Math.max(entropies.length, 1),
    meanLength: steps / episodes.length,
  };
}

function countersOf({ round, steps }: TextProgress): { round: number; realSteps: number } {
  return { round, realSteps: steps };
}

function stepsOf(groups: readonly PlayedText[][]): number {
  return groups.flat().reduce((sum, { steps }) => sum + steps.length, 0);
}

function noteOf({ evaluations }: TextProgress): string {
  const last = evaluations.at(-1);
  return last === undefined ? '' : `${last.wins} of ${last.episodes} won`;
}

/** `count` of them, evenly spaced; all where there are no more. */
export function evenly<T>(list: readonly T[], count: number): T[] {
  if (count >= list.length) return [...list];
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)]);
}
