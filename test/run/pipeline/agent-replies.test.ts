// Whatever a language model writes as the agent's turn is data: it costs its episode at most, and never the job.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { EpisodeRecord } from '../../../src/replay/experience/experience.js';
import { launch } from '../../../src/run/launch.js';
import { jsonLines } from '../../data.js';
import { type LlmAnswer, startLlmServer } from '../../llm-server/llm-server.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { recordingStream } from '../streams.js';

const home = temporaryFolder('replies');

/** Episodes of an agent whose first turns are given; then it says good-bye. */
async function synth(name: string, ...turns: LlmAnswer[]) {
  const server = await startLlmServer({
    answer: ({ messages }) =>
      turns[messages.filter(({ role }) => role === 'assistant').length] ?? { text: 'Good-bye.' },
  });
  onTestFinished(() => server.close());
  // What lies beside the run's folder is no run.
  writeFileSync(join(home, 'notes.txt'), '');
  const model = [`llm.url=${server.url}`, 'llm.model=m', 'agent.kind=llm'];
  const counts = ['synth.episodes=2', 'quality.nearDuplicates=false', 'synth.earlyExperience.counterfactuals=1'];
  const out = join(home, name);
  const options = { set: [...model, ...counts], quiet: true, stream: recordingStream(), command: 'test' };
  const result = await launch('synth', { scenario: 'helpdesk', out, ...options });
  const episodes = jsonLines(join(out, 'data', 'episodes.jsonl')) as unknown as EpisodeRecord[];
  return { result: result as unknown as Record<string, unknown>, episodes };
}

const calling = (...calls: (readonly [name: string, written: string])[]): LlmAnswer => ({
  text: '',
  toolCalls: calls.map(([name, written]) => ({ name, arguments: written })),
});

it.each([
  ['cut off', '{"site": "Graz"'],
  ['a list', '["Graz"]'],
  ['a key __proto__', '{"__proto__": {"site": "Graz"}}'],
  ['nested too deep', `${'{"site":'.repeat(90)}1${'}'.repeat(90)}`],
  ['a number beyond all', '{"site": 1e999}'],
])(
  'arguments that cannot be taken are refused, kept as written and not learnt: %s',
  async (name, written) => {
    // Nothing is required of this tool: without arguments it lists all devices.
    const { result, episodes } = await synth(name.replace(/\W+/g, '-'), calling(['find_devices', written]));
    expect(result).toMatchObject({ episodes: 2 });
    for (const { messages, steps, masked } of episodes) {
      const turn = messages.findIndex(({ role }) => role === 'assistant');
      const asked = { name: 'find_devices', arguments: {}, rawArguments: written };
      expect(messages[turn]).toMatchObject({ toolCalls: [asked] });
      expect(messages[turn + 1]).toMatchObject({ role: 'tool', isError: true });
      expect(steps[0].predictions[0]).toMatchObject({ backend: 'schema', operations: [] });
      expect(masked).toContain(turn);
    }
  },
  60_000,
);

it.each<[string, LlmAnswer]>([
  ['more calls than a turn may have', calling(...Array.from({ length: 65 }, () => ['find_devices', '{}'] as const))],
  ['the name of a tool without end', calling(['x'.repeat(300), '{}'])],
])(
  'a turn that is no action fails its episode: %s',
  async (name, turn) => {
    const failed = synth(name.replace(/\W+/g, '-'), turn);
    await expect(failed).rejects.toMatchObject({
      code: 'EPISODES_ALL_FAILED',
      message: /2 ACTION_OUT_OF_SPACE/,
    });
  },
  60_000,
);

it('calls that a server names alike have ids of their own, in steps as in messages', async () => {
  const call = calling(['find_devices', '{"site":"Graz"}'], ['find_devices', '{"site":"Porto"}']);
  const same = (turn: LlmAnswer): LlmAnswer => ({
    ...turn,
    toolCalls: turn.toolCalls!.map((one) => ({ ...one, id: 'call_0' })),
  });
  const { episodes } = await synth('ids', same(call), same(call));
  for (const { messages, steps } of episodes) {
    const told = steps.flatMap(({ action }) => action.toolCalls ?? []).map(({ id }) => id);
    const answered = messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
    expect(told).toHaveLength(4);
    expect(new Set(told).size).toBe(4);
    expect(told).toEqual(answered);
  }
}, 60_000);
