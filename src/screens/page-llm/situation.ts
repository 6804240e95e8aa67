// What the writer of pages is shown of a call: the screen and what is acted on, what was done before and what must stay true, and a few
// recorded actions that are like it.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { actionLine } from '../../env/screens/screen-actions.js';
import { memoryOf, type ScreenState } from '../../env/screens/screen-state.js';
import { screenText } from '../../env/screens/screen-tree.js';
import { stateHash } from '../../env/state/state-hash.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { ExperienceIndex, ExperienceStep } from '../../replay/experience/experience.js';
import { clipped } from '../../worldmodel/llm/sections.js';
import { callsBefore } from '../../worldmodel/tools/calls-before.js';
import { wordsIn } from '../../worldmodel/tools/tokens.js';
import type { PageLlmSettings } from './settings.js';

type Shown = Pick<PageLlmSettings, 'retrieval' | 'history' | 'memory' | 'screenTokens'>;

/** Candidates for each record that is shown. */
const CANDIDATES = 8;
/** Characters of what became of the screen after an earlier action. */
const EPISODE_CHARS = 400;
const CHARS_OF_TOKEN = 4;

/** The sections, those first that change least. */
export async function situationOf(
  query: CallQuery,
  options: Shown,
  index: ExperienceIndex | undefined,
): Promise<Record<string, Json>> {
  const state = query.state as ScreenState;
  return {
    References: await referencesOf(query, options.retrieval, index),
    Memory: options.memory === 0 ? [] : memoryOf(state).slice(-options.memory),
    Episode: episodeOf(query, options.history),
    Screen: screenAround(state, actedOn(query), options.screenTokens * CHARS_OF_TOKEN),
    Acted: Object.fromEntries(actedOn(query).flatMap((id) => lineage(state, id))),
    Action: actionOf(query),
  };
}

/** Ids that the call names. */
export function actedOn({ state, call }: Pick<CallQuery, 'state' | 'call'>): string[] {
  const { elements } = state as ScreenState;
  return ['bid', 'from_bid', 'to_bid']
    .map((key) => String(call.arguments[key]))
    .filter((id) => elements[id] !== undefined);
}

function actionOf({ domain, state, call }: CallQuery): JsonObject {
  const line = actionLine(call);
  const [words = line] = domain.rules?.readings?.(state, [line]) ?? [];
  return { line, words };
}

/** An element and all that hold it, itself first. */
function lineage({ elements }: ScreenState, id: string): [string, Json][] {
  const parents = new Map(
    Object.entries(elements).flatMap(([parent, { children }]) => children.map((c) => [c, parent])),
  );
  const found: [string, Json][] = [];
  for (let at: string | undefined = id; at !== undefined && found.length < 32; at = parents.get(at))
    found.push([at, elements[at]]);
  return found;
}

/** The screen as agents see it; of a long one the lines around what is acted on. */
function screenAround(state: ScreenState, ids: readonly string[], most: number): string {
  const text = screenText(state);
  if (text.length <= most) return text;
  const lines = text.split('\n');
  const at = Math.max(
    0,
    lines.findIndex((line) => ids.some((id) => line.trimStart().startsWith(`[${id}]`))),
  );
  let [from, to, left] = [at, at, most - lines[at].length];
  for (let grows = true; grows; ) {
    grows = false;
    for (const [next, isBefore] of [
      [from - 1, true],
      [to + 1, false],
    ] as const) {
      const cost = (lines[next]?.length ?? Number.POSITIVE_INFINITY) + 1;
      if (cost > left) continue;
      left -= cost;
      grows = true;
      if (isBefore) from = next;
      else to = next;
    }
  }
  const cut = (count: number, where: string) => (count === 0 ? [] : [`(${count} lines ${where} are left out)`]);
  return [...cut(from, 'above'), ...lines.slice(from, to + 1), ...cut(lines.length - 1 - to, 'below')].join('\n');
}

/** Earlier actions of this episode, oldest first. */
function episodeOf({ messages, call }: CallQuery, most: number): Json[] {
  const calls = new Map(
    messages
      .flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
      .map((one) => [one.id, one]),
  );
  const answered = messages.flatMap((message): Json[] => {
    const made = message.role === 'tool' && message.toolCallId !== call.id ? calls.get(message.toolCallId) : undefined;
    if (made === undefined || message.role !== 'tool') return [];
    return [{ action: actionLine(made), became: clipped(message.content, EPISODE_CHARS) }];
  });
  return most === 0 ? [] : answered.slice(-most);
}

/** Recorded actions of the same name first, then those whose screens share most words with this one (UI-Simulator-R's cascade, by words). */
async function referencesOf(
  query: CallQuery,
  { k, sources, lag, maxChars, exceptOwnTask }: Shown['retrieval'],
  index: ExperienceIndex | undefined,
): Promise<Json[]> {
  if (index === undefined || k === 0) return [];
  const asked = {
    call: { name: query.call.name, arguments: query.call.arguments },
    history: callsBefore(query),
    stateHash: stateHash(query.state),
    sources,
    ...(query.row === undefined ? {} : { beforeRow: query.row - lag }),
    ...(exceptOwnTask ? { exceptTask: query.task.id } : {}),
  };
  const words = wordsIn(screenText(query.state as ScreenState));
  const found = index.retrieve(asked, k * CANDIDATES).map(({ step }, place) => ({
    step,
    place,
    isSame: step.call.name === query.call.name,
    shared: overlap(words, wordsIn(step.observation)),
  }));
  found.sort((a, b) => Number(b.isSame) - Number(a.isSame) || b.shared - a.shared || a.place - b.place);
  return found.slice(0, k).map(({ step }) => referenceOf(step, maxChars));
}

/** Changes before the screen, as these tell more in less room and are not copied as a whole. */
function referenceOf({ call, operations = [], observation, isError }: ExperienceStep, maxChars: number): Json {
  const changes = operations.filter(({ path }) => /^\/(elements|focused|tabs)/.test(path));
  const told = clipped(JSON.stringify(changes), maxChars / 2);
  return {
    action: actionLine(call),
    ...(isError ? { refused: true } : { changes: told }),
    screen: clipped(observation, Math.max(0, maxChars - told.length)),
  };
}

function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const both = [...a].filter((word) => b.has(word)).length;
  return both / Math.max(1, a.size + b.size - both);
}
