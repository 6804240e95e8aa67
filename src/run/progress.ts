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

interface ProgressOptions {
  readonly stream: NodeJS.WriteStream;
  readonly quiet?: boolean;
  /** Milliseconds, monotonic; for tests. */
  readonly now?: () => number;
}

export function makeProgress(options: ProgressOptions): Progress {
  if (options.quiet) return silentProgress;
  // Bars need a terminal that moves its cursor.
  const canDraw = options.stream.isTTY === true && process.env.TERM !== 'dumb';
  return canDraw ? barProgress(options) : lineProgress(options);
}

export const silentPhase: Phase = { advance() {}, set() {}, end() {} };
const silentProgress: Progress = { phase: () => silentPhase, log() {}, close() {} };

interface PhaseState {
  readonly name: string;
  readonly total: number | null;
  readonly unit: string;
  readonly startedAt: number;
  done: number;
  note: string;
}

/** Opens phases, and calls back for each that begins, changes and ends. */
function phasesOf(
  now: () => number,
  on: Record<'began' | 'changed' | 'ended', (state: PhaseState) => void>,
): OpenPhase {
  return (name, total, unit = '') => {
    const state: PhaseState = { name, total, unit, startedAt: now(), done: 0, note: '' };
    on.began(state);
    const set = (done: number, note = state.note) => {
      Object.assign(state, { done, note });
      on.changed(state);
    };
    const end = (note = state.note) => {
      state.note = note;
      on.ended(state);
    };
    return { set, advance: (by = 1, note) => set(state.done + by, note), end };
  };
}

/** `12.3 k/20 k steps · 1.2 k steps/s · 6 s left · return 421` */
function details({ total, done, unit, note, startedAt }: PhaseState, now: number, ended: boolean): string {
  const seconds = (now - startedAt) / 1000;
  const rate = seconds > 0 ? done / seconds : 0;
  const left = total === null || rate === 0 ? '' : `${formatDuration((total - done) / rate)} left`;
  const amount = total === null ? formatCount(done) : `${formatCount(done)}/${formatCount(total)}`;
  const clock = ended ? `in ${formatDuration(seconds)}` : left;
  return [`${amount} ${unit}`.trim(), formatRate(rate, unit), clock, note].filter(Boolean).join(' · ');
}

const monotonic = () => performance.now();

/** Between plain lines off a terminal. */
const LINE_MS = 10_000;

/** Off a terminal: a line when a phase ends, and one now and then before. */
function lineProgress({ stream, now = monotonic }: ProgressOptions): Progress {
  const shownAt = new Map<PhaseState, number>();
  const log = (line: string) => void stream.write(`${line}\n`);
  const show = (state: PhaseState, ended: boolean) => log(`${state.name}: ${details(state, now(), ended)}`);
  const phase = phasesOf(now, {
    began: (state) => void shownAt.set(state, now()),
    changed: (state) => {
      if (now() - shownAt.get(state)! < LINE_MS) return;
      shownAt.set(state, now());
      show(state, false);
    },
    ended: (state) => {
      shownAt.delete(state);
      show(state, true);
    },
  });
  return { phase, log, close() {} };
}

const BAR_WIDTH = 24;
const NAME_WIDTH = 18;
const REDRAW_MS = 125;

/** On a terminal: one bar a phase; a phase that ended becomes a line above the bars. No line that is redrawn is wider than the terminal. */
function barProgress({ stream, now = monotonic }: ProgressOptions): Progress {
  const colours = coloursFor(stream);
  const open = new Set<PhaseState>();
  let drawnLines = 0;
  let timer: NodeJS.Timeout | undefined;
  const columns = () => stream.columns || 80;
  /** Takes the bars away, writes `above`, and draws them again below it. */
  const draw = (above: readonly string[]) => {
    clearTimeout(timer);
    timer = undefined;
    const up = drawnLines > 1 ? `\u001b[${drawnLines - 1}A` : '';
    const cleared = drawnLines > 0 ? `\r${up}\u001b[J` : '';
    const bars = [...open].map((state) => barOf(state, now(), columns() - 1, colours));
    drawnLines = bars.length;
    const text = cleared + above.map((line) => `${line}\n`).join('') + bars.join('\n');
    if (text !== '') stream.write(text);
  };
  /** Changes between two drawings are shown together. */
  const redrawSoon = () => {
    timer ??= setTimeout(() => draw([]), REDRAW_MS).unref();
  };
  const phase = phasesOf(now, {
    began: (state) => {
      open.add(state);
      redrawSoon();
    },
    changed: redrawSoon,
    ended: (state) => {
      open.delete(state);
      const named = `✓ ${state.name.padEnd(NAME_WIDTH)} `;
      const [first, ...rest] = wrapped(`${named}${details(state, now(), true)}`, columns(), 4);
      const { green, dim } = colours;
      draw([`${green('✓')}${named.slice(1)}${dim(first.slice(named.length))}`, ...rest.map(dim)]);
    },
  });
  const close = () => {
    open.clear();
    draw([]);
  };
  return { phase, log: (line) => draw(wrapped(line, columns(), 2)), close };
}

/** One line of at most `columns`. */
function barOf(state: PhaseState, now: number, columns: number, colours: Colours): string {
  const { total, done } = state;
  const share = total === null || total === 0 ? 0 : Math.min(1, done / total);
  const width = columns < 72 ? BAR_WIDTH / 2 : BAR_WIDTH;
  const filled = Math.round(share * width);
  const bar = `${colours.cyan('━'.repeat(filled))}${colours.dim('─'.repeat(width - filled))}`;
  const percent = total === null ? '    ' : `${String(Math.floor(share * 100)).padStart(3)}%`;
  const name = cut(state.name.padEnd(NAME_WIDTH), NAME_WIDTH);
  return `  ${name} ${bar} ${percent}  ${colours.dim(cut(details(state, now, false), columns - (NAME_WIDTH + width + 10)))}`;
}

function cut(text: string, columns: number): string {
  const characters = [...text];
  return characters.length <= columns ? text : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`;
}
