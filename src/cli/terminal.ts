// What a command writes to, and how a failure is told: exit code 1 failed, 2 wrong usage, 130 interrupted.

import { CommanderError } from 'commander';
import { ReverieError } from '../core/errors.js';
import { coloursFor } from '../run/colours.js';
import { quoted } from '../run/format.js';
import { RunInterrupted } from '../run/interrupt.js';

/** Results go to stdout, everything said along the way to stderr. */
export interface Terminal {
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** What the process is to end with when nothing was thrown. */
export interface Outcome {
  exitCode: number;
}

/** A reader that goes away (`reverie scenarios | head -1`) ends the command quietly. */
export function endWhenReaderLeaves({ stdout, stderr }: Terminal, exit: (code: number) => void): void {
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      exit(0);
    });
  }
}

/** One result: with `json` as one object, else as text for people. */
export function print({ stdout }: Terminal, json: boolean | undefined, data: unknown, text: string): void {
  stdout.write(`${json ? JSON.stringify(data) : text}\n`);
}

/** Tells `error` on stderr (with `json`, as one object on stdout too) and answers the exit code. */
export function tellFailure(error: unknown, terminal: Terminal, json: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const { text, data, exitCode } = failureOf(error, terminal);
  terminal.stderr.write(`${text}\n`);
  if (json) terminal.stdout.write(`${JSON.stringify({ error: data })}\n`);
  return exitCode;
}

function failureOf(error: unknown, terminal: Terminal): { text: string; data: object; exitCode: number } {
  const colours = coloursFor(terminal.stderr);
  const stack = terminal.env.REVERIE_DEBUG === '1' && error instanceof Error ? `\n${error.stack}` : '';
  if (error instanceof RunInterrupted) {
    const resume = `reverie ${error.job} --resume ${quoted(error.folder)}`;
    const data = { code: 'INTERRUPTED', message: error.message, resume };
    return { text: `${error.message}\nGo on with: ${colours.bold(resume)}`, data, exitCode: EXIT.interrupted };
  }
  if (error instanceof ReverieError) {
    const { code, message, hint } = error;
    const text = `${colours.red(`error[${code}]:`)} ${message}\n${colours.dim(`hint: ${hint}`)}${stack}`;
    return { text, data: { code, message, hint }, exitCode: EXIT.failed };
  }
  const message = error instanceof Error ? error.message : String(error);
  const way = stack || '\nThis should not happen. Set REVERIE_DEBUG=1 to see where it came from, and please report it.';
  const data = { code: 'UNEXPECTED', message };
  return { text: `${colours.red('error:')} ${message}${way}`, data, exitCode: EXIT.failed };
}
