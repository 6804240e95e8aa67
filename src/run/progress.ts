// Progress of long work: on a terminal a line for each phase under way, redrawn below all others; elsewhere a plain line every ten seconds;
// nothing when asked to be quiet.

import type { OpenPhase, Phase } from '../core/progress.js';
import { coloursFor } from './colours.js';
import { formatCount, formatDuration, formatRate, wrapped } from './format.js';

export interface Progress {
  readonly phase: OpenPhase;
  /** A line for the human, above those of phases. */
  log(line: string): void;
  /** Takes the lines of open phases down. */
  close(): void;
}

interface ProgressOptions {
  readonly stream: NodeJS.WriteStream;
  readonly quiet?: boolean;
  /** Milliseconds, monotonic; for tests. */
  readonly now?: () => number;
}

interface PhaseState {
  readonly name: string;
  readonly total: number | null;
  readonly unit: string;
  readonly startedAt: number;
  /** Time and amount that the rate is counted from, half a minute to a minute ago, as work may slow down; and the next such. */
  marks: readonly (readonly [number, number])[];
  shownAt: number;
  done: number;
  note: string;
}

export const silentPhase: Phase = { advance() {}, set() {}, end() {} };

/** Between plain lines off a terminal, between drawings on one, and between marks that the rate is counted from. */
const [LINE_MS, REDRAW_MS, RATE_MS] = [10_000, 125, 30_000];

export function makeProgress({ stream, quiet, now = () => performance.now() }: ProgressOptions): Progress {
  if (quiet) return { phase: () => silentPhase, log() {}, close() {} };
  // What is redrawn needs a terminal that moves its cursor.
  const isDrawn = stream.isTTY === true && process.env.TERM !== 'dumb';
  const { green, dim } = coloursFor(stream);
  const columns = () => stream.columns || 80;
  const open = new Set<PhaseState>();
  let drawnLines = 0;
  let timer: NodeJS.Timeout | undefined;
  /** Takes the phases' lines away, writes `above`, and draws them again below it. */
  const draw = (above: readonly string[] = []) => {
    clearTimeout(timer);
    timer = undefined;
    const up = drawnLines > 1 ? `\u001b[${drawnLines - 1}A` : '';
    const cleared = drawnLines > 0 ? `\r${up}\u001b[J` : '';
    const line = (state: PhaseState) => [...`  ${lineOf(state, now(), false)}`].slice(0, columns() - 1).join('');
    const lines = isDrawn ? [...open].map(line) : [];
    drawnLines = lines.length;
    const text = cleared + above.map((line) => `${line}\n`).join('') + lines.join('\n');
    if (text !== '') stream.write(text);
  };
  /** Changes between two drawings are shown together. */
  const changed = (state: PhaseState) => {
    if (isDrawn) timer ??= setTimeout(() => draw(), REDRAW_MS).unref();
    else if (now() - state.shownAt >= LINE_MS) {
      state.shownAt = now();
      draw([lineOf(state, now(), false)]);
    }
  };
  const phase: OpenPhase = (name, total, unit = '') => {
    const mark: readonly [number, number] = [now(), 0];
    const times = { startedAt: mark[0], shownAt: mark[0], marks: [mark, mark] };
    const state = { name, total, unit, ...times, done: 0, note: '' };
    open.add(state);
    changed(state);
    const set = (done: number, note = state.note) => {
      Object.assign(state, { done, note });
      if (now() - state.marks[1][0] >= RATE_MS) state.marks = [state.marks[1], [now(), done]];
      changed(state);
    };
    const end = (note = state.note) => {
      state.note = note;
      open.delete(state);
      const line = lineOf(state, now(), true);
      if (!isDrawn) return draw([line]);
      const [first, ...rest] = wrapped(`✓ ${line}`, columns(), 4);
      draw([`${green('✓')}${dim(first.slice(1))}`, ...rest.map(dim)]);
    };
    return { set, advance: (by = 1, note) => set(state.done + by, note), end };
  };
  const close = () => {
    open.clear();
    draw();
  };
  return { phase, log: (line) => draw(isDrawn ? wrapped(line, columns(), 2) : [line]), close };
}

/** `train: 12.3 k/20 k steps · 1.2 k steps/s · 6 s left · return 421` */
function lineOf({ name, total, done, unit, note, startedAt, marks }: PhaseState, now: number, ended: boolean): string {
  const seconds = (now - startedAt) / 1000;
  const [from, before] = ended ? [startedAt, 0] : marks[0];
  const rate = now > from ? (1000 * (done - before)) / (now - from) : 0;
  const left = total === null || rate === 0 ? '' : `${formatDuration((total - done) / rate)} left`;
  const amount = total === null ? formatCount(done) : `${formatCount(done)}/${formatCount(total)}`;
  const clock = ended ? `in ${formatDuration(seconds)}` : left;
  return `${name}: ${[`${amount} ${unit}`.trim(), formatRate(rate, unit), clock, note].filter(Boolean).join(' · ')}`;
}
