// How far the dream that a policy learns in is the world that it is judged in: the same starts, lived in both with the same draws.
// As long as both worlds say the same, the policy does the same, so that a pair of episodes is one until the step at which the
// dream goes wrong.

import { Rng } from '../core/rng.js';
import type { LineEnvironment } from '../env/tools/text-environment.js';
import { wilson } from '../worldmodel/tools/shadow.js';
import { isWon, stepsOf } from './text-evaluation.js';
import {
  livedOrLost,
  type PlayedText,
  playTexts,
  saidIn,
  type TextStart,
  type TextStep,
  whoAnswered,
} from './text-play.js';
import {
  countersOf,
  type DreamCheck,
  evenly,
  raiseAlarm,
  type TextTraining,
  tellLost,
  type WayApart,
} from './text-training.js';

/** How the alarm of a dream that was shut begins. */
export const FALSE_WINS = "the dream's wins are not to be believed";

/** A dream is shut where fewer of its wins than this are surely wins in the real environment, too. */
const LEAST_CONFIRMED = 0.5;

/**
 * What the gate of a dream goes by: whether too few of its wins can be wins (the upper end of Wilson's interval). A policy would
 * learn how to be told that it won; where hardly anything is won, nobody can tell, and it is open.
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
  const allDreamt = await playTexts(learner.policy, drawn(), { ...options, environments: await dream.environments() });
  const allLived = await playTexts(learner.policy, drawn(), { ...options, environments: real });
  tellLost(ports, [...allDreamt, ...allLived]);
  const pairs = starts.flatMap((start, i) => {
    const pair = [allDreamt[i], allLived[i]] as const;
    return pair.some(({ lost }) => lost !== undefined) ? [] : [{ start, pair }];
  });
  const [dreamt, lived] = [pairs.map(({ pair }) => pair[0]), pairs.map(({ pair }) => pair[1])];

  const { parted, ...found } = compared(dreamt, lived);
  const dreamWins = dreamt.filter(isWon).length;
  const doubtful = parted.filter((i) => isWon(dreamt[i]));
  const again: Replayed[] = [];
  for (const i of doubtful) {
    const said = await livedOrLost(() => saidAgain(real[0], pairs[i].start, dreamt[i].steps, ports.signal));
    // A win that could not be said again is not confirmed.
    again.push('lived' in said ? said.lived : { isLost: true, steps: 0 });
  }
  const check: DreamCheck = {
    ...{ round: progress.round, episodes: pairs.length, ...found },
    dreamWins,
    realWins: lived.filter(isWon).length,
    confirmedWins: dreamWins - again.filter(({ isLost }) => isLost).length,
    realSteps: stepsOf([lived]) + again.reduce((sum, { steps }) => sum + steps, 0),
  };
  progress.checks.push(check);
  const wasShut = progress.isShut === true;
  progress.isShut = areFalse(check);
  phase.end(`${check.dreamWins} won in the dream, ${check.realWins} in the real environment`);
  ports.tell({ kind: 'check', ...countersOf(progress), ...check, time: progress.checks.length - 1 });
  if (progress.isShut && !wasShut) raiseAlarm(progress, ports, shutBecause(check));
}

function shutBecause({ dreamWins, confirmedWins }: DreamCheck): string {
  return `${FALSE_WINS} (${confirmedWins} of ${dreamWins} were won by the same commands in the real environment), so nothing is learned in it as it is now`;
}

interface Compared extends Pick<DreamCheck, 'steps' | 'apart' | 'wrong'> {
  /** Places of the pairs that came apart. */
  readonly parted: readonly number[];
}

/** Episode by episode, the dreamt one and the real one of the same start. */
export function compared(dreamt: readonly PlayedText[], lived: readonly PlayedText[]): Compared {
  const apart: Record<WayApart, number> = { unanswered: 0, state: 0, text: 0, commands: 0, end: 0 };
  const wrong: Record<string, number> = {};
  const parted: number[] = [];
  let steps = 0;
  dreamt.forEach((dream, i) => {
    const at = dream.steps.findIndex((_, t) => wayApart(dream, lived[i], t) !== undefined);
    steps += at < 0 ? dream.steps.length : at + 1;
    if (at < 0) return;
    const way = wayApart(dream, lived[i], at)!;
    apart[way] += 1;
    parted.push(i);
    const { situation, kind } = dream.steps[at];
    const word = situation.schema === undefined ? saidIn(dream.steps[at]).split(' ')[0] : kind;
    const what = `${word}: ${way}`;
    wrong[what] = (wrong[what] ?? 0) + 1;
  });
  return { steps, apart, wrong, parted };
}

/** How step `t` went wrong in the dream, where all before it went alike; undefined where it did not. */
function wayApart(dream: PlayedText, real: PlayedText, t: number): WayApart | undefined {
  const [dreamt, lived] = [dream.steps[t], real.steps[t]];
  if (whoAnswered(dreamt) === 'nobody') return 'unanswered';
  if (dreamt.info.stateHash !== lived.info.stateHash) return 'state';
  const seen = ({ info }: TextStep) => JSON.stringify(info.predictions.map(({ observation }) => observation));
  if (seen(dreamt) !== seen(lived)) return 'text';
  const [next, nextReal] = [dream.steps[t + 1]?.situation, real.steps[t + 1]?.situation];
  if (next === undefined || nextReal === undefined) {
    return next === nextReal && dream.reward === real.reward ? undefined : 'end';
  }
  if (next.text !== nextReal.text) return 'text';
  const isOffered = next.admissible.length === nextReal.admissible.length;
  return isOffered && next.admissible.every((text, i) => text === nextReal.admissible[i]) ? undefined : 'commands';
}

interface Replayed {
  readonly isLost: boolean;
  readonly steps: number;
}

/** Commands of one world said in another; what cannot be said there is passed over. */
async function saidAgain(
  environment: LineEnvironment,
  { task, seed }: TextStart,
  steps: readonly TextStep[],
  signal: AbortSignal,
): Promise<Replayed> {
  let { info } = await environment.reset({ task, seed }, signal);
  let said = 0;
  let isLost = true;
  for (const step of steps) {
    const command = saidIn(step);
    if (info.schema === undefined && !(info.admissible as readonly string[]).includes(command)) continue;
    const result = await environment.step(command, signal);
    ({ info } = result);
    said += 1;
    if (!result.terminated && !result.truncated) continue;
    isLost = !isWon({ reward: (info.verdict as { reward: number | null } | undefined)?.reward ?? null });
    break;
  }
  return { isLost, steps: said };
}
