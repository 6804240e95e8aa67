// A language model of pages whose errors are known: a server on this machine that answers each stage of a writer of pages from what truly
// became of recorded screens, and errs as often as it is told to. Another knows nothing but the records that its prompt shows. Every draw
// depends on the seed, the content of the request and its seed alone.

import type { Json, JsonObject } from '../src/core/canonical-json.js';
import { contentHash } from '../src/core/canonical-json.js';
import { Rng } from '../src/core/rng.js';
import { actionLine } from '../src/env/screens/screen-actions.js';
import type { ScreenState } from '../src/env/screens/screen-state.js';
import { screenText } from '../src/env/screens/screen-tree.js';
import type { CallSpec } from '../src/env/tools/domain.js';
import type { Operation } from '../src/env/tools/prediction.js';
import { screenChanges } from '../src/screens/screen-changes.js';
import { screenMarkup } from '../src/screens/screen-markup.js';
import { type LlmServer, type LlmServerRequestBody, startLlmServer } from '../test/llm-server/llm-server.js';

/** An action on a screen, and the screen after it. */
export interface Happened {
  readonly call: CallSpec;
  readonly before: ScreenState;
  readonly after: ScreenState;
}

/** Names of models: what they are asked as says how they err. */
export const ERRING = 'erring';
export const COPYING = 'copying';

interface Asked {
  readonly sections: Readonly<Record<string, Json>>;
  readonly happened: Happened | undefined;
  /** Whether this reply is wrong. */
  readonly errs: boolean;
  readonly rng: Rng;
}

/** @param errorRate of replies that say what changes; half as many overviews say that nothing does */
export async function startControlledPages(
  known: readonly Happened[],
  { errorRate, seed }: { readonly errorRate: number; readonly seed: number },
): Promise<LlmServer> {
  const byScreen = new Map(
    known.flatMap((one) =>
      [screenText(one.before), screenMarkup(one.before)].map((shown) => [keyOf(shown, actionLine(one.call)), one]),
    ),
  );
  const answer = (body: LlmServerRequestBody) => {
    const stage = body.response_format?.json_schema?.name ?? 'draft';
    const content = String(body.messages.at(-1)!.content);
    const sections = sectionsOf(content);
    const rng = Rng.fromSeed(seed).split('page', stage, contentHash([content, body.seed ?? 0]));
    const rate = stage === 'page_overview' ? errorRate / 2 : errorRate;
    const happened = byScreen.get(keyOf(screenOf(sections), lineOf(sections)));
    const asked = { sections, happened, errs: rng.split('errs').uniform() < rate, rng };
    const reply = body.model === COPYING ? copied(stage, asked) : written(stage, asked);
    return { text: typeof reply === 'string' ? reply : JSON.stringify(reply) };
  };
  return startLlmServer({ answer, keepRequests: false });
}

function keyOf(screen: string, line: string): string {
  return `${line}\n${screen}`;
}

function sectionsOf(content: string): Record<string, Json> {
  return Object.fromEntries(
    [...content.matchAll(/^## (\w+)\n(.*)$/gm)].map(([, name, json]) => [name, JSON.parse(json)]),
  );
}

/** Stages of a writer of pages show the screen, or the page that it is drawn of; whoever sees the conversation alone has it in what was said last. */
function screenOf({ Screen, Page, History }: Asked['sections']): string {
  if (typeof Screen === 'string') return Screen;
  if (typeof Page === 'string') return Page;
  const said = (History as readonly { readonly role: string; readonly content?: string }[] | undefined) ?? [];
  const last = said.findLast(({ role, content }) => role !== 'assistant' && content !== undefined);
  return last?.content?.replace(/^[\s\S]*?\n\n(?=RootWebArea)/, '') ?? '';
}

function lineOf({ Action, Call }: Asked['sections']): string {
  if (Call !== undefined) return actionLine(Call as unknown as CallSpec);
  return String((Action as JsonObject | undefined)?.line ?? '');
}

function written(stage: string, asked: Asked): JsonObject | string {
  const { happened, errs } = asked;
  if (stage === 'draft') return 'The page, as it is.';
  if (stage === 'page_overview') return overviewOf(errs ? undefined : happened);
  if (happened === undefined) return { reasoning: 'unknown', operations: [], html: '', elements: [], confidence: 0 };
  const after = errs ? wrongly(happened, asked.rng) : happened.after;
  switch (stage) {
    case 'page_operations':
      return { reasoning: 'r', operations: patchOf({ ...happened, after }), confidence: 0.9 };
    case 'page_html':
      return { reasoning: 'r', html: htmlOf({ ...happened, after }), confidence: 0.9 };
    case 'page_tree':
      return { reasoning: 'r', elements: flat(after), confidence: 0.9 };
    default:
      return { reasoning: 'r', observation: screenText(after), reward: null, terminated: false, confidence: 0.9 };
  }
}

/** As a record of the same action says; where none is shown, nothing happens. */
function copied(stage: string, { sections }: Asked): JsonObject | string {
  const records = (sections.References ?? []) as readonly { readonly action: string; readonly changes?: string }[];
  const same = records.find(({ action, changes }) => action === lineOf(sections) && changes !== undefined);
  const operations = operationsIn(same?.changes);
  if (stage === 'page_overview')
    return { ...overviewOf(undefined), outcome: operations.length > 0 ? 'change' : 'nothing' };
  return { reasoning: 'r', operations: operations.map(asReplied), confidence: 0.9 };
}

function operationsIn(text = '[]'): readonly Operation[] {
  try {
    return JSON.parse(text);
  } catch {
    // A long record is cut.
    return [];
  }
}

function overviewOf(happened: Happened | undefined): JsonObject {
  const reply = { thought: 't', overview: 'o', title: '', memory: '', shows: [], confidence: 0.9 };
  if (happened === undefined) return { ...reply, outcome: 'nothing' };
  const { before, after } = happened;
  const fresh = Object.keys(after.elements).filter((id) => before.elements[id] === undefined);
  if (fresh.length > Object.keys(after.elements).length / 2)
    return { ...reply, outcome: 'page', title: after.elements[after.root].name };
  const isSame = changesOf(happened).length === 0;
  return { ...reply, outcome: isSame ? 'nothing' : 'change', shows: isSame ? [] : showsOf(happened) };
}

/** What the element acted on shows otherwise than before. */
function showsOf({ call, before, after }: Happened): Json {
  const id = String(call.arguments['bid']);
  const [was, is] = [before.elements[id], after.elements[id]];
  if (was === undefined) return [];
  if (is === undefined) return [{ id, property: 'gone', value: 'true' }];
  const changed = ['name', 'value', 'checked', 'selected', 'expanded', 'disabled'].filter(
    (key) => was[key] !== is[key],
  );
  const focus = after.focused === id && before.focused !== id ? [{ id, property: 'focused', value: 'true' }] : [];
  return [...changed.map((property) => ({ id, property, value: String(is[property] ?? false) })), ...focus];
}

function changesOf({ before, after }: Happened): Operation[] {
  return screenChanges(before, after).filter(({ path }) => /^\/(elements|focused)/.test(path));
}

function patchOf(happened: Happened): Json {
  return changesOf(happened).map(asReplied);
}

function asReplied(operation: Operation): JsonObject {
  const { op, path } = operation;
  return { op, path, value: 'value' in operation ? JSON.stringify(operation.value) : 'null' };
}

/** Elements that came have no id yet. */
function htmlOf({ before, after }: Happened): string {
  return screenMarkup(after).replace(/ data-bid="(\w+)"/g, (told, id) =>
    before.elements[id] === undefined ? '' : told,
  );
}

function flat({ root, elements }: ScreenState): Json {
  const told: Json[] = [];
  const visit = (id: string, depth: number) => {
    const { role, name, children, ...states } = elements[id];
    const own = Object.entries(states).filter(([key]) => key !== 'classes' && key !== 'color');
    told.push({ depth, role, name, states: own.map(([property, value]) => ({ property, value: String(value) })) });
    for (const child of children) visit(child, depth + 1);
  };
  for (const child of elements[root].children) visit(child, 0);
  return told;
}

/** One of four: an element that is in no place, the change at another element, nothing at all, or a word that is another. */
function wrongly({ call, before, after }: Happened, rng: Rng): ScreenState {
  const id = String(call.arguments['bid']);
  const others = Object.keys(before.elements).filter(
    (one) => one !== id && before.elements[one].role === before.elements[id]?.role,
  );
  const { elements, root } = after;
  const texts = Object.keys(elements).filter((one) => elements[one].name !== '' && one !== root);
  switch (rng.split('kind').int(4)) {
    case 0:
      return {
        ...after,
        elements: { ...elements, 99999: { role: 'generic', name: 'lost', children: [] } },
      } as ScreenState;
    case 1: {
      if (others.length === 0 || elements[id] === undefined) return before;
      const { children: _, name: __, role: ___, ...states } = elements[id];
      const other = others[rng.split('other').int(others.length)];
      const moved = { [other]: { ...before.elements[other], ...states } };
      return {
        ...before,
        elements: { ...before.elements, ...moved },
        focused: after.focused === id ? other : after.focused,
      } as ScreenState;
    }
    case 2:
      return before;
    default: {
      const at = texts[rng.split('text').int(Math.max(1, texts.length))];
      return at === undefined
        ? before
        : ({ ...after, elements: { ...elements, [at]: { ...elements[at], name: 'otherwise' } } } as ScreenState);
    }
  }
}
