// What `reverie serve` is told on the command line, checked and turned into what a server is started with.

import type { Command } from 'commander';
import { reverieError } from '../core/errors.js';
import type { DeviceFlags } from '../run/job.js';
import { collected, withDeviceOptions, withScenarioOptions } from './options.js';

export interface ServeFlags extends DeviceFlags {
  readonly profile?: string;
  readonly set?: readonly string[];
  readonly seed?: number;
  readonly real?: boolean;
  readonly model?: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly allowHost?: readonly string[];
  readonly tokenFile?: string;
  readonly workers?: number;
  readonly maxSessions: number;
  readonly idleSeconds: number;
  readonly stepTimeout: number;
  readonly maxBodyBytes: number;
  readonly drainSeconds: number;
  readonly out: string;
  readonly persist?: boolean;
  readonly runs?: string;
  readonly log?: string;
  readonly logLevel: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export function withServeOptions(command: Command): Command {
  command
    .optionsGroup('Environments:')
    .option('--real', 'the real environments, even where there is a dream of them')
    .option(
      '--model <[name=]folder>',
      'serve the dream of this world model (a run of fit or train, or the folder of the model): of all vector scenarios, or of the one served by that name; repeatable',
      collected,
    );
  withDeviceOptions(withScenarioOptions(command))
    .optionsGroup('Address:')
    .option('--host <address>', 'address to listen on; any that others reach needs tokens', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0: a free one', numberFlag('--port', 0, 65_535), 8000)
    .option('--allow-host <name>', 'a name it is also called by, such as that of a proxy; repeatable', collected)
    .option('--token-file <file>', 'who may come in (docs/serving.md); REVERIE_TOKEN holds the one of a single user')
    .optionsGroup('Limits:')
    .option(
      '--workers <n>',
      'threads for physics and learned dynamics, and for each world of tools or text; 0: everything in one thread (default: one for each core but one, at least two for tools and text)',
      numberFlag('--workers', 0, 1024),
    )
    .option('--max-sessions <n>', 'episodes under way at once', numberFlag('--max-sessions', 1, 1_000_000), 1024)
    .option(
      '--idle-seconds <s>',
      'close sessions that nobody asked for this long',
      numberFlag('--idle-seconds', 1),
      900,
    )
    .option('--step-timeout <s>', 'seconds that a step may take', numberFlag('--step-timeout', 0.001, 86_400), 55)
    .option('--max-body-bytes <n>', 'largest request or frame', numberFlag('--max-body-bytes', 1024, 2 ** 30), 2 ** 20)
    .option(
      '--drain-seconds <s>',
      'how long sessions may go on once it is stopped',
      numberFlag('--drain-seconds', 0),
      30,
    )
    .optionsGroup('Run:')
    .option('--out <folder>', 'folder for what is kept while serving', 'runs/serve')
    .option('--persist', 'write sessions down there: they outlive the server, and the next one goes on with them')
    .option('--runs <folder>', 'runs that the page shows to operators (default: ./runs, if it is there)')
    .optionsGroup('Output:')
    .option('--log <file>', 'append the log to a file (default: stderr)')
    .option('--log-level <level>', 'debug, info, warn, error or silent', 'info')
    .option('--quiet', 'log failures alone')
    .option('--json', 'one JSON object on stdout when it is ready');
  return command;
}

/** `name=SCENARIO` or `SCENARIO`. */
export function namedScenario(argument: string): { readonly name?: string; readonly reference: string } {
  const [, name, reference] = /^([^/\\=]*)=(.*)$/s.exec(argument) ?? [];
  return name === undefined ? { reference: argument } : { name, reference };
}

/** One model for all, or some by name. @throws FLAG_INVALID where there are two for all */
export function modelsOf(given: readonly string[] = []): { model?: string; models: Record<string, string> } {
  const read = given.map(namedScenario);
  const forAll = read.filter(({ name }) => name === undefined);
  if (forAll.length > 1) {
    throw reverieError('FLAG_INVALID', {
      flag: '--model',
      value: forAll[1].reference,
      expected: 'name=folder, as there is one for all already',
    });
  }
  const named = read.flatMap(({ name, reference }) => (name === undefined ? [] : [[name, reference] as const]));
  return { ...(forAll.length === 0 ? {} : { model: forAll[0].reference }), models: Object.fromEntries(named) };
}

/** Reads a number of these bounds; whole where the lower one is. */
export function numberFlag(flag: string, min: number, max = 1e9) {
  const whole = Number.isInteger(min);
  return (value: string): number => {
    const number = Number(value);
    const fits = value.trim() !== '' && number >= min && number <= max && (!whole || Number.isInteger(number));
    if (fits) return number;
    throw reverieError('FLAG_INVALID', {
      flag,
      value,
      expected: `a ${whole ? 'whole ' : ''}number from ${min} to ${max}`,
    });
  };
}
