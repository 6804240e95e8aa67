// Progress of long work: bars on a terminal, one plain line every ten seconds elsewhere, nothing when asked to be quiet.

import { MultiBar, type SingleBar } from 'cli-progress';
import type { OpenPhase, Phase } from '../core/progress.js';
import { type Colours, coloursFor } from './colours.js';
import { formatCount, formatDuration, formatRate } from './format.js';

export type { Phase } from '../core/progress.js';

export interface Progress {
  readonly phase: OpenPhase;
  /** A line for the human, above the bars. */
  log(line: string): void;
  /** Takes the bars down; phases still open are left as they are. */
  close(): void;
}

export interface ProgressOptions {
  readonly stream: NodeJS.WriteStream;
  readonly quiet?: boolean;
  /** Milliseconds between plain lines off a terminal. */
  readonly intervalMs?: number;
  /** Milliseconds, monotonic; for tests. */
  readonly now?: () => number;
}

export function makeProgress(options: ProgressOptions): Progress {
  if (options.quiet) return silentProgress;
  return canDraw(options.stream) ? new BarProgress(options) : new LineProgress(options);
}

/** Bars need a terminal that moves its cursor. */
function canDraw(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && process.env.TERM !== 'dumb';
}

const silentPhase: Phase = { advance() {}, set() {}, end() {} };
const silentProgress: Progress = { phase: () => silentPhase, log() {}, close() {} };

/** Counts and clock of one phase, and how they read. */
class PhaseState {
  done = 0;
  note = '';
  private readonly startedAt: number;

  constructor(
    readonly name: string,
    readonly total: number | null,
    readonly unit: string,
    private readonly now: () => number,
  ) {
    this.startedAt = now();
  }

  get seconds(): number {
    return (this.now() - this.startedAt) / 1000;
  }

  /** `12.3 k/20 k steps · 1.2 k steps/s · 6 s left · return 421` */
  details(ended: boolean): string {
    const rate = this.seconds > 0 ? this.done / this.seconds : 0;
    const left = this.total === null || rate === 0 ? undefined : (this.total - this.done) / rate;
    const amount =
      this.total === null ? formatCount(this.done) : `${formatCount(this.done)}/${formatCount(this.total)}`;
    const clock = ended
      ? `in ${formatDuration(this.seconds)}`
      : left === undefined
        ? ''
        : `${formatDuration(left)} left`;
    return [`${amount} ${this.unit}`.trim(), formatRate(rate, this.unit), clock, this.note].filter(Boolean).join(' · ');
  }
}

/** Off a terminal: a line when a phase begins and ends, and one every `intervalMs` between. */
class LineProgress implements Progress {
  private readonly stream: NodeJS.WriteStream;
  private readonly intervalMs: number;
  private readonly now: () => number;

  constructor(options: ProgressOptions) {
    this.stream = options.stream;
    this.intervalMs = options.intervalMs ?? 10_000;
    this.now = options.now ?? (() => performance.now());
  }

  phase(name: string, total: number | null, unit = ''): Phase {
    const state = new PhaseState(name, total, unit, this.now);
    let toldAt = this.now();
    const tell = (ended: boolean) => this.log(`${name}: ${state.details(ended)}`);
    const set = (done: number, note?: string) => {
      state.done = done;
      if (note !== undefined) state.note = note;
      if (this.now() - toldAt < this.intervalMs) return;
      toldAt = this.now();
      tell(false);
    };
    return {
      set,
      advance: (by = 1, note) => set(state.done + by, note),
      end: (note) => {
        if (note !== undefined) state.note = note;
        tell(true);
      },
    };
  }

  log(line: string): void {
    this.stream.write(`${line}\n`);
  }

  close(): void {}
}

const BAR_WIDTH = 24;
const NAME_WIDTH = 18;

/** On a terminal: one bar a phase; a phase that ended becomes a line above the bars. */
class BarProgress implements Progress {
  private readonly stream: NodeJS.WriteStream;
  private readonly bars: MultiBar;
  private readonly colours: Colours;
  private open = 0;
  private readonly now: () => number;

  constructor(options: ProgressOptions) {
    this.stream = options.stream;
    this.now = options.now ?? (() => performance.now());
    this.colours = coloursFor(options.stream);
    this.bars = new MultiBar({
      stream: options.stream,
      format: (_options: unknown, params: { value: number }, payload: { state: PhaseState }) =>
        drawn(payload.state, params.value, this.colours),
      hideCursor: true,
      clearOnComplete: true,
      stopOnComplete: false,
      linewrap: false,
      fps: 8,
      emptyOnZero: true,
      forceRedraw: true,
      gracefulExit: false,
    });
  }

  phase(name: string, total: number | null, unit = ''): Phase {
    const state = new PhaseState(name, total, unit, this.now);
    const bar = this.bars.create(total ?? 0, 0, { state });
    this.open++;
    const set = (done: number, note?: string) => {
      state.done = done;
      if (note !== undefined) state.note = note;
      bar.update(done, { state });
    };
    return {
      set,
      advance: (by = 1, note) => set(state.done + by, note),
      end: (note) => this.end(bar, state, note),
    };
  }

  log(line: string): void {
    // MultiBar keeps lines until it next draws, which it does only while it has bars.
    if (this.open === 0) {
      this.stream.write(`${line}\n`);
      return;
    }
    this.bars.log(`${line}\n`);
    this.bars.update();
  }

  close(): void {
    if (this.open > 0) this.bars.stop();
    this.open = 0;
  }

  private end(bar: SingleBar, state: PhaseState, note: string | undefined): void {
    if (note !== undefined) state.note = note;
    this.bars.remove(bar);
    this.open--;
    // Without a bar it would go on redrawing nothing, and keep the process alive.
    if (this.open === 0) this.bars.stop();
    this.log(`${this.colours.green('✓')} ${state.name.padEnd(NAME_WIDTH)} ${this.colours.dim(state.details(true))}`);
  }
}

function drawn(state: PhaseState, value: number, colours: Colours): string {
  const share = state.total === null || state.total === 0 ? 0 : Math.min(1, value / state.total);
  const filled = Math.round(share * BAR_WIDTH);
  const bar = `${colours.cyan('━'.repeat(filled))}${colours.dim('─'.repeat(BAR_WIDTH - filled))}`;
  const percent = state.total === null ? '    ' : `${String(Math.floor(share * 100)).padStart(3)}%`;
  return `  ${state.name.padEnd(NAME_WIDTH)} ${bar} ${percent}  ${colours.dim(state.details(false))}`;
}
