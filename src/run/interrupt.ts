// Ctrl-C: once asks a job to stop at its next safe point, twice ends the process there and then.

export interface Interrupt {
  readonly signal: AbortSignal;
  /** Stops listening. */
  dispose(): void;
}

const EXIT_INTERRUPTED = 130;

export interface InterruptOptions {
  /** Runs at the first request. */
  readonly onFirst: () => void;
  /** Runs at the second, just before the process ends. */
  readonly onSecond: () => void;
  /** Replaced in tests. */
  readonly source?: Pick<NodeJS.Process, 'on' | 'off' | 'exit'>;
}

export function listenForInterrupt(options: InterruptOptions): Interrupt {
  const source = options.source ?? process;
  const controller = new AbortController();
  const listener = () => {
    if (controller.signal.aborted) {
      options.onSecond();
      source.exit(EXIT_INTERRUPTED);
    } else {
      controller.abort();
      options.onFirst();
    }
  };
  source.on('SIGINT', listener);
  source.on('SIGTERM', listener);
  return {
    signal: controller.signal,
    dispose() {
      source.off('SIGINT', listener);
      source.off('SIGTERM', listener);
    },
  };
}

/** A run that stopped before its end but can go on. */
export class RunInterrupted extends Error {
  constructor(
    readonly job: string,
    readonly folder: string,
  ) {
    super(`Stopped. Everything so far is in ${folder}.`);
    this.name = 'RunInterrupted';
  }
}
