// Ctrl-C: once asks a job to stop at its next safe point, twice ends the process there and then.

const EXIT_INTERRUPTED = 130;

/**
 * Listens until `dispose` is called.
 * @param onSecond  runs just before the process ends
 */
export function listenForInterrupt({ onFirst, onSecond }: Readonly<Record<'onFirst' | 'onSecond', () => void>>): {
  readonly signal: AbortSignal;
  dispose(): void;
} {
  const controller = new AbortController();
  const listener = () => {
    if (controller.signal.aborted) {
      onSecond();
      process.exit(EXIT_INTERRUPTED);
    }
    controller.abort();
    onFirst();
  };
  process.on('SIGINT', listener).on('SIGTERM', listener);
  const dispose = () => void process.off('SIGINT', listener).off('SIGTERM', listener);
  return { signal: controller.signal, dispose };
}

/** A run that stopped before its end but can go on. */
export class RunInterrupted extends Error {
  constructor(
    readonly job: string,
    readonly folder: string,
  ) {
    super(`Stopped. Everything up to the last safe point is in ${folder}.`);
    this.name = 'RunInterrupted';
  }
}
