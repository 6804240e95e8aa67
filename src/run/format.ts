// Numbers as people read them: counts, rates, durations, figures with a spread.

import type { Rate } from '../core/statistics.js';

const THIN = ' ';

/** `950`, `12.3 k`, `1.25 M`. */
export function formatCount(value: number): string {
  const size = Math.abs(value);
  if (size < 10_000) return String(Math.round(value));
  if (size < 1_000_000) return `${trimmed(value / 1_000)}${THIN}k`;
  if (size < 1_000_000_000) return `${trimmed(value / 1_000_000)}${THIN}M`;
  return `${trimmed(value / 1_000_000_000)}${THIN}G`;
}

/** `1.2 k steps/s`; empty for a rate of nothing. */
export function formatRate(perSecond: number, unit: string): string {
  if (perSecond <= 0 || !Number.isFinite(perSecond)) return '';
  const amount = perSecond < 10 ? trimmed(perSecond) : formatCount(perSecond);
  return unit === '' ? `${amount}/s` : `${amount} ${unit}/s`;
}

/** `4.2 s`, `37 s`, `3 min 05 s`, `2 h 07 min`. */
export function formatDuration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${pad(Math.floor((whole % 3600) / 60))} min`;
}

/** A figure to about three digits that matter: `0.0123`, `4.56`, `789`. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(size >= 1000 ? 4 : 3)));
}

/** `421 ± 12`; of one value, which has no spread, `421`. */
export function formatSpread(mean: number, spread: number, values = 2): string {
  return values < 2 ? formatNumber(mean) : `${formatNumber(mean)} ± ${formatNumber(spread)}`;
}

/** `83 %`, `4.5 %`; nearly all, which is not all: `> 99 %`; a share that is not known, or of nothing: `–`. */
export function formatPercent(share: number | null): string {
  if (share === null || Number.isNaN(share)) return '–';
  const text = (100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0);
  return `${text === '100' && share < 1 - 1e-9 ? '> 99' : text} %`;
}

/** `83 % of 40 (68 % to 92 %)`. */
export function formatShare({ value, low, high, of }: Rate): string {
  return `${formatPercent(value)} of ${formatCount(of)} (${formatPercent(low)} to ${formatPercent(high)})`;
}

/** `12 loop, 3 stagnation`, the most first. */
export function formatCounts(counts: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(counts).sort(([, a], [, b]) => b - a);
  return sorted.map(([name, count]) => `${formatCount(count)} ${name}`).join(', ');
}

function trimmed(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

/** Columns that a text takes: characters, not code units, and no colours. */
export function widthOf(text: string): number {
  return [...text.replaceAll(COLOUR, '')].length;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one.
const COLOUR = /\u001b\[[\d;]*m/g;

/** The text in lines of at most `columns`, broken between words where words fit; later lines are indented. */
export function wrapped(text: string, columns = Number.POSITIVE_INFINITY, indent = 0): string[] {
  return text.split('\n').flatMap((paragraph) => {
    if (widthOf(paragraph) <= columns) return [paragraph];
    const lines: string[] = [];
    const margin = ' '.repeat(Math.min(indent, Math.max(0, columns - LEAST_TEXT)));
    let line = '';
    for (const word of paragraph.split(/(?<=\S)(?=\s)/)) {
      if (line.trim() === '' || widthOf(line + word) <= columns) {
        line += word;
      } else {
        lines.push(line);
        line = margin + word.trimStart();
      }
      while (widthOf(line) > columns) {
        lines.push([...line].slice(0, columns).join(''));
        line = margin + [...line].slice(columns).join('');
      }
    }
    return [...lines, line];
  });
}

const LEAST_TEXT = 20;

/** As a shell reads it back. */
export function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`;
}
