// An environment of a host as a session has it: it outlives the threads it lives in.

import type { EnvSnapshot, ResetOptions } from '../../../src/core/environment.js';
import type { Servable } from '../../../src/run/servable.js';
import { type AnswerOf, World } from '../../../src/serve/core/world.js';
import type { WorkerHost } from '../../../src/serve/hosts/worker-host.js';

interface Lasting {
  reset(options?: ResetOptions): Promise<AnswerOf['reset']>;
  step(action: unknown, signal?: AbortSignal): Promise<AnswerOf['step']>;
  snapshot(): Promise<EnvSnapshot>;
  restore(snapshot: EnvSnapshot, options?: { seed?: number }): Promise<unknown>;
  close(): Promise<void>;
}

const NEVER = new AbortController().signal;

export function lasting(host: WorkerHost, name: string): Lasting {
  const world = new World({ name, blueprint: { kind: 'vector' }, make: () => host.make(name) } as unknown as Servable);
  return {
    reset: (options: ResetOptions = {}) => world.do({ kind: 'reset', options }, () => NEVER),
    step: (action: unknown, signal: AbortSignal = NEVER) => world.do({ kind: 'step', action }, () => signal),
    snapshot: () => world.save(),
    restore: (snapshot: EnvSnapshot, options = {}) => world.do({ kind: 'restore', snapshot, options }, () => NEVER),
    close: () => world.close(),
  };
}
