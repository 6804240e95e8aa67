// Pages as a domain: its tools are what can be done on a screen, its state is the screen, its tasks are pages by seed. The browser
// that runs the pages is the exact code of it.

import { contentHash, type JsonObject } from '../core/canonical-json.js';
import { nameHint, type ReverieError, reverieError } from '../core/errors.js';
import {
  ANSWERS,
  actionLine,
  isSaid,
  PAGE_ACTIONS,
  parseAction,
  SCREEN_ACTIONS,
  type ScreenAction,
  screenTools,
} from '../env/screens/screen-actions.js';
import { NO_SCREEN, SCREEN_SCHEMA, type ScreenState, screenText, treeFaults } from '../env/screens/screen-state.js';
import type {
  CallSpec,
  CheckResult,
  EpisodeEnd,
  OutcomeClaim,
  Picture,
  ToolOutcome,
  ToolRules,
  ToolsDomain,
} from '../env/tools/domain.js';
import type { ToolCall } from '../env/tools/message.js';
import type { Operation } from '../env/tools/prediction.js';
import { type Begun, taskOfGame } from '../env/tools/rules-responder.js';
import { mechanicalScreen, saidOn, screenChanges, unmetOn, unshownOn } from './mechanics.js';
import { type PageMoment, WHOLE_REWARD } from './page/page-browser.js';
import { actionReadings, possibleActions, screenRefusals } from './screen-actions.js';
import { type BrowserPages, browserPlayer, type ScreenPlayer, SEATS, SETTLE_MS } from './screen-player.js';
import type { ScreenPage } from './seeded-pages.js';

export interface ScreensDomainOptions extends BrowserPages {
  readonly id: string;
  /** SHA-256 or the like of all files that decide what the pages are. */
  readonly version: string;
  /** What can be done; default: all that the browser can do. */
  readonly actions?: readonly ScreenAction[];
  readonly policy?: string;
}

/** Changes whenever the same action on the same page could be answered otherwise. */
const RULES_VERSION = '2';
/** Actions after which a solution counts as lost. */
const SOLUTION = 40;
/** Of applications: each probe takes a server and its pages. */
const PROBED_TASKS = 3;
/** Need to know where things are. */
const needsLayout = (name: ScreenAction) => name === 'drag_and_drop' || name === 'scroll';

const POLICY =
  'You use a page to do what you are asked to. The screen is shown as a tree of elements, each with its id in brackets. Take one action each turn and see what the screen becomes. An action that cannot be carried out changes nothing.';

/** What pages are not where they should be. */
export function pagesNotFound(
  { what, package: name, variable }: { readonly what: string; readonly package: string; readonly variable: string },
  place: string,
  problem: string,
): ReverieError {
  return reverieError('ENV_UNUSABLE', {
    problem: `The pages of ${what} were not found by "${place}": ${problem}.`,
    hint: `Run "pip install ${name}" for the Python that REVERIE_PYTHON names (python3 by default), or name their folder: domain.pages, or ${variable}.`,
  });
}

/** An application that is not where it should be. @param install  how it comes there */
export function appNotFound(app: string, place: string, install: string): ReverieError {
  return reverieError('ENV_UNUSABLE', {
    problem: `The application ${app} was not found by "${place}".`,
    hint: install,
  });
}

/** @param where why it is none, where there is more to say */
export function pageUnknown(what: string, value: string, where: string, known: readonly string[]): ReverieError {
  const problem = `${what} has no task "${value}"${where}.`;
  return reverieError('NAME_UNKNOWN', { problem, hint: nameHint(value, known) });
}

/** No browser is started before a page is opened. @throws ENV_UNUSABLE, ENV_UNUSABLE */
export function screensDomain(options: ScreensDomainOptions): ToolsDomain {
  if (options.screenshots && options.browser === 'jsdom')
    throw reverieError('ENV_UNUSABLE', {
      problem: 'There are no screenshots here: jsdom has no layout and draws nothing.',
      hint: 'Set domain.browser to chromium, or leave out domain.screenshots.',
    });
  const { id, pages, browser, contract, settle = SETTLE_MS } = options;
  const able = SCREEN_ACTIONS.filter((name) => name !== ANSWERS && (browser !== 'jsdom' || !needsLayout(name)));
  const isApp = pages.some(({ app }) => app !== undefined);
  const fitting = able.filter((name) => isApp || !(PAGE_ACTIONS as readonly ScreenAction[]).includes(name));
  const actions = fitting.filter((name) => options.actions?.includes(name) ?? true);
  return playedScreens({
    ...options,
    player: browserPlayer(options),
    actions,
    rules: `${id} pages ${RULES_VERSION} ${browser} ${settle}`,
    content: { contract },
    atOnce: SEATS,
    ...(isApp && { probedTasks: PROBED_TASKS }),
  });
}

interface PlayedScreensOptions extends Pick<ScreensDomainOptions, 'id' | 'pages' | 'version' | 'policy'> {
  readonly player: ScreenPlayer;
  readonly actions: readonly ScreenAction[];
  /** Version of what answers. */
  readonly rules: string;
  /** What else the domain's version depends on. */
  readonly content?: Readonly<Record<string, unknown>>;
  readonly atOnce?: number;
  readonly probedTasks?: number;
}

/** A domain of screens, for any player. */
export function playedScreens(options: PlayedScreensOptions): ToolsDomain {
  const { id, pages, policy = POLICY, actions, version } = options;
  const rules = new ScreenRules(options);
  const content = { id, policy, version, rules: rules.version, ...options.content, actions };
  return {
    id,
    version: contentHash({ ...content, pages: pages.map((page) => page.id) } as unknown as JsonObject),
    policy,
    tools: screenTools(actions),
    stateSchema: SCREEN_SCHEMA,
    initialState: NO_SCREEN,
    tasks: pages.map((page) =>
      taskOfGame(page, { begin: () => rules.begin(page.id), solution: () => rules.solution(page.id) }),
    ),
    rules,
    paysCalls: true,
    rendering: (state) => screenText(state as ScreenState),
    face: 'screen',
    close: () => rules.close(),
  };
}

class ScreenRules implements ToolRules {
  readonly tools: ReadonlySet<string>;
  readonly refusesItself = true;
  readonly earned = ['reward', 'done'];
  readonly version: string;
  readonly atOnce?: number;
  readonly probedTasks?: number;
  private readonly actions: readonly ScreenAction[];
  private readonly pages: ReadonlyMap<string, ScreenPage>;
  private readonly player: ScreenPlayer;

  constructor(options: PlayedScreensOptions) {
    const { pages, actions, player, rules, atOnce, probedTasks } = options;
    this.version = rules;
    this.actions = actions;
    this.player = player;
    this.tools = new Set(actions);
    if (atOnce !== undefined) this.atOnce = atOnce;
    if (probedTasks !== undefined) this.probedTasks = probedTasks;
    this.pages = new Map(pages.map((page) => [page.id, page]));
  }

  begin(id: string): Begun {
    const state = this.begun(id);
    return { opening: openingOf(state), goal: state.goal, operations: screenChanges(NO_SCREEN, state) };
  }

  /** Actions that do the task, where one is known; undefined where that is not known, or it fails. */
  solution(id: string): readonly CallSpec[] | undefined {
    const { solve } = this.pages.get(id)!;
    if (solve === undefined) return this.player.solution?.(id);
    const calls: CallSpec[] = [];
    let state = this.begun(id);
    while (!state.done && calls.length < SOLUTION) {
      const line = solve(state);
      const call = line === undefined ? undefined : parseAction(line, this.actions);
      if (call === undefined || typeof call === 'string' || screenRefusals(state, call).length > 0) return undefined;
      const after = this.acted(state, call);
      if (typeof after === 'string') return undefined;
      calls.push(call);
      state = after;
    }
    return state.done && state.reward >= WHOLE_REWARD ? calls : undefined;
  }

  execute(state: JsonObject, call: ToolCall): ToolOutcome {
    const before = state as ScreenState;
    const refusals = screenRefusals(before, call);
    if (refusals.length > 0) return refusal(refusals);
    const after = this.acted(before, call);
    if (typeof after === 'string') return refusal([after]);
    return {
      operations: operationsTo(before, after),
      observation: screenText(after),
      isError: false,
      reward: after.reward - before.reward,
      terminated: after.done,
    };
  }

  mechanics(state: JsonObject, call: CallSpec): ToolOutcome | undefined {
    if (this.hearsAnswers && isSaid(call)) return undefined;
    const before = state as ScreenState;
    const refusals = screenRefusals(before, call);
    if (refusals.length > 0) return refusal(refusals);
    const after = mechanicalScreen(before, call);
    return after && { operations: operationsTo(before, after), observation: screenText(after), isError: false };
  }

  unmet(after: JsonObject, call: CallSpec): readonly string[] {
    return unmetOn(after as ScreenState, call);
  }

  unshown(before: JsonObject, after: JsonObject, claim: OutcomeClaim): readonly string[] {
    return unshownOn(before as ScreenState, after as ScreenState, claim);
  }

  preconditions(state: JsonObject, call: ToolCall): readonly string[] {
    return screenRefusals(state as ScreenState, call);
  }

  picture(state: JsonObject): Picture | undefined {
    const { page, history } = state as ScreenState;
    return page === '' ? undefined : this.player.picture?.(page, this.deedsOf(history));
  }

  admissible(state: JsonObject): readonly string[] {
    const screen = state as ScreenState;
    const texts = this.actions.includes(ANSWERS) ? this.player.answers?.(screen.page, screen) : undefined;
    return possibleActions(screen, this.actions, texts);
  }

  readings(state: JsonObject, lines: readonly string[]): readonly string[] {
    return actionReadings(state as ScreenState, lines.map(this.callOf));
  }

  readonly callOf = (line: string): CallSpec => parseAction(line, this.actions) as CallSpec;

  invariants(_before: JsonObject, after: JsonObject): readonly string[] {
    return treeFaults(after as ScreenState);
  }

  check(name: string, { finalState }: EpisodeEnd): CheckResult {
    const { done, reward } = finalState as ScreenState;
    const passed = done && reward >= WHOLE_REWARD;
    const reason = done ? `the page ended the task with a reward of ${reward}` : 'the task was not ended';
    return { name, passed, reason };
  }

  close(): void {
    this.player.close();
  }

  private begun(id: string): ScreenState {
    return stateOf(id, this.player.begin(id), []);
  }

  private acted(before: ScreenState, call: CallSpec): ScreenState | string {
    const { page, goal, history } = before;
    const said = this.hearsAnswers ? undefined : saidOn(before, call);
    if (said !== undefined) return said;
    const moment = this.player.act(page, this.deedsOf(history), call);
    if (typeof moment === 'string') return moment;
    return stateOf(page, moment, [...history, actionLine(call)], goal);
  }

  /** Whether what is said is for the player to judge. */
  private get hearsAnswers(): boolean {
    return this.player.answers !== undefined;
  }

  /** What was done on the page; what was only said is left out where no page hears it. */
  private deedsOf(history: readonly string[]): readonly CallSpec[] {
    const calls = history.map(this.callOf);
    return this.hearsAnswers ? calls : calls.filter((call) => !isSaid(call));
  }
}

function refusal(reasons: readonly string[]): ToolOutcome {
  return { operations: [], observation: `Error: ${reasons.join('; ')}`, isError: true };
}

/** With what was done. */
function operationsTo(before: ScreenState, after: ScreenState): Operation[] {
  const said: Operation = { op: 'add', path: '/history/-', value: after.history.at(-1)! };
  return [...screenChanges(before, after), said];
}

/** The goal is what was asked at the beginning, whatever the page says later. */
function stateOf(page: string, moment: PageMoment, history: readonly string[], goal = moment.goal): ScreenState {
  const { focused, root, elements, reward, done, tabs, tab } = moment;
  const pages = tabs === undefined ? {} : { tabs, tab };
  return { page, goal, focused, root, elements, reward, done, ...pages, history } as ScreenState;
}

function openingOf(state: ScreenState): string {
  return `${state.goal}\n\n${screenText(state)}`;
}
