// What was played: a tree of turns, each lived twice, in the dream and in the environment itself, until one of them ends. Any turn can be gone
// on from; where both were alike so far and are not after it, they part.

import type { EnvSnapshot } from '../../src/core/environment.js';
import type { Operation, Prediction } from '../../src/env/tools/prediction.js';
import type { TextEnvironment } from '../../src/env/tools/text-environment.js';
import type { OpenWorld } from './open-world.js';

/** One world after a turn. */
export interface Side {
  readonly text: string;
  readonly stateHash: string;
  /** Commands that do something here. */
  readonly admissible: readonly string[];
  readonly end?: 'won' | 'lost' | 'out of steps';
  readonly prediction?: Prediction;
  readonly snapshot: EnvSnapshot;
}

export interface Turn {
  readonly id: number;
  readonly parent?: Turn;
  /** Absent where it begins. */
  readonly command?: string;
  readonly step: number;
  /** Absent once that episode has ended. */
  readonly dream?: Side;
  readonly real?: Side;
  /** What differs after this turn and did not before it; empty while both are alike, and after they have parted. */
  readonly parts: readonly string[];
}

export class Branches {
  readonly turns: Turn[] = [];
  private readonly dream: TextEnvironment;
  private readonly real: TextEnvironment;

  constructor(
    world: OpenWorld,
    private readonly seed: number,
  ) {
    this.dream = world.dream();
    this.real = world.real();
  }

  /** Begins a task; what was played before is forgotten. */
  async begin(task: string): Promise<Turn> {
    this.turns.length = 0;
    const sides = await Promise.all(
      [this.dream, this.real].map(async (environment) => {
        const { observation, info } = await environment.reset({ task, seed: this.seed });
        return sideOf(environment, observation, info);
      }),
    );
    return this.kept({ id: 0, step: 0, dream: sides[0], real: sides[1], parts: [] });
  }

  /** Says a command in both worlds as they were after `turn`. The same command there is the same turn. */
  async act(turn: Turn, command: string): Promise<Turn> {
    const known = this.turns.find(({ parent, command: said }) => parent === turn && said === command);
    if (known !== undefined) return known;
    const [dream, real] = [await lived(this.dream, turn.dream, command), await lived(this.real, turn.real, command)];
    const parts = hasParted(turn) ? [] : differences(dream, real);
    return this.kept({ id: this.turns.length, parent: turn, command, step: turn.step + 1, dream, real, parts });
  }

  /** Turns that nothing follows: the ends of the branches, in the order in which these began. */
  get tips(): readonly Turn[] {
    return this.turns.filter((turn) => !this.turns.some(({ parent }) => parent === turn));
  }

  private kept(turn: Turn): Turn {
    this.turns.push(turn);
    return turn;
  }
}

/** From the beginning to a turn. */
export function pathTo(turn: Turn): Turn[] {
  return [...(turn.parent === undefined ? [] : pathTo(turn.parent)), turn];
}

export function hasParted(turn: Turn): boolean {
  return pathTo(turn).some(({ parts }) => parts.length > 0);
}

export function isOver({ dream, real }: Turn): boolean {
  return isEnded(dream) && isEnded(real);
}

function isEnded(side: Side | undefined): boolean {
  return side === undefined || side.end !== undefined;
}

async function lived(environment: TextEnvironment, from: Side | undefined, command: string): Promise<Side | undefined> {
  if (from === undefined || from.end !== undefined) return undefined;
  await environment.restore(from.snapshot);
  const { observation, reward, terminated, truncated, info } = await environment.step(command);
  const end = terminated ? (reward > 0 ? 'won' : 'lost') : truncated ? 'out of steps' : undefined;
  return sideOf(environment, observation, info, end);
}

async function sideOf(
  environment: TextEnvironment,
  text: string,
  info: Readonly<Record<string, unknown>>,
  end?: Side['end'],
): Promise<Side> {
  const [prediction] = (info['predictions'] ?? []) as readonly Prediction[];
  return {
    ...{ text, stateHash: info['stateHash'] as string, admissible: (info['admissible'] ?? []) as readonly string[] },
    ...(end !== undefined && { end }),
    ...(prediction !== undefined && { prediction }),
    snapshot: await environment.snapshot(),
  };
}

function differences(dream: Side | undefined, real: Side | undefined): string[] {
  if (dream === undefined || real === undefined) return [];
  const compared: [string, unknown, unknown][] = [
    ['text', dream.text, real.text],
    ['state', dream.stateHash, real.stateHash],
    ['commands', dream.admissible.join('\n'), real.admissible.join('\n')],
    ['end', dream.end, real.end],
  ];
  return compared.flatMap(([what, dreamt, lived]) => (dreamt === lived ? [] : [what]));
}

/** A change of a fact in words: `in(apple, chest)`. Other changes are told by their path. */
export function changeOf({ op, path, ...rest }: Operation) {
  const [, root, predicate, objects] = path.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (root !== 'facts' || objects === undefined) return { op, path, ...('value' in rest && { after: rest.value }) };
  return { op, path: predicate, ...(op === 'remove' ? { before: objects } : { after: objects }) };
}
