// Separates faults of simulated users from those of agents. Planted conversations, some of public reports, and faults planted into recorded
// ones, each played through an environment whose user is a model that says what is planted and says it again when it is asked to mend it.
// And how often recorded users, who are taken to be right, are blamed.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { JsonObject } from '../src/core/canonical-json.js';
import { NO_COST } from '../src/core/cost.js';
import { wilson } from '../src/core/statistics.js';
import type { ToolsDomain, ToolsTask } from '../src/env/tools/domain.js';
import type { Outcome } from '../src/env/tools/outcome.js';
import { ToolsEpisodeEnvironment } from '../src/env/tools/tools-environment.js';
import type { Responder } from '../src/env/tools/tools-family.js';
import type { LanguageModel } from '../src/llm/language-model.js';
import { LlmUser } from '../src/worldmodel/llm/llm-user.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';

interface Planted {
  readonly id: string;
  /** The user's fault; `none` if the user is right. */
  readonly fault: string;
  readonly goal: string;
  readonly opening: string;
  /** The agent and the user in turn; the last is the user's. */
  readonly talk: readonly string[];
  /** Whether the user leaves with its last words. */
  readonly done?: boolean;
}

export async function run({ root, log }: BenchmarkContext): Promise<Measurement> {
  const written = parse(readFileSync(join(root, 'benchmarks/trust/users.yaml'), 'utf8')) as Planted[];
  const shared = process.env['REVERIE_SHARED_DATA'];
  if (shared === undefined) throw new Error('REVERIE_SHARED_DATA names no folder of the data of τ-bench');
  const recorded = conversations(join(shared, 'tau/airline/trajectories-gpt-4o.jsonl'));
  const cases = [...written, ...plantedInto(recorded)];
  const [missed, misnamed]: string[][] = [[], []];
  for (const one of cases) {
    const found = await faultOf(one);
    const isUsers = found !== undefined;
    if (isUsers !== (one.fault !== 'none')) missed.push(`${one.id}: ${found ?? 'no fault found'}`);
    else if (isUsers && !found.startsWith(one.fault)) misnamed.push(`${one.id}: ${found}`);
  }
  const alarms: string[] = [];
  let turns = 0;
  for (const { id, goal, talk, hasLeft } of recorded) {
    const [opening, ...rest] = talk;
    for (let at = 1; at < rest.length; at += 2) {
      const done = hasLeft && at === rest.length - 1;
      const found = await faultOf({ id, fault: 'none', goal, opening, talk: rest.slice(0, at + 1), done });
      turns += 1;
      if (found !== undefined) alarms.push(`${id}, answer ${(at + 1) / 2}: ${found}`);
    }
  }
  for (const line of [...missed, ...misnamed, ...alarms]) log(line);
  const told = cases.length - missed.length;
  const users = cases.filter(({ fault }) => fault !== 'none');
  const { low, high } = wilson(told, cases.length);
  return {
    ...{ value: told / cases.length, low, high, n: cases.length },
    raw: {
      ...{ told, planted: cases.length, userFaults: users.length, agentFaults: cases.length - users.length },
      ...{ written: written.length, recordedTurns: turns, falseAlarms: alarms.length, missed, misnamed, alarms },
      byFault: countsOf(users),
    },
  };
}

function countsOf(cases: readonly Planted[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { fault } of cases) counts[fault] = (counts[fault] ?? 0) + 1;
  return counts;
}

/** Why the user failed; undefined if it did not. */
async function faultOf({ goal, opening, talk, done = false }: Planted): Promise<string | undefined> {
  const task: ToolsTask = {
    ...{ id: 'planted', family: 'planted' },
    ...{ user: { goal, opening }, verifier: { assert: [{ path: '/solved', equals: true }] } },
  };
  const said = talk.filter((_, i) => i % 2 === 1);
  const user = new LlmUser({ model: saying(said, done) });
  const domain: ToolsDomain = { ...DOMAIN, tasks: [task] };
  const environment = new ToolsEpisodeEnvironment({ id: 'planted', domain, responder: NOBODY, user });
  await environment.reset({ seed: 1 });
  const agent = talk.filter((_, i) => i % 2 === 0);
  // Earlier messages are fixed: only the last answer is tested.
  for (const [i, content] of agent.entries()) {
    if (i < agent.length - 1) {
      const before = environment.snapshot() as { env: string; state: { messages: object[]; turns: number } };
      const { state } = before;
      const messages = [...state.messages, { role: 'assistant', content }, { role: 'user', content: said[i] }];
      environment.restore({ env: before.env, state: { ...state, messages, turns: state.turns + 1 } });
      continue;
    }
    const { info } = await environment.step({ content });
    const outcome = info.outcome as Outcome | undefined;
    return outcome?.kind === 'failed_by_user' ? String(outcome.cause) : undefined;
  }
  return undefined;
}

/** A user's model that repeats its planted messages despite complaints. */
function saying(said: readonly string[], done: boolean): LanguageModel {
  const json = { reasoning: '', content: said.at(-1)!, done } satisfies JsonObject;
  const reply = {
    text: '',
    json,
    toolCalls: [],
    finishReason: 'stop',
    model: 'planted',
    usage: NO_COST,
    cached: false,
  };
  return { version: 'planted', chat: async () => reply as never, close: async () => {} };
}

const DOMAIN: ToolsDomain = {
  ...{ id: 'planted', version: '0'.repeat(64), policy: 'Help.', stateSchema: { type: 'object' } },
  tools: [{ name: 'solve', description: 'Solves it.', kind: 'write', parameters: { type: 'object', properties: {} } }],
  ...{ initialState: { solved: false }, tasks: [], close: () => {} },
};

const NOBODY: Responder = {
  version: 'nobody',
  answer: () => {
    throw new Error('no agent calls anything here');
  },
  close: () => {},
};

// Recorded conversations, of which the user's part is taken to be right.

interface Conversation {
  readonly id: string;
  readonly goal: string;
  /** The user and the agent in turn, the user first and last. */
  readonly talk: readonly string[];
  /** The agent did not solve it. */
  readonly isLost: boolean;
  /** The user left, and was not handed over or cut off. */
  readonly hasLeft: boolean;
}

const STOP = '###STOP###';

function conversations(file: string): Conversation[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.flatMap((line) => {
    const { task_id, trial, traj, info, reward } = JSON.parse(line) as {
      readonly task_id: number;
      readonly reward: number;
      readonly trial: number;
      readonly traj: readonly {
        readonly role: string;
        readonly content: string | null;
        readonly tool_calls?: unknown;
      }[];
      readonly info: { readonly task: { readonly instruction: string } };
    };
    const spoken = traj.filter(
      ({ role, content, tool_calls }) => content && !tool_calls && /user|assistant/.test(role),
    );
    const talk: string[] = [];
    for (const { role, content } of spoken) {
      const isUser = role === 'user';
      // Merges consecutive messages.
      if ((talk.length % 2 === 0) === isUser) talk.push(content!.replace(STOP, '').trim());
      else if (talk.length > 0) talk[talk.length - 1] += `\n${content}`;
    }
    const whole = talk.length % 2 === 1 ? talk : talk.slice(0, -1);
    const [id, goal] = [`airline-${task_id}-${trial}`, info.task.instruction];
    const hasLeft = whole === talk && spoken.at(-1)!.content!.includes(STOP);
    return whole.length < 5 ? [] : [{ id, goal, talk: whole, isLost: reward < 1, hasLeft }];
  });
}

/** Faults planted into recorded conversations, by kind in turn; and, where the task was lost, the user as it was. */
function plantedInto(recorded: readonly Conversation[]): Planted[] {
  const kinds = Object.entries(PLANTS);
  return recorded.flatMap((one, i): Planted[] => {
    const [fault, plant] = kinds[i % kinds.length];
    const [opening, ...rest] = one.talk;
    const { id, goal, isLost, hasLeft } = one;
    const lost = isLost ? [{ id: `${id}, as it was`, fault: 'none', goal, opening, talk: rest, done: hasLeft }] : [];
    const planted = plant(rest, opening, goal);
    return planted === undefined ? lost : [...lost, { ...planted, id: `${id}, ${fault}`, fault, goal, opening }];
  });
}

type Plant = (rest: readonly string[], opening: string, goal: string) => Pick<Planted, 'talk' | 'done'> | undefined;

const PLANTS: Readonly<Record<string, Plant>> = {
  'ends early': (rest) => {
    const at = rest.findIndex(
      (text, i) => i % 2 === 0 && /\b(?:confirm|proceed|would you like me to)\b[^.]*\?/i.test(text),
    );
    return at < 0 ? undefined : { talk: [...rest.slice(0, at + 1), 'Yes, please go ahead.'], done: true };
  },
  'repeats itself': (rest, opening) => ({ talk: [...rest.slice(0, 2), rest[2], opening] }),
  'makes something up': (rest) => {
    const at = rest.findIndex((text, i) => i % 2 === 1 && /\b[a-z]+_[a-z]+_\d{4}\b/.test(text));
    const turned = rest[at]?.replace(/\b([a-z]+_[a-z]+_)\d{4}\b/, '$10137');
    return at < 0 ? undefined : { talk: [...rest.slice(0, at), turned] };
  },
  'gives its goal away': (rest, _, goal) => ({ talk: [rest[0], goal] }),
  'speaks as the agent': (rest) => {
    const at = rest.findIndex((text, i) => i % 2 === 0 && /\b(?:could you|please) (?:please )?provide/i.test(text));
    return at < 0 ? undefined : { talk: [...rest.slice(0, at + 1), rest[at]] };
  },
  'says nothing': (rest) => ({ talk: [rest[0], ''] }),
};
