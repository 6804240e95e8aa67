// Is the default run worth reading? How many of its episodes differ in what was called, and how many turns in what was said. The
// scripted agent and user speak; there is no language model.

import type { EpisodeRecord } from '../src/replay/experience/experience.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { defaultRun } from './experience-episodes.js';

const EPISODES = 200;
const SHOWN = 10;

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const raw: Record<string, ReturnType<typeof varietyOf>> = {};
  for (const name of ['helpdesk', 'cellar']) {
    const { lived, episodes, result } = await defaultRun(root, name, quick ? 24 : EPISODES);
    raw[name] = varietyOf(episodes, lived, result);
    log(`${name}: ${JSON.stringify({ ...raw[name], shown: undefined })}`);
  }
  const { callSequences, lived } = raw.helpdesk;
  const value = callSequences / lived;
  // Of one seed's episodes there is nothing to draw from: the count is the count.
  return { value, low: value, high: value, n: lived, raw };
}

function varietyOf(episodes: readonly EpisodeRecord[], lived: number, result: Readonly<Record<string, unknown>>) {
  const calls = episodes.map(callsOf);
  const turns = episodes.flatMap(({ steps }) => steps.map(({ action }) => action));
  const said = turns.flatMap(({ content }) => (content ? [content] : []));
  const made = turns.map(({ content, toolCalls }) => [content, toolCalls?.map((call) => [call.name, call.arguments])]);
  const different = (all: readonly unknown[]) => new Set(all.map((one) => JSON.stringify(one))).size;
  return {
    lived,
    accepted: episodes.length,
    imitated: result.imitated,
    succeeded: episodes.filter(({ verdict }) => verdict.reward === 1).length,
    callSequences: different(calls),
    toolSequences: different(calls.map((sequence) => sequence.map(([name]) => name))),
    spokenTurns: said.length,
    differentSpokenTurns: different(said),
    shareOfSpokenTurns: different(said) / said.length,
    turns: turns.length,
    differentTurns: different(made),
    rejected: result.rejected,
    shown: episodes
      .slice(0, SHOWN)
      .map(({ row, task, messages, masked = [] }) => ({ row, task, masked, messages: messages.slice(1) })),
  };
}

function callsOf({ steps }: EpisodeRecord): (readonly [string, unknown])[] {
  return steps.flatMap(({ action }) => (action.toolCalls ?? []).map((call) => [call.name, call.arguments] as const));
}
