// Pages as a domain: its tools are what can be done on a screen, its state is the screen, its tasks are pages by seed. The browser
// that runs the pages is the exact code of it.

import type { JsonObject } from '../core/canonical-json.js';
import { contentHash } from '../core/canonical-json.js';
import { nearest, type ReverieError, reverieError } from '../core/errors.js';
import {
  type ActionSet,
  ANSWERS,
  actionLine,
  actionsOf,
  isSaid,
  PAGE_ACTIONS,
  parseAction,
  type ScreenAction,
  screenTools,
} from '../env/screens/screen-actions.js';
import { NO_SCREEN, SCREEN_SCHEMA, type ScreenState, treeFaults } from '../env/screens/screen-state.js';
import { screenText } from '../env/screens/screen-tree.js';
import { type Begun, taskOfGame } from '../env/tools/act-domain.js';
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
import { actionReadings } from './action-readings.js';
import { mechanicalScreen, saidOn, unmetOn } from './mechanics.js';
import { unshownOn } from './outcome-claims.js';
import { type PageMoment, WHOLE_REWARD } from './page/page-browser.js';
import { AS_IT_IS, type Perturbation, type ShownPage, shownPage } from './perturbation.js';
import { possibleActions } from './possible-actions.js';
import { screenRefusals } from './refusals.js';
import { screenChanges } from './screen-changes.js';
import { screenCheck } from './screen-checks.js';
import { type BrowserPages, browserPlayer, type ScreenPlayer, SETTLE_MS } from './screen-player.js';
import { SEATS } from './screen-plays.js';
import type { ScreenPage } from './seeded-pages.js';
import { uploadHashes, uploadRefusals, uploadsIn } from './uploads.js';

export interface ScreensDomainOptions extends BrowserPages {
  readonly id: string;
  /** SHA-256 or the like of all files that decide what the pages are. */
  readonly version: string;
  /** What can be done; default: all of the sets that the browser can do. */
  readonly actions?: readonly ScreenAction[];
  /** Sets of actions; named, their clicks may be of any button, with keys held. */
  readonly actionSets?: readonly ActionSet[];
  readonly policy?: string;
  /** Pages are shown otherwise. */
  readonly perturb?: Perturbation;
  /** Absolute path of a folder whose files can be uploaded; absent: none can. In Chromium. */
  readonly uploads?: string;
}

/** Changes whenever the same action on the same page could be answered otherwise. */
const RULES_VERSION = '2';
/** Actions after which a solution counts as lost. */
const SOLUTION = 40;
/** Of applications: each probe takes a server and its pages. */
const PROBED_TASKS = 3;
/** Need to know where things are. */
const needsLayout = (name: ScreenAction) => /^(drag_and_drop|scroll|mouse_\w+|keyboard_(down|up))$/.test(name);

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
    hint: `Run "pip install ${name}" for the Python that REVERIE_PYTHON names (python3 by default), or name their folder or the package's wheel: domain.pages, or ${variable}.`,
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
  const close = nearest(value, known) ?? known[0];
  return reverieError('NAME_UNKNOWN', {
    problem: `${what} has no task "${value}"${where}.`,
    hint: `Did you mean "${close}"? There are: ${known.join(', ')}.`,
  });
}

/** No browser is started before a page is opened. @throws ENV_UNUSABLE, ENV_UNUSABLE */
export function screensDomain(options: ScreensDomainOptions): ToolsDomain {
  if (options.screenshots) requirePictures(options);
  const { id, pages, browser, contract, settle = SETTLE_MS, perturb, actionSets } = options;
  const files = options.uploads === undefined ? undefined : uploadsIn(options.uploads, browser);
  const able = actionsOf(actionSets).filter(
    (name) => (browser !== 'jsdom' || !needsLayout(name)) && (files !== undefined || name !== 'upload_file'),
  );
  const isApp = pages.some(({ app }) => app !== undefined);
  const fitting = able.filter((name) => isApp || !(PAGE_ACTIONS as readonly ScreenAction[]).includes(name));
  const actions = fitting.filter((name) => options.actions?.includes(name) ?? true);
  const otherwise = perturb === undefined ? '' : ` ${contentHash(perturb)}`;
  return playedScreens({
    ...options,
    player: browserPlayer(options, files),
    actions,
    rules: `${id} pages ${RULES_VERSION} ${browser} ${settle}${otherwise}`,
    content: { contract, ...(actionSets && { sets: actionSets }), ...(files && { uploads: uploadHashes(files) }) },
    ...(files && { files: Object.keys(files) }),
    hasMouse: actionSets !== undefined,
    atOnce: SEATS,
    ...(isApp && { probedTasks: PROBED_TASKS }),
  });
}

export interface PlayedScreensOptions
  extends Pick<ScreensDomainOptions, 'id' | 'pages' | 'version' | 'policy' | 'perturb' | 'settle'> {
  readonly player: ScreenPlayer;
  readonly actions: readonly ScreenAction[];
  /** Whether clicks may be of any button, with keys held. */
  readonly hasMouse?: boolean;
  /** Names of those that can be uploaded. */
  readonly files?: readonly string[];
  /** Version of what answers. */
  readonly rules: string;
  /** What else the domain's version depends on. */
  readonly content?: Readonly<Record<string, unknown>>;
  readonly atOnce?: number;
  readonly probedTasks?: number;
}

/** A domain of screens, whoever plays them. */
export function playedScreens(options: PlayedScreensOptions): ToolsDomain {
  const { id, pages, policy = POLICY, actions, version } = options;
  const rules = new ScreenRules(options);
  const content = { id, policy, version, rules: rules.version, ...options.content, actions };
  return {
    id,
    version: contentHash({ ...content, pages: pages.map((page) => page.id) } as unknown as JsonObject),
    policy,
    tools: screenTools(actions, options.hasMouse, options.files),
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

function requirePictures({ browser, perturb }: ScreensDomainOptions): void {
  if (browser === 'jsdom') {
    const problem = 'jsdom has no layout and draws nothing';
    throw reverieError('ENV_UNUSABLE', {
      problem: `There are no screenshots here: ${problem}.`,
      hint: `Set domain.browser to chromium, or leave out domain.screenshots.`,
    });
  }
  if (perturb === undefined) return;
  const problem = 'a picture shows the page as it is, and domain.perturb has its screens told otherwise';
  throw reverieError('ENV_UNUSABLE', {
    problem: `There are no screenshots here: ${problem}.`,
    hint: `Leave out domain.perturb, or leave out domain.screenshots.`,
  });
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

  constructor(private readonly options: PlayedScreensOptions) {
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

  /** Actions that do the task, where somebody knows how; undefined where nobody does, or it fails. */
  solution(id: string): readonly CallSpec[] | undefined {
    const { solve } = this.pages.get(id)!;
    if (solve === undefined) return this.player.solution?.(id)?.map(this.shownPage(id).asShown);
    const calls: CallSpec[] = [];
    let state = this.begun(id);
    while (!state.done && calls.length < SOLUTION) {
      const line = solve(state);
      const call = line === undefined ? undefined : parseAction(line, this.actions);
      if (call === undefined || typeof call === 'string' || this.refusals(state, call).length > 0) return undefined;
      const after = this.acted(state, call);
      if (typeof after === 'string') return undefined;
      calls.push(call);
      state = after;
    }
    return state.done && state.reward >= WHOLE_REWARD ? calls : undefined;
  }

  execute(state: JsonObject, call: ToolCall): ToolOutcome {
    const before = state as ScreenState;
    const refusals = this.refusals(before, call);
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
    const refusals = this.refusals(before, call);
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
    return this.refusals(state as ScreenState, call);
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

  shown(state: JsonObject): JsonObject {
    const { root, focused, elements, ...rest } = state as ScreenState;
    const { tabs, tab } = rest;
    return { root, focused, elements, ...(tabs !== undefined && { tabs, tab }) } as JsonObject;
  }

  kindOf(state: JsonObject, line: string): string {
    const { name, arguments: given } = this.callOf(line);
    const element = (state as ScreenState).elements[String(given['bid'] ?? given['from_bid'])];
    return element === undefined ? name : `${name} ${element.role}`;
  }

  readonly callOf = (line: string): CallSpec => parseAction(line, this.actions) as CallSpec;

  invariants(_before: JsonObject, after: JsonObject): readonly string[] {
    return treeFaults(after as ScreenState);
  }

  check(name: string, { finalState }: EpisodeEnd): CheckResult {
    const found = screenCheck(name, finalState as ScreenState);
    if (found !== undefined) return found;
    const { done, reward } = finalState as ScreenState;
    const passed = done && reward >= WHOLE_REWARD;
    const reason = done ? `the page ended the task with a reward of ${reward}` : 'the task was not ended';
    return { name, passed, reason };
  }

  close(): void {
    this.player.close();
  }

  private refusals(state: ScreenState, call: CallSpec): readonly string[] {
    const refusals = screenRefusals(state, call);
    return refusals.length > 0 ? refusals : uploadRefusals(call, this.options.files);
  }

  private begun(id: string): ScreenState {
    const moment = this.player.begin(id);
    return stateOf(id, this.shownPage(id).shown(moment, moment.goal), []);
  }

  private acted(before: ScreenState, call: CallSpec): ScreenState | string {
    const { page, goal, history } = before;
    const said = this.hearsAnswers ? undefined : saidOn(before, call);
    if (said !== undefined) return said;
    const { shown, meant } = this.shownPage(page);
    const calls = this.deedsOf(history).map(meant);
    const moment = this.player.act(page, calls, meant(call));
    if (typeof moment === 'string') return moment;
    return stateOf(page, shown(moment, goal), [...history, actionLine(call)], goal);
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

  private shownPage(id: string): ShownPage {
    const { perturb, settle = SETTLE_MS } = this.options;
    return perturb === undefined ? AS_IT_IS : shownPage(perturb, id, settle);
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
