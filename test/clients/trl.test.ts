// clients/reverie_trl.py, run by TRL's own SFTTrainer and GRPOTrainer against a real server; only what the model
// samples in GRPO is written down. In the same process, as importing TRL takes longest, the example that uses TRL's
// OpenRewardSpec. pip brings torch with it: only where REVERIE_TRL_SPEC=1.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/core/canonical-json.js';
import type { Message } from '../../src/env/tools/message.js';
import type { RunningServer } from '../../src/serve/index.js';
import { helpdeskReference } from '../serve/protocols/reference-calls.js';
import { INSTALL_TIME, type PythonClient, pythonClient } from '../serve/python-client.js';
import { ask, serveScenarios } from '../serve/running-server.js';
import { record } from '../synth/episode-records.js';
import { exported } from '../synth/export-episodes/exported.js';
import { temporaryFolder } from '../temporary-folder.js';

const script = fileURLToPath(new URL('./trl-loop.py', import.meta.url));
const example = fileURLToPath(new URL('../../examples/train-trl-on-a-served-inn.py', import.meta.url));
/** All but the task, the seed and the model, which are the defaults. */
const SHORT = '--ors --transcripts 2 --fit-steps 1 --steps 1 --rollouts 2 --tokens 32'.split(' ');
/** Milliseconds; most of it goes into importing TRL. */
const TRAINING_TIME = 300_000;
const TASK = 'unlock-after-holiday';
const SEED = 0;
const TRAINED = { steps: 2, finite: true };
const { calls, say } = helpdeskReference(TASK);

interface Called {
  readonly role: string;
  readonly content: string;
  readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: JsonObject } }[];
}

interface Found {
  readonly rows: readonly { readonly messages: readonly Called[] }[];
  readonly sft: object & { readonly learnt: readonly string[][]; readonly whole: readonly string[] };
  readonly grpo: object & {
    readonly groups: readonly {
      readonly rows: readonly object[];
      readonly prompts: readonly (readonly Called[])[];
      readonly prompt: string;
      readonly completions: readonly (readonly Called[])[];
      readonly rewards: readonly (number | null)[];
      readonly advantages: readonly number[];
      readonly learnt: readonly string[][];
    }[];
  };
  readonly example: string;
}

/** Plays the task's solution on the server: the conversation as an episode has it. */
async function played(url: string): Promise<Message[]> {
  const { body: session } = await ask(`${url}/v1/sessions`, {});
  const path = `${url}/v1/sessions/${session.id}`;
  const { body: opening } = await ask(`${path}/reset`, { task: TASK, seed: SEED });
  const messages: Message[] = [...opening.observation.messages];
  const turns = [
    ...calls.map((call, at) => ({
      message: { content: null, toolCalls: [{ id: `call-${at}`, ...call }] },
      action: { tool_calls: [call] },
    })),
    { message: { content: say }, action: { content: say } },
  ];
  for (const { message, action } of turns) {
    messages.push({ role: 'assistant', ...message } as Message);
    const { body: turn } = await ask(`${path}/step`, { action });
    messages.push(...turn.observation.messages);
  }
  await ask(path, undefined, 'DELETE');
  return messages;
}

const written = (name: string, given: object) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;
const SOLVED = [
  ...calls.map((call) => written(call.name, call.arguments)),
  written('respond_to_user', { content: say }),
];
const GIVEN_UP = 'Your account is unlocked. Is there anything else I can do for you?';
const FAILED = [written('respond_to_user', { content: GIVEN_UP })];
const LEFT = ['I do not know.'];

describe.skipIf(process.env['REVERIE_TRL_SPEC'] !== '1')('the script for TRL', () => {
  let server: RunningServer | undefined;
  let trl: PythonClient | string;
  let found: Found;
  const folder = temporaryFolder('trl');

  beforeAll(async () => {
    trl = await pythonClient('trl-spec');
    if (typeof trl === 'string') return;
    server = await serveScenarios(['helpdesk', 'cellar']);
    copyFileSync('clients/reverie_trl.py', join(folder, 'reverie_trl.py'));
    await exported(join(folder, 'export'), 'trl', [{ ...record(), messages: await played(server.url) }]);
    const env = { HF_HUB_OFFLINE: '1', HF_DATASETS_OFFLINE: '1', REVERIE_URL: server.url };
    const scripts = [[...SOLVED, 'Done.'], [...FAILED, 'Done.'], LEFT];
    const paths = { folder, export: join(folder, 'export'), example: [example, ...SHORT, '--url', server.url] };
    found = (await trl.run(script, { env, ...paths, scripts })) as Found;
  }, INSTALL_TIME + TRAINING_TIME);
  afterAll(() => server?.stop(0));
  beforeEach((context) => {
    if (typeof trl === 'string') context.skip(trl);
  });

  it('plays tasks and seeds of the server, and gets its rewards', () => {
    expect(found.grpo).toMatchObject(TRAINED);
    expect(found.grpo.groups).toHaveLength(2);
    for (const { rows, rewards } of found.grpo.groups) {
      expect(rows).toEqual(Array(3).fill({ task: TASK, seed: SEED }));
      expect(rewards).toEqual([1, 0, null]);
    }
  });

  it('never makes 0 of an episode that was left: its advantage is 0, and the others are compared without it', () => {
    const [{ advantages }] = found.grpo.groups;
    expect(advantages[0]).toBeCloseTo(Math.SQRT1_2, 3);
    expect(advantages[1]).toBeCloseTo(-Math.SQRT1_2, 3);
    expect(advantages[2]).toBe(0);
  });

  it('learns what the model wrote, byte for byte, and not what the environment answered', () => {
    const [{ learnt }] = found.grpo.groups;
    const ended = (turns: readonly string[]) => turns.map((turn) => `${turn}<|im_end|>`);
    expect(learnt).toEqual([ended([...SOLVED, 'Done.']), ended([...FAILED, 'Done.']), ended(LEFT)]);
  });

  it('makes of exported episodes what its own rollouts are: the same prompt, tools, calls and answers', () => {
    const [{ prompts, prompt, completions }] = found.grpo.groups;
    const [{ messages }] = found.rows;
    const without = ({ role, content, tool_calls }: Called) => ({ role, content, tool_calls });
    expect(messages.slice(0, 1)).toEqual(prompts[0].slice(0, 1));
    expect(messages.slice(1).map(without)).toEqual(completions[0].slice(0, messages.length - 1).map(without));
    expect(found.sft.whole[0].startsWith(prompt)).toBe(true);
  });

  it('imitates them before, turn by turn', () => {
    expect(found.sft).toMatchObject(TRAINED);
    const said = found.sft.learnt[0].map((turn) => JSON.parse(/<tool_call>\n(.*)\n<\/tool_call>/.exec(turn)![1]));
    expect(said).toEqual([...calls, { name: 'respond_to_user', arguments: { content: say } }]);
  });

  it("runs the example, which trains by TRL's OpenRewardSpec", () => {
    expect(found.example).toMatch(/the wanderer solved 2 of \d+ episodes/);
    expect(found.example).toMatch(/1 steps in .* the parameters moved by/);
  });
});
