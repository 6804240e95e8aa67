// `reverie serve`: environments on a port, until it is told to stop.

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { reverieError } from '../core/errors.js';
import { listenForInterrupt } from '../run/interrupt.js';
import type { DeviceFlags } from '../run/job.js';
import type { RunningServer, ServeOptions } from '../serve/index.js';
import {
  collected,
  examplesText,
  type OutputFlags,
  type ScenarioFlags,
  withDeviceOptions,
  withScenarioOptions,
} from './options.js';
import { print, type Terminal } from './terminal.js';

interface ServeFlags extends ScenarioFlags, DeviceFlags, OutputFlags {
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
  readonly logLevel: string;
  readonly quiet?: boolean;
}

export function addServeCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('serve')
    .summary('serve environments to trainers')
    .description(
      'Serves scenarios, simulated or real, over HTTP and WebSocket in the protocols that trainers speak. See docs/serving.md.',
    )
    .argument('<scenario...>', 'built-in scenarios by name, or paths; name=SCENARIO serves one by another name')
    .addHelpText(
      'after',
      examplesText([
        ['reverie serve helpdesk', 'a service desk, in every protocol, on http://127.0.0.1:8000'],
        ['reverie serve cartpole-swingup --model runs/policy', 'the dream that a run of train has learned'],
        ['reverie serve real=hopper dream=hopper --model dream=runs/hopper', 'both, to compare'],
        ['reverie serve helpdesk --host 0.0.0.0 --token-file tokens.yaml', 'to other machines'],
      ]),
    );
  withServeOptions(command).action((scenarios: string[], flags: ServeFlags) => serve(scenarios, flags, terminal));
}

function withServeOptions(command: Command): Command {
  const model =
    'serve the dream of this world model (a run of fit or train, or the folder of the model): of all vector scenarios, or of the one served by that name; repeatable';
  const workers =
    'threads for physics and learned dynamics, and for each world of tools or text; 0: everything in one thread (default: one for each core but one, at least two for tools and text)';
  command
    .optionsGroup('Environments:')
    .option('--real', 'the real environments, even where there is a dream of them')
    .option('--model <[name=]folder>', model, collected);
  return withDeviceOptions(withScenarioOptions(command))
    .optionsGroup('Address:')
    .option('--host <address>', 'address to listen on; any that others reach needs tokens', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0: a free one', number('--port', 0, 65_535), 8000)
    .option('--allow-host <name>', 'a name it is also called by, such as that of a proxy; repeatable', collected)
    .option('--token-file <file>', 'who may come in (docs/serving.md); REVERIE_TOKEN holds the one of a single user')
    .optionsGroup('Limits:')
    .option('--workers <n>', workers, number('--workers', 0, 1024))
    .option('--max-sessions <n>', 'episodes under way at once', number('--max-sessions', 1, 1_000_000), 1024)
    .option('--idle-seconds <s>', 'close sessions without requests for this long', number('--idle-seconds', 1), 900)
    .option('--step-timeout <s>', 'seconds that a step may take', number('--step-timeout', 0.001, 86_400), 55)
    .option('--max-body-bytes <n>', 'largest request or frame', number('--max-body-bytes', 1024, 2 ** 30), 2 ** 20)
    .option('--drain-seconds <s>', 'how long sessions may go on once it is stopped', number('--drain-seconds', 0), 30)
    .optionsGroup('Run:')
    .option('--out <folder>', 'folder for what is kept while serving', 'runs/serve')
    .option('--persist', 'write sessions down there: they outlive the server, and the next one goes on with them')
    .option('--runs <folder>', 'runs that the page shows to operators (default: ./runs, if it is there)')
    .optionsGroup('Output:')
    .option('--log-level <level>', 'of what goes to stderr: debug, info, warn, error or silent', 'info')
    .option('--quiet', 'as --log-level warn')
    .option('--json', 'one JSON object on stdout when it is ready');
}

/** Reads a number of these bounds; whole where the lower one is. */
function number(flag: string, min: number, max = 1e9) {
  const whole = Number.isInteger(min);
  return (value: string): number => {
    const found = Number(value);
    if (value.trim() !== '' && found >= min && found <= max && (!whole || Number.isInteger(found))) return found;
    const expected = `a ${whole ? 'whole ' : ''}number from ${min} to ${max}`;
    throw reverieError('FLAG_INVALID', { flag, value, expected });
  };
}

/** `name=SCENARIO` or `SCENARIO`. */
function namedScenario(argument: string): { readonly name?: string; readonly reference: string } {
  const [, name, reference] = /^([^/\\=]*)=(.*)$/s.exec(argument) ?? [];
  return name === undefined ? { reference: argument } : { name, reference };
}

/** One model for all, or some by name. @throws FLAG_INVALID where there are two for all */
function modelsOf(given: readonly string[] = []): { model?: string; models: Record<string, string> } {
  const read = given.map(namedScenario);
  const [forAll, second] = read.filter(({ name }) => name === undefined);
  if (second !== undefined) {
    const expected = 'name=folder, as there is one for all already';
    throw reverieError('FLAG_INVALID', { flag: '--model', value: second.reference, expected });
  }
  const named = read.flatMap(({ name, reference }) => (name === undefined ? [] : [[name, reference] as const]));
  return { ...(forAll && { model: forAll.reference }), models: Object.fromEntries(named) };
}

/** Ends once a signal has come and everything is closed. */
async function serve(given: readonly string[], flags: ServeFlags, terminal: Terminal): Promise<void> {
  const options = await serveOptions(given, flags, terminal);
  const { logger } = options;
  const interrupt = listenForInterrupt({
    onFirst: () => logger.warn(`stopping: sessions may go on for ${flags.drainSeconds} s; once more ends at once`),
    onSecond: () => logger.warn('stopped at once'),
  });
  const survive = (error: unknown) => logger.error({ err: error }, 'unhandled rejection');
  process.on('unhandledRejection', survive);
  try {
    const { startServer } = await import('../serve/server.js');
    const server = await startServer(options);
    const { url, endpoints, sessions } = server;
    const served = [...sessions.environments.values()];
    const environments = served.map(({ name, source, family }) => ({ name, source, family }));
    const text = await readyText(server, terminal.stdout.columns);
    print(terminal, flags.json, { url, pid: process.pid, environments, endpoints }, text);
    logger.info({ url }, 'ready');
    if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort');
    await server.stop(flags.drainSeconds);
    logger.info('stopped');
  } finally {
    process.off('unhandledRejection', survive);
    interrupt.dispose();
  }
}

type LoggedOptions = ServeOptions & Required<Pick<ServeOptions, 'logger'>>;

async function serveOptions(given: readonly string[], flags: ServeFlags, terminal: Terminal): Promise<LoggedOptions> {
  const [{ LOG_LEVELS, makeLog }, { readTokens }, { HeldPort }, { HTTP_LIMITS }] = await Promise.all([
    import('../serve/observe/log.js'),
    import('../serve/http/access.js'),
    import('../serve/http/port.js'),
    import('../serve/http/requests.js'),
  ]);
  const level = LOG_LEVELS.find((one) => one === (flags.quiet ? 'warn' : flags.logLevel));
  if (level === undefined) {
    const expected = `one of ${LOG_LEVELS.join(', ')}`;
    throw reverieError('FLAG_INVALID', { flag: '--log-level', value: flags.logLevel, expected });
  }
  const { real, host, port, workers, maxBodyBytes, stepTimeout, device } = flags;
  const logger = makeLog({ to: terminal.stderr, level, pretty: terminal.stderr.isTTY });
  const named = given.map(namedScenario);
  const models = modelsOf(flags.model);
  const tokens = readTokens(flags.tokenFile, terminal.env.REVERIE_TOKEN);
  // No connection is cut while its answer is awaited.
  const httpLimits = { bodyBytes: maxBodyBytes, silentSeconds: Math.ceil(Math.max(180, 3 * stepTimeout)) };
  const held = await HeldPort.hold(host, port, tokens.length > 0, { ...HTTP_LIMITS, ...httpLimits });
  logger.info(`starting on ${held.url}: requests are answered 503 until all is open`);
  const folder = resolve(flags.out);
  const opening = async () => {
    const { ensureFolder } = await import('../core/files.js');
    await ensureFolder(folder);
    const { loadAnyScenario } = await import('../run/scenario.js');
    const { profile, set, seed } = flags;
    return Promise.all(named.map(({ reference }) => loadAnyScenario(reference, { profile, set, seed })));
  };
  const scenarios = await opening().catch(async (error) => {
    await held.close();
    throw error;
  });
  return {
    ...{ scenarios, names: named.map(({ name }) => name), real, device: { device }, ...models, folder, held },
    ...{ tokens, allowHosts: flags.allowHost, workers },
    runs: flags.runs ?? (existsSync('runs') ? 'runs' : undefined),
    ...(flags.persist ? { persist: join(folder, 'sessions') } : {}),
    limits: { slots: flags.maxSessions, idleSeconds: flags.idleSeconds, stepSeconds: stepTimeout },
    ...{ httpLimits, logger, log: (line: string) => logger.info(line) },
  };
}

/** What is served and where, each address ready to be pasted. */
async function readyText({ url, endpoints, sessions }: RunningServer, columns?: number): Promise<string> {
  const { terminalTable } = await import('../run/report.js');
  const served = [...sessions.environments.values()];
  const environments = served.map(({ name, source, family, description }) => [name, source, family, description]);
  const addresses = [
    ...endpoints.map(({ protocol, url: at }) => [protocol, at]),
    ['every route of the native API', `${url}/openapi.json`],
  ];
  const table = (heads: string[], rows: string[][]) =>
    terminalTable({ columns: heads, rows, alignment: 'text' }, columns);
  return [
    table(['environment', 'source', 'family', 'what it is'], environments),
    table(['protocol', 'address'], addresses),
    ...endpoints.flatMap(({ protocol, url: at, variables = [] }) => {
      if (variables.length === 0) return [];
      return [`Clients of ${protocol} need: export ${variables.map((name) => `${name}=${at}`).join(' ')}`];
    }),
    'Ctrl-C stops it.',
  ].join('\n\n');
}
