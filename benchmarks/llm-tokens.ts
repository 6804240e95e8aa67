// Tokens of world model calls on the service desk: each call of the recorded episodes is sent as `synth` would send it, with the default
// settings, and its prompt counted by SmolLM2's tokenizer. A prefix cache holds what a prompt shares from its start with the one before it in
// the episode; for the first call of an episode, with the previous prompt of any episode (the system message). Reports both shares.

import { join } from 'node:path';
import { applyOperations } from '../src/env/state/operations.js';
import type { Message } from '../src/env/tools/message.js';
import { initialStateOf } from '../src/env/tools/situation.js';
import type { CallQuery } from '../src/env/tools/tools-family.js';
import { readEpisodeLogs } from '../src/replay/experience/logs/read-episode-logs.js';
import { ExperienceStore } from '../src/replay/experience/store.js';
import { stepMessages } from '../src/worldmodel/llm/step-model.js';
import { parseToolsModelConfig } from '../src/worldmodel/tools/tools-model-schema.js';
import { nativeDomain, scenarioFolder } from '../test/controlled/native-domain.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { smollm2Counter } from './smollm2-tokens.js';

interface Asked {
  readonly tokens: number;
  /** Tokens in a prefix cache after the previous call. */
  readonly held: number;
  readonly isFirst: boolean;
}

export async function run({ root, quick, log }: BenchmarkContext): Promise<Measurement> {
  const count = smollm2Counter(root);
  const domain = await nativeDomain('helpdesk');
  const { llm: options } = parseToolsModelConfig({ kind: 'tools' });
  const logs = join(scenarioFolder('helpdesk'), 'logs');
  const { episodes, steps } = await readEpisodeLogs(logs, { domain });
  const index = await ExperienceStore.open({});
  await index.add(steps);
  const asked: Asked[][] = [];
  let before = '';
  for (const episode of quick ? episodes.slice(0, 4) : episodes) {
    const task = domain.tasks.find(({ id }) => id === episode.task);
    if (task === undefined) continue;
    const calls: Asked[] = [];
    let state = initialStateOf(domain, task);
    for (const { message, predictions } of episode.steps) {
      const own = episode.messages[message];
      const toolCalls = own.role === 'assistant' ? (own.toolCalls ?? []) : [];
      for (const [i, call] of toolCalls.entries()) {
        const messages: readonly Message[] = episode.messages.slice(0, message + 1 + i);
        const query: CallQuery = { domain, task, state, messages, call, step: calls.length, seed: 0 };
        const text = stepMessages(query, options, index)
          .map(({ content }) => content)
          .join('\n\n');
        calls.push({ tokens: count(text), held: count(commonStart(before, text)), isFirst: calls.length === 0 });
        before = text;
        state = applyOperations(state, predictions[i].operations);
      }
    }
    if (calls.length > 0) asked.push(calls);
  }
  await index.close();
  const all = asked.flat();
  const later = all.filter(({ isFirst }) => !isFirst);
  const tokens = all.map((each) => each.tokens).sort((a, b) => a - b);
  const mean = sum(all, 'tokens') / all.length;
  const spread =
    1.96 *
    Math.sqrt(
      asked.map((calls) => sum(calls, 'tokens') / calls.length).reduce((total, of) => total + (of - mean) ** 2, 0) /
        asked.length ** 2,
    );
  const held = sum(all, 'held') / sum(all, 'tokens');
  log(`${all.length} calls, ${Math.round(mean)} tokens each, ${(100 * held).toFixed(1)} % held`);
  const raw = {
    ...{
      calls: all.length,
      episodes: asked.length,
      meanTokens: mean,
      medianTokens: tokens[tokens.length >> 1],
      mostTokens: tokens.at(-1),
    },
    systemTokens: count(before.split('\n\n## Episode\n')[0]),
    heldShare: held,
    heldShareAfterFirstCall: sum(later, 'held') / sum(later, 'tokens'),
    heldShareWithEmptyCacheAtEachEpisode: sum(later, 'held') / sum(all, 'tokens'),
  };
  return { value: mean, low: mean - spread, high: mean + spread, n: asked.length, raw };
}

function sum(calls: readonly Asked[], of: 'tokens' | 'held'): number {
  return calls.reduce((total, call) => total + call[of], 0);
}

function commonStart(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return b.slice(0, length);
}
