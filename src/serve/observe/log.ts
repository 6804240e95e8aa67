// The server's log: a JSON object a line for machines, one short line for a person at a terminal. Secrets stay out of it.

import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  readonly to: NodeJS.WritableStream;
  readonly level: LogLevel;
  /** For people: `12:04:31 info request GET /v1/sessions 201`. */
  readonly pretty?: boolean;
}

/** Names under which secrets travel, at any place where something could be logged whole. */
const SECRETS = [
  'authorization',
  'cookie',
  '["set-cookie"]',
  '["x-api-key"]',
  '["x-secrets"]',
  'token',
  'apiKey',
  'secrets',
];

export function makeLog({ to, level, pretty = false }: LogOptions): Logger {
  const paths = SECRETS.flatMap((name) => {
    const child = name.startsWith('[') ? name : `.${name}`;
    return [name, `*${child}`, `*.*${child}`];
  });
  const options = {
    level,
    redact: { paths, censor: '[secret]' },
    serializers: { err: (error: unknown) => errorOf(error) },
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const forPeople = new Writable({
    write(chunk, _encoding, done) {
      to.write(lineOf(String(chunk)));
      done();
    },
  });
  return pino(options, pretty ? forPeople : to);
}

/** Nothing of an error but what it says and where: its other fields may hold what a request held. */
function errorOf(error: unknown, causes = 3): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const cause = error.cause === undefined || causes === 0 ? {} : { cause: errorOf(error.cause, causes - 1) };
  return { type: error.name, message: error.message, stack: error.stack, ...cause };
}

/** A JSON line as one for people. */
function lineOf(json: string): string {
  const { time, level, msg = '', err, ...rest } = JSON.parse(json) as Record<string, unknown>;
  const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const facts = Object.entries(rest).map(([key, value]) => `${key}=${textOf(value)}`);
  const stack = (err as { stack?: string } | undefined)?.stack;
  return `${String(time).slice(11, 19)} ${level} ${[msg, ...facts].join(' ')}${stack === undefined ? '' : `\n${stack}`}\n`;
}
