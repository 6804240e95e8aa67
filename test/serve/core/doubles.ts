// Environments for tests of sessions: one whose every answer follows from its seed and its actions, and that is slow,
// fails or hangs when it is told to.

import { expect } from 'vitest';
import type { Environment, EnvSnapshot, ResetOptions, ResetResult, StepResult } from '../../../src/core/environment.js';
import { reverieError } from '../../../src/core/errors.js';
import { Rng, type RngState } from '../../../src/core/rng.js';
import type { Servable } from '../../../src/run/servable.js';

export const owner = 'local';
export const code = (wanted: string) => expect.objectContaining({ code: wanted });

interface CounterState {
  readonly rng: RngState;
  readonly sum: number;
  readonly steps: number;
  readonly running: boolean;
}

/** What a test has in its hand: called before every reset and step, it may wait, throw, or never answer. */
export type Hindrance = (what: 'reset' | 'step', action: string, signal?: AbortSignal) => Promise<void> | void;

export interface CounterOptions {
  /** Steps of an episode. */
  readonly length?: number;
  readonly hinder?: Hindrance;
  /** Whether it can take back without a snapshot. */
  readonly canMark?: boolean;
}

/**
 * Adds up what it is given, with noise: an action is `add N`; the observation `sum after steps`, the reward N. It changes
 * only after it was hindered, as environments do that ask a model first.
 */
export class Counter implements Environment<string, string> {
  readonly id = 'counter';
  readonly family = 'text' as const;
  readonly observationSpace = { type: 'text', maxLength: 100 } as const;
  readonly actionSpace = { type: 'text', maxLength: 100 } as const;
  static closed = 0;
  private state: CounterState = { rng: Rng.fromSeed(0).state(), sum: 0, steps: 0, running: false };
  readonly mark?: () => () => void;

  constructor(private readonly options: CounterOptions = {}) {
    if (options.canMark !== false) this.mark = () => this.marked();
  }

  async reset({ seed }: ResetOptions = {}, signal?: AbortSignal): Promise<ResetResult<string>> {
    await this.options.hinder?.('reset', '', signal);
    const rng = seed === undefined ? Rng.fromState(this.state.rng) : Rng.fromSeed(seed);
    const sum = rng.int(1000);
    this.state = { rng: rng.state(), sum, steps: 0, running: true };
    return { observation: this.observation, info: {} };
  }

  async step(action: string, signal?: AbortSignal): Promise<StepResult<string>> {
    if (!this.state.running) throw reverieError('ENV_NOT_RESET', { id: this.id });
    await this.options.hinder?.('step', action, signal);
    this.state = added(this.state, action, this.options.length ?? 5);
    const terminated = !this.state.running;
    const reward = numberIn(action);
    return { observation: this.observation, reward, terminated, truncated: false, info: {} };
  }

  snapshot(): EnvSnapshot {
    return { env: this.id, state: this.state };
  }

  restore({ state }: EnvSnapshot, { seed }: { seed?: number } = {}): string {
    this.state = state as CounterState;
    if (seed !== undefined) this.state = { ...this.state, rng: Rng.fromSeed(seed).state() };
    return this.observation;
  }

  close(): void {
    Counter.closed++;
  }

  private marked(): () => void {
    const { state } = this;
    return () => {
      this.state = state;
    };
  }

  private get observation(): string {
    return observationOf(this.state);
  }
}

function added({ rng: state, sum, steps }: CounterState, action: string, length: number): CounterState {
  const rng = Rng.fromState(state);
  const next = sum + numberIn(action) + rng.int(10);
  return { rng: rng.state(), sum: next, steps: steps + 1, running: steps + 1 < length };
}

function observationOf({ sum, steps }: CounterState): string {
  return `${sum} after ${steps}`;
}

function numberIn(action: string): number {
  return Number(action.replace('add ', ''));
}

/**
 * What a counter answers to these actions: the sequential model that tests hold sessions to.
 * @param reseeded  where, and from which other seeds, it draws from there on, as forks may
 */
export function expectedObservations(
  seed: number,
  actions: readonly string[],
  length = 5,
  reseeded: readonly { readonly at: number; readonly seed: number }[] = [],
): string[] {
  const rng = Rng.fromSeed(seed);
  let state: CounterState = { sum: rng.int(1000), rng: rng.state(), steps: 0, running: true };
  const seen = [observationOf(state)];
  for (const [i, action] of actions.entries()) {
    const other = reseeded.findLast(({ at }) => at === i);
    if (other !== undefined) state = { ...state, rng: Rng.fromSeed(other.seed).state() };
    state = added(state, action, length);
    seen.push(observationOf(state));
  }
  return seen;
}

export function servedCounter(options: CounterOptions = {}, name = 'counter', version = '1'): Servable {
  const space = { type: 'text', maxLength: 100 } as const;
  return {
    name,
    family: 'text',
    description: 'Adds up.',
    source: 'real',
    version,
    observationSpace: space,
    actionSpace: space,
    tools: [],
    policy: '',
    tasks: [],
    make: async () => new Counter(options),
    close: async () => {},
  };
}

/** Something that a test lets go when it wants. */
export function barrier(): {
  readonly reached: Promise<void>;
  readonly wait: () => Promise<void>;
  readonly open: () => void;
} {
  let open = () => {};
  let arrive = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const wait = () => {
    arrive();
    return opened;
  };
  return { reached, wait, open };
}
