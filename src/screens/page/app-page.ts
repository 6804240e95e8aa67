// An application in Chromium: several pages in tabs, each reached over the network of this machine, and what was earned told by the
// application's own data.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { BrowserContext, Page } from 'playwright-core';
import { compiledUrl } from '../../core/threads.js';
import type { ScreenView } from '../../env/screens/screen-state.js';
import type { CallSpec } from '../../env/tools/domain.js';
import { actionFault, carryOut, pictureOf } from './chromium-input.js';
import {
  type AppSpec,
  installScript,
  type OpenPage,
  type PageMoment,
  type PageSpec,
  WHOLE_REWARD,
} from './page-browser.js';

/** The page's time passes so many milliseconds at once, and between them what it asked its server for arrives. */
const STEP_MS = 250;
/** Longest wait for the network after one such step. */
const NETWORK_MS = 5_000;
/** How long nothing must be under way for it to have arrived. */
const QUIET_MS = 30;
const LOAD_MS = 30_000;
/** Stands for the folder of its data. */
const DATA = '{data}';
const LOADED = { waitUntil: 'load', timeout: LOAD_MS } as const;

type Judge = (app: Pick<AppServer, 'url' | 'folder'>, task: AppSpec['judge']['task']) => Promise<number>;

/** The default export of the judge's module. @throws where there is none */
async function judgeOf({ judge: { module } }: AppSpec): Promise<Judge> {
  const { default: judge } = (await import(pathToFileURL(module).href)) as { readonly default?: Judge };
  if (typeof judge !== 'function') throw new Error(`${module} has no function as its default export`);
  return judge;
}

export class AppPage implements OpenPage {
  private tabs: Page[] = [];
  private active: Page | undefined;
  private underWay = 0;
  /** The largest id that an element has. */
  private ids = 0;

  private constructor(
    private readonly spec: PageSpec,
    private readonly app: AppSpec,
    private readonly server: AppServer,
    private readonly context: BrowserContext,
    private readonly judge: Judge,
  ) {}

  /** Takes the server and the context: they go with it. */
  static async open(spec: PageSpec, server: AppServer, context: BrowserContext): Promise<AppPage> {
    const app = spec.app!;
    const page = new AppPage(spec, app, server, context, await judgeOf(app));
    await context.addInitScript({ content: installScript(spec) });
    await page.begin();
    return page;
  }

  async act({ name, arguments: given }: CallSpec): Promise<void> {
    try {
      if (!(await this.actOnPages(name, given))) await carryOut(this.active!, { name, arguments: given });
    } catch (error) {
      throw actionFault(error);
    }
    await this.settle(name === 'noop' ? Number(given['wait_ms'] ?? 1000) : this.spec.settle);
  }

  async look(): Promise<PageMoment> {
    const view = await this.view();
    for (const id of Object.keys(view.elements)) this.ids = Math.max(this.ids, Number(id));
    const tabs = await Promise.all(this.tabs.map((tab) => this.told(tab)));
    const reward = await this.judge(this.server, this.app.judge.task);
    const seen = this.spec.screenshots ? { picture: await pictureOf(this.active!, this.spec.contract, view) } : {};
    const tab = this.tabs.indexOf(this.active!);
    return { ...view, tabs, tab, goal: this.app.goal, reward, done: reward >= WHOLE_REWARD, ...seen };
  }

  async close(): Promise<void> {
    await this.context.close();
    await this.server.stop();
  }

  private async begin(): Promise<void> {
    const { context, server } = this;
    // Nothing of it leaves this machine.
    await context.route('**/*', (route, request) => {
      const isOwn = /^(data|blob):/.test(request.url()) || request.url().startsWith(`${server.url}/`);
      return isOwn ? route.continue() : route.abort();
    });
    context.on('request', () => {
      this.underWay += 1;
    });
    const ended = () => {
      this.underWay -= 1;
    };
    context.on('requestfinished', ended);
    context.on('requestfailed', ended);
    context.on('page', (tab) => this.opened(tab));
    await this.openTab();
    await this.settle(this.spec.settle);
  }

  /** A new one is the one that is seen. */
  private opened(tab: Page): void {
    this.tabs.push(tab);
    this.active = tab;
    // What the page asks is meant: the agent was told nothing of it.
    tab.on('dialog', (dialog) => dialog.accept());
    tab.on('close', () => {
      this.tabs = this.tabs.filter((one) => one !== tab);
      if (this.active === tab) this.active = this.tabs.at(-1);
    });
  }

  private async openTab(): Promise<void> {
    const tab = await this.context.newPage();
    await tab.goto(`${this.server.url}${this.app.path}`, LOADED);
  }

  private placed(path: string): string {
    return path.replaceAll(DATA, encodeURIComponent(this.server.folder));
  }

  /** Whether it was an action on pages. */
  private async actOnPages(name: string, given: CallSpec['arguments']): Promise<boolean> {
    const active = this.active!;
    const deeds: Readonly<Record<string, () => Promise<unknown>>> = {
      goto: () => active.goto(`${this.server.url}${this.placed(String(given['url']))}`, LOADED),
      go_back: () => active.goBack(LOADED),
      go_forward: () => active.goForward(LOADED),
      new_tab: () => this.openTab(),
      tab_close: () => active.close(),
      tab_focus: () => {
        this.active = this.tabs[Number(given['index'])];
        return this.active.bringToFront();
      },
    };
    await deeds[name]?.();
    return name in deeds;
  }

  private async settle(milliseconds: number): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += STEP_MS) {
      await this.arrived();
      // A page that is just being left has no clock.
      await this.active!.evaluate(`window.reverieClock?.advance(${STEP_MS})`).catch(() => {});
    }
    await this.arrived();
  }

  private async arrived(): Promise<void> {
    const until = performance.now() + NETWORK_MS;
    for (let since = performance.now(); performance.now() < until; ) {
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS / 3));
      if (this.underWay > 0) since = performance.now();
      else if (performance.now() - since >= QUIET_MS) break;
    }
    await this.active!.waitForLoadState('load', { timeout: LOAD_MS }).catch(() => {});
  }

  private async view(): Promise<ScreenView> {
    const view = String(await this.active!.evaluate(`window.reverieView.look(${this.ids})`));
    return JSON.parse(this.withoutPlace(view)) as ScreenView;
  }

  /** Its path and its title. */
  private async told(tab: Page): Promise<string> {
    const address = tab.url();
    const path = address.startsWith(this.server.url) ? address.slice(this.server.url.length) : 'elsewhere';
    return this.withoutPlace(`${path} ${await tab.title().catch(() => '')}`.trim());
  }

  /** Where its data lies and its port are another's in the next episode: what it shows of them is told as the command has it. */
  private withoutPlace(text: string): string {
    const { url, folder } = this.server;
    const written = text.replaceAll(folder, DATA).replaceAll(encodeURIComponent(folder), DATA);
    return written.replaceAll(url.slice(url.indexOf('127.')), '127.0.0.1');
  }
}

const KEEPER = fileURLToPath(compiledUrl(import.meta.url, './app-keeper.js'));

/** For an application to answer, on a machine that is busy. */
const START_MS = 60_000;
const POLL_MS = 50;
/** Characters of what it wrote that an error tells. */
const MOST_TOLD = 400;

export class AppServer {
  private told = '';

  private constructor(
    /** Without a slash at the end. */
    readonly url: string,
    /** Where its data lies; gone with it. */
    readonly folder: string,
    private readonly keeper: ChildProcess,
  ) {
    for (const stream of [keeper.stdout!, keeper.stderr!])
      stream.on('data', (part) => {
        this.told = `${this.told}${part}`.slice(-MOST_TOLD);
      });
  }

  /** @throws Error with what it wrote, where it ends or does not answer in time */
  static async start({ name, command, files, path }: AppSpec): Promise<AppServer> {
    const folder = await mkdtemp(join(tmpdir(), 'reverie-app-'));
    for (const [file, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    }
    const port = await freePort();
    const words = command.map((word) => word.replaceAll('{port}', String(port)).replaceAll('{data}', folder));
    const keeper = spawn(process.execPath, [KEEPER, folder, ...words], { stdio: ['pipe', 'pipe', 'pipe'] });
    const server = new AppServer(`http://127.0.0.1:${port}`, folder, keeper);
    const until = performance.now() + START_MS;
    while (!(await isAnswering(`${server.url}${path}`))) {
      if (!server.hasEnded && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        continue;
      }
      const why = server.hasEnded ? 'ended as it started' : `did not answer within ${START_MS / 1000} s`;
      await server.stop();
      throw new Error(`${name} ${why}: ${server.told.trim() || 'it wrote nothing'}`);
    }
    return server;
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    const gone = new Promise((resolve) => this.keeper.once('exit', resolve));
    this.keeper.stdin!.end();
    await gone;
  }

  private get hasEnded(): boolean {
    return this.keeper.exitCode !== null || this.keeper.signalCode !== null;
  }
}

async function isAnswering(url: string): Promise<boolean> {
  try {
    const reply = await fetch(url, { redirect: 'manual' });
    await reply.body?.cancel();
    return reply.status < 500;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number };
      server.close(() => resolve(port));
    });
  });
}
