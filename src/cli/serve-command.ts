// `reverie serve`: environments on a port, until it is told to stop.

import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { reverieError } from '../core/errors.js';
import { listenForInterrupt } from '../run/interrupt.js';
import type { RunningServer, ServeOptions } from '../serve/index.js';
import { examplesText } from './options.js';
import { modelsOf, namedScenario, type ServeFlags, withServeOptions } from './serve-flags.js';
import type { Terminal } from './terminal.js';

export function addServeCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('serve')
    .summary('serve environments to trainers')
    .description(
      'Serves scenarios, dreamt or real, over HTTP and WebSocket in the protocols that trainers speak. See docs/serving.md.',
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
    terminal.stdout.write(`${flags.json ? readyJson(server) : await readyText(server, terminal.stdout.columns)}\n`);
    logger.info({ url: server.url }, 'ready');
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
  const level = LOG_LEVELS.find((one) => one === flags.logLevel);
  if (level === undefined) {
    const expected = `one of ${LOG_LEVELS.join(', ')}`;
    throw reverieError('FLAG_INVALID', { flag: '--log-level', value: flags.logLevel, expected });
  }
  const { profile, set, seed, real, host, port, allowHost, workers, maxBodyBytes, stepTimeout } = flags;
  const { device, precision } = flags;
  const logger = makeLog({
    to: flags.log ?? terminal.stderr,
    level: flags.quiet ? 'warn' : level,
    pretty: flags.log === undefined && terminal.stderr.isTTY,
  });
  const named = given.map(namedScenario);
  const models = modelsOf(flags.model);
  const tokens = readTokens(flags.tokenFile, terminal.env.REVERIE_TOKEN);
  // No connection is cut while its answer is awaited.
  const httpLimits = { bodyBytes: maxBodyBytes, silentSeconds: Math.ceil(Math.max(180, 3 * stepTimeout)) };
  const held = await HeldPort.hold({
    host,
    port,
    hasTokens: tokens.length > 0,
    limits: { ...HTTP_LIMITS, ...httpLimits },
  });
  logger.info(`starting on ${held.url}: requests are answered 503 until all is open`);
  const folder = resolve(flags.out);
  const opening = async () => {
    mkdirSync(folder, { recursive: true });
    return loadedScenarios(named, { profile, set, seed });
  };
  const scenarios = await opening().catch(async (error) => {
    await held.close();
    throw error;
  });
  return {
    scenarios,
    names: named.map(({ name }) => name),
    real,
    device: { device, precision },
    ...models,
    folder,
    held,
    tokens,
    allowHosts: allowHost,
    workers,
    runs: flags.runs ?? (existsSync('runs') ? 'runs' : undefined),
    ...(flags.persist ? { persist: join(folder, 'sessions') } : {}),
    limits: { slots: flags.maxSessions, idleSeconds: flags.idleSeconds, stepSeconds: stepTimeout },
    httpLimits,
    logger,
    log: (line) => logger.info(line),
  };
}

async function loadedScenarios(named: readonly { readonly reference: string }[], options: ScenarioFlags) {
  const { loadAnyScenario } = await import('../run/scenario.js');
  return Promise.all(named.map(({ reference }) => loadAnyScenario(reference, options)));
}

type ScenarioFlags = Pick<ServeFlags, 'profile' | 'set' | 'seed'>;

/** What is served and where, each address ready to be pasted. */
async function readyText({ url, endpoints, sessions }: RunningServer, columns?: number): Promise<string> {
  const { terminalTable } = await import('../run/report.js');
  const environments = [...sessions.environments.values()].map(({ name, source, family, description }) => {
    return [name, source, family, description];
  });
  const addresses = [...endpoints.map(({ protocol, url: at }) => [protocol, at]), ['every route', `${url}/docs`]];
  return [
    terminalTable(
      { columns: ['environment', 'source', 'family', 'what it is'], rows: environments, alignment: 'text' },
      columns,
    ),
    terminalTable({ columns: ['protocol', 'address'], rows: addresses, alignment: 'text' }, columns),
    ...endpoints.flatMap(({ protocol, url: at, variables = [] }) => {
      if (variables.length === 0) return [];
      return [`Clients of ${protocol} need: export ${variables.map((name) => `${name}=${at}`).join(' ')}`];
    }),
    'Ctrl-C stops it.',
  ].join('\n\n');
}

function readyJson({ url, endpoints, sessions }: RunningServer): string {
  const environments = [...sessions.environments.values()].map(({ name, source, family }) => ({
    name,
    source,
    family,
  }));
  return JSON.stringify({ url, pid: process.pid, environments, endpoints });
}
