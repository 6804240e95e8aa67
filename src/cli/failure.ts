// How a failure is told and which exit code it gives: 1 failed, 2 wrong usage, 130 interrupted.

import { CommanderError } from 'commander';
import { ReverieError } from '../core/errors.js';
import { coloursFor, RunInterrupted } from '../run/commands.js';
import type { Terminal } from './terminal.js';

export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** What the process is to end with when nothing was thrown. */
export interface Outcome {
  exitCode: number;
}

/** Tells `error` on stderr (with `json`, as one object on stdout too) and answers the exit code. */
export function tellFailure(error: unknown, terminal: Terminal, json: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const told = failureOf(error, terminal);
  terminal.stderr.write(`${told.text}\n`);
  if (json) terminal.stdout.write(`${JSON.stringify({ error: told.data })}\n`);
  return told.exitCode;
}

interface Failure {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly exitCode: number;
}

function failureOf(error: unknown, terminal: Terminal): Failure {
  const colours = coloursFor(terminal.stderr);
  const stack = terminal.env.REVERIE_DEBUG === '1' && error instanceof Error ? `\n${error.stack}` : '';
  if (error instanceof RunInterrupted) {
    const resume = `reverie ${error.job} --resume ${error.folder}`;
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
  return {
    text: `${colours.red('error:')} ${message}${way}`,
    data: { code: 'UNEXPECTED', message },
    exitCode: EXIT.failed,
  };
}
