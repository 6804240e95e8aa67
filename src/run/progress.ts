// Progress of long work: bars on a terminal, one plain line every ten seconds elsewhere, nothing when asked to be quiet.

import type { OpenPhase, Phase } from '../core/progress.js';
import { type Colours, coloursFor } from './colours.js';
import { formatCount, formatDuration, formatRate, wrapped } from './format.js';

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
const REDRAW_MS = 125;

/** On a terminal: one bar a phase; a phase that ended becomes a line above the bars. No line that is redrawn is wider than the terminal. */
class BarProgress implements Progress {
  private readonly stream: NodeJS.WriteStream;
  private readonly colours: Colours;
  private readonly now: () => number;
  private readonly open = new Set<PhaseState>();
  private drawnLines = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(options: ProgressOptions) {
    this.stream = options.stream;
    this.now = options.now ?? (() => performance.now());
    this.colours = coloursFor(options.stream);
  }

  phase(name: string, total: number | null, unit = ''): Phase {
    const state = new PhaseState(name, total, unit, this.now);
    this.open.add(state);
    this.redrawSoon();
    const set = (done: number, note?: string) => {
      state.done = done;
      if (note !== undefined) state.note = note;
      this.redrawSoon();
    };
    return {
      set,
      advance: (by = 1, note) => set(state.done + by, note),
      end: (note) => {
        if (note !== undefined) state.note = note;
        this.open.delete(state);
        const { green, dim } = this.colours;
        const [first, ...rest] = wrapped(`✓ ${state.name.padEnd(NAME_WIDTH)} ${state.details(true)}`, this.columns, 4);
        const named = `✓ ${state.name.padEnd(NAME_WIDTH)} `;
        this.draw([`${green('✓')}${named.slice(1)}${dim(first.slice(named.length))}`, ...rest.map(dim)]);
      },
    };
  }

  log(line: string): void {
    this.draw(wrapped(line, this.columns, 2));
  }

  close(): void {
    this.open.clear();
    this.draw([]);
  }

  private get columns(): number {
    return this.stream.columns || 80;
  }

  /** Changes between two drawings are shown together. */
  private redrawSoon(): void {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => this.draw([]), REDRAW_MS);
    this.timer.unref();
  }

  /** Takes the bars away, writes `above`, and draws them again below it. */
  private draw(above: readonly string[]): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const up = this.drawnLines > 1 ? `\u001b[${this.drawnLines - 1}A` : '';
    const cleared = this.drawnLines > 0 ? `\r${up}\u001b[J` : '';
    const bars = [...this.open].map((state) => drawn(state, this.columns - 1, this.colours));
    this.drawnLines = bars.length;
    const text = cleared + above.map((line) => `${line}\n`).join('') + bars.join('\n');
    if (text !== '') this.stream.write(text);
  }
}

/** One line of at most `columns`. */
function drawn(state: PhaseState, columns: number, colours: Colours): string {
  const share = state.total === null || state.total === 0 ? 0 : Math.min(1, state.done / state.total);
  const width = columns < 72 ? BAR_WIDTH / 2 : BAR_WIDTH;
  const filled = Math.round(share * width);
  const bar = `${colours.cyan('━'.repeat(filled))}${colours.dim('─'.repeat(width - filled))}`;
  const percent = state.total === null ? '    ' : `${String(Math.floor(share * 100)).padStart(3)}%`;
  const name = cut(state.name.padEnd(NAME_WIDTH), NAME_WIDTH);
  const details = cut(state.details(false), columns - (NAME_WIDTH + width + 10));
  return `  ${name} ${bar} ${percent}  ${colours.dim(details)}`;
}

function cut(text: string, columns: number): string {
  const characters = [...text];
  return characters.length <= columns ? text : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`;
}
