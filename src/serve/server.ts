// Starts and stops a server of environments.

import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { reverieError } from '../core/errors.js';
import { kinds } from '../kinds/registry.js';
import type { DeviceFlags } from '../run/job.js';
import type { AnyScenario } from '../run/scenario.js';
import { openServable, type Servable } from '../run/servable.js';
import { versions } from '../run/versions.js';
import type { SessionLimits } from './core/limits.js';
import { openSessions, type Sessions } from './core/sessions.js';
import { hosted, type WorkerHost } from './hosts/worker-host.js';
import { LOOPBACK_NAMES, type TokenEntry, Tokens } from './http/access.js';
import { makeApp, type Phase } from './http/app.js';
import { openApiDocument, type ProtocolRoutes } from './http/openapi.js';
import { HeldPort } from './http/port.js';
import { HTTP_LIMITS, type HttpLimits } from './http/requests.js';
import { closeSockets } from './http/sockets.js';
import { ServerMetrics } from './observe/server-metrics.js';
import { pageRoutes } from './page/page.js';
import { mcpRoutes } from './protocols/mcp.js';
import { nativeDescriptions, nativeRoutes } from './protocols/native.js';
import { nemoRoutes } from './protocols/nemo.js';
import { openEnvRoutes } from './protocols/openenv.js';
import { orsRoutes } from './protocols/ors.js';
import { tasksRoutes } from './protocols/tasks.js';

export interface ServeOptions extends OpenOptions {
  /** Default: 127.0.0.1. Any address that others reach needs tokens. */
  readonly host?: string;
  /** 0: a free one. Default: 8000. */
  readonly port?: number;
  /** A port that is listened on already, in place of `host` and `port`. */
  readonly held?: HeldPort;
  /** Who may come in; none: every client of a loopback address. */
  readonly tokens?: readonly TokenEntry[];
  /** Names the server is also called by, e.g. behind a proxy: their pages may use it too. */
  readonly allowHosts?: readonly string[];
  readonly limits?: Partial<SessionLimits>;
  readonly httpLimits?: Partial<HttpLimits>;
  /**
   * Threads for physics and learned dynamics, and for each world of tools or text; 0: they compute in this thread, which then
   * serves no request meanwhile. Default: one for each core but one, at least two for tools and text.
   */
  readonly workers?: number;
  /** Folder that sessions are written to, so that they outlive the process; one server a folder. */
  readonly persist?: string;
  /** Requests and failures; none: they are not logged. */
  readonly logger?: Logger;
  /** Protocols of one's own beside those of the package. */
  readonly protocols?: readonly ProtocolRoutes[];
  /** Folder of runs that the page shows; none are shown unless given. */
  readonly runs?: string;
  /** What the page was built into; where a build of the package has it unless given. */
  readonly pageFiles?: string;
}

export interface RunningServer {
  /** `http://host:port`, reachable from this machine. */
  readonly url: string;
  /** Where each protocol is reached, and the page. */
  readonly endpoints: readonly Endpoint[];
  /** Every route there is. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  readonly sessions: Sessions;
  readonly metrics: ServerMetrics;
  /** Where environments live; none where they live in this thread. */
  readonly workerHost?: WorkerHost;
  /** Takes no new sessions, waits for those that are there up to `seconds`, then closes everything. */
  stop(seconds: number): Promise<void>;
}

/** An address to be pasted. */
export interface Endpoint {
  readonly protocol: string;
  readonly url: string;
  /** Where the address is of one environment alone. */
  readonly env?: string;
  /** Environment variables that its clients read the address from. */
  readonly variables?: readonly string[];
}

const PROTOCOLS = [nativeRoutes, openEnvRoutes, tasksRoutes, orsRoutes, mcpRoutes, nemoRoutes];

/** Seconds for answers that are being written when everything else is closed. */
const LAST_ANSWERS = 1;

/**
 * Holds the port first: until all is open, `/ready` says that it starts.
 * @throws ADDRESS_UNUSABLE, ENV_NAME_INVALID, SETTING_INVALID; as `openScenarios` and `openSessions`
 */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const { host = '127.0.0.1', tokens = [], workers, persist, runs, pageFiles, logger } = options;
  const limits = { ...HTTP_LIMITS, ...options.httpLimits };
  const opened = [...(options.environments ?? [])];
  const closeOpened = async () => {
    for (const one of opened) await one.close();
  };
  /** What undoes what was started, in the order of starting. */
  const ends: (() => Promise<void> | undefined)[] = [closeOpened];
  try {
    const port = options.held ?? (await HeldPort.hold(host, options.port ?? 8000, tokens.length > 0, limits));
    ends.push(() => {
      port.server.closeAllConnections();
      return port.close();
    });
    const { served, host: workerHost } = hosted(await openScenarios(options, opened), workers);
    ends.push(() => workerHost?.close());
    const quotas = new Map(tokens.map(({ owner, quota }) => [owner, quota]));
    const quotaOf = (owner: string) => quotas.get(owner) ?? {};
    const sessions = await openSessions(served, { limits: options.limits, persist, quotaOf });
    ends.push(() => sessions.drain(0));
    const { reverie: version } = versions();
    const metrics = new ServerMetrics({ sessions, version });
    sessions.events.on('event', (event) => metrics.onEvent(event));
    const spoken = [...PROTOCOLS, ...(options.protocols ?? [])];
    let phase: Phase = 'starting';
    const routes: { method: string; path: string }[] = [];
    const app = await makeApp({
      ...{ sessions, version, port, logger, metrics, limits: options.httpLimits, access: accessRules(options, port) },
      protocols: [...spoken, pageRoutes({ sessions, runs, files: pageFiles })],
      document: openApiDocument(nativeDescriptions, version),
      phase: () => phase,
      onRoute: ({ method, url }) => routes.push(...[method].flat().map((one) => ({ method: one, path: url }))),
    });
    await app.ready();
    phase = 'ready';
    workerHost?.warm();
    const stop = async (seconds: number) => {
      phase = 'draining';
      await sessions.drain(seconds);
      await closeApp(app, port);
      await workerHost?.close();
      await closeOpened();
    };
    let stopping: Promise<void> | undefined;
    const { url } = port;
    return {
      ...{ url, routes, sessions, metrics, workerHost },
      endpoints: [...endpointsAt(url, spoken, sessions.environments.keys()), { protocol: 'page', url: `${url}/web/` }],
      stop: (seconds) => (stopping ??= stop(seconds)),
    };
  } catch (error) {
    for (const end of ends.reverse()) await end();
    throw error;
  }
}

/** Where clients reach each protocol on a server at `url`. */
function endpointsAt(
  url: string,
  protocols: readonly ProtocolRoutes[],
  environments: Iterable<string>,
): readonly Endpoint[] {
  return protocols.flatMap(({ name: protocol, path = '', variables }): Endpoint[] => {
    if (!path.includes(':env')) return [{ protocol, url: `${url}${path}`, ...(variables && { variables }) }];
    return Array.from(environments, (env) => ({ protocol, env, url: `${url}${path.replace(':env', env)}` }));
  });
}

/** On loopback, names that a page could have rebound to it are refused; elsewhere strangers have no token. */
function accessRules({ tokens = [], allowHosts = [] }: ServeOptions, { address, isLoopback }: HeldPort) {
  const pagesOf = allowHosts.map((name) => name.toLowerCase());
  const own = address.includes(':') ? `[${address}]` : address;
  const hosts = isLoopback ? [...LOOPBACK_NAMES, own, ...pagesOf] : ('any' as const);
  return { hosts, pagesOf, ...(tokens.length === 0 ? {} : { tokens: new Tokens(tokens) }) };
}

async function closeApp(app: FastifyInstance, port: HeldPort): Promise<void> {
  await closeSockets(app.websocketServer);
  const timer = setTimeout(() => port.server.closeAllConnections(), LAST_ANSWERS * 1000);
  await Promise.all([app.close(), port.close()]);
  clearTimeout(timer);
}

// Opens what a server is to serve, each under the name it is served as.

interface OpenOptions {
  /** What is served: scenarios, the first of which clients get where they name none. */
  readonly scenarios: readonly AnyScenario[];
  /** Served after them: environments of one's own. The server closes them, also where it cannot start. */
  readonly environments?: readonly Servable[];
  /** What they are served as, in the same order; where it is not said, by their own names. */
  readonly names?: readonly (string | undefined)[];
  /** Serve the real environments even where there are simulations of them. */
  readonly real?: boolean;
  /** A world model, or a run that holds one, for the scenarios of family `vector`. */
  readonly model?: string;
  /** The same for single ones, by the name they are served as. */
  readonly models?: Readonly<Record<string, string>>;
  /** What learned dynamics run on; `auto` unless given. */
  readonly device?: DeviceFlags;
  /** Folder for what is kept while serving: replies of language models, experience. */
  readonly folder: string;
  readonly log: (line: string) => void;
}

/** Names become parts of paths. */
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/**
 * In the order given, scenarios first.
 * @param opened  what is opened is added to it, for the caller to close @throws FLAG_INVALID, ENV_NAME_INVALID; as `openServable`
 */
async function openScenarios(options: OpenOptions, opened: Servable[]): Promise<readonly Servable[]> {
  const names = options.scenarios.map(({ config }, i) => options.names?.[i] ?? config.name);
  const { environments = [] } = options;
  checkNames([...names, ...environments.map(({ name }) => name)]);
  checkModels(options, names);
  const served: Servable[] = [];
  for (const [i, scenario] of options.scenarios.entries()) {
    const { real, folder, log, models, device } = options;
    const model = models?.[names[i]] ?? options.model;
    const wanted = { real, folder, log, device, ...(model === undefined ? {} : { model }) };
    log(`opening ${names[i]}`);
    const one = await openServable(scenario, wanted);
    opened.push(one);
    served.push(one.name === names[i] ? one : { ...one, name: names[i] });
  }
  return [...served, ...environments];
}

function checkNames(names: readonly string[]): void {
  for (const [i, name] of names.entries()) {
    if (!NAME.test(name))
      throw reverieError('ENV_NAME_INVALID', {
        problem: `An environment cannot be served as "${name}".`,
        hint: 'Names are parts of URLs: letters, digits, "_", "." and "-", at most 64, the first a letter or digit.',
      });
    if (names.indexOf(name) < i)
      throw reverieError('ENV_NAME_INVALID', {
        problem: `Two environments would be served as "${name}".`,
        hint: 'Give one of them another name: reverie serve other-name=SCENARIO.',
      });
  }
}

/** A model that nothing would use is a mistake. @throws FLAG_INVALID */
function checkModels({ scenarios, model, models = {}, real, device }: OpenOptions, names: readonly string[]): void {
  const vector = names.filter((_, i) => kinds.get(scenarios[i].family).representation === 'numbers');
  const refuse = (value: string, expected: string, flag = '--model') => {
    throw reverieError('FLAG_INVALID', { flag, value, expected });
  };
  const given = model ?? Object.values(models)[0];
  const asked = device?.device ?? 'auto';
  if (given === undefined && asked !== 'auto' && asked !== 'cpu')
    refuse(asked, 'auto or cpu, as no world model is served (--model)', '--device');
  if (given !== undefined && real) refuse(given, 'none, as --real serves the real environments');
  if (model !== undefined && vector.length === 0) refuse(model, 'none, as no scenario of family vector is served');
  const stray = Object.entries(models).find(([name]) => !vector.includes(name));
  if (stray !== undefined)
    refuse(stray.join('='), `the name of a served vector environment (${vector.join(', ') || 'none is'})`);
}
