// A served environment of tools under judgement: it can only be acted in, from its own reset on. Its state stays there; the server
// reports a hash of it after each step.

import { z } from 'zod';
import { canonicalJson, type Json } from '../../core/canonical-json.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import { remoteEnvironment } from '../../env/remote/remote.js';
import type { RemoteToolsEnvironment } from '../../env/remote/remote-environment.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { AssistantMessage, Message } from '../../env/tools/message.js';
import type { ToolsAction, ToolsPolicy } from '../../env/tools/tools-family.js';
import { faceOf } from '../../kinds/registry.js';
import { planRow } from '../../synth/episodes/run-episode.js';
import { judgedEnvironment } from '../section.js';
import type { SimulatedEpisode } from './episodes.js';
import type { CarrySequence, SimulatedStep, TrueSequence } from './open-loop.js';

export interface ServedTools {
  readonly name: string;
  readonly version: string;
  /** What a reader must know of it. */
  readonly note: string;
  /** undefined: a step got no answer, by a fault of what answers there. */
  run(
    cast: { readonly task: ToolsTask; readonly agent: ToolsPolicy; readonly row: number },
    options: { readonly seed: number; readonly maxSteps: number },
    signal?: AbortSignal,
  ): Promise<SimulatedEpisode | undefined>;
  carry(sequence: TrueSequence, seed: number, signal?: AbortSignal): ReturnType<CarrySequence>;
}

/**
 * The environment called as the scenario is, else the server's default one.
 * @throws INPUT_INVALID where it is of another domain, and as `remoteEnvironment`
 */
export async function openServedTools(url: string, scenario: string, domain: ToolsDomain): Promise<ServedTools> {
  const first = await judgedEnvironment(url, scenario);
  try {
    const { card } = first;
    const unfit = (problem: string) =>
      reverieError('INPUT_INVALID', {
        problem: `"${url}" cannot be judged beside this scenario: ${problem}.`,
        hint: 'All that is judged answers the same tools in the same tasks; other models of this scenario are named under fidelity.subjects.',
      });
    if (faceOf(card).acts !== 'turn') throw unfit(`it is of family ${first.family}, and not of tools`);
    const splits = await Promise.all(card.splits.map(({ name }) => first.tasks(name)));
    const known = new Set(splits.flat().map(({ id }) => id));
    const toolsOf = (tools: readonly { readonly name: string; readonly parameters: unknown }[]) =>
      tools.map(({ name, parameters }) => canonicalJson([name, parameters as Json]));
    const [theirs, ours] = [toolsOf((first as RemoteToolsEnvironment).card.tools), toolsOf(domain.tools)];
    if (theirs.length !== ours.length || ours.some((tool) => !theirs.includes(tool)))
      throw unfit(`tools of "${card.name}" are not those of ${domain.id}`);
    const unknown = domain.tasks.find(({ id }) => !known.has(id));
    if (unknown !== undefined) throw unfit(`"${card.name}" does not know the task ${unknown.id}`);
    return served(url, card, domain, known);
  } finally {
    await first.close();
  }
}

function served(
  url: string,
  { name, version, source }: RemoteToolsEnvironment['card'],
  { tools }: ToolsDomain,
  known: ReadonlySet<string>,
): ServedTools {
  const play = async (task: string, seed: number, act: Act, maxSteps: number, signal?: AbortSignal) => {
    const remote = (await remoteEnvironment(url, { environment: name })) as RemoteToolsEnvironment;
    try {
      return await played(remote, { task, seed, act, maxSteps }, signal);
    } finally {
      await remote.close();
    }
  };
  return {
    name: url,
    version,
    note: `"${name}" is served as ${source === 'real' ? 'a real environment' : 'a simulation'}; its own user answers what is said.`,
    run: async ({ task, agent, row }, { seed, maxSteps }, signal) => {
      // As `runEpisode` lets an agent act that is in no group.
      const { envSeed, agentSeed } = planRow(row, { seed, groupSize: 1, branchAt: 0 });
      const act: Act = async ({ messages }, step) =>
        (await agent.act({ messages, tools, task, seed: agentSeed, step })).action;
      const episode = await play(task.id, envSeed, act, maxSteps, signal);
      return episode && { ...episode, task: task.id, policyVersion: agent.version };
    },
    carry: async ({ task, messages }, seed, signal) => {
      const actions = messages.flatMap((message) => {
        if (message.role !== 'assistant') return [];
        const { role: _, ...action } = message;
        return [action];
      });
      const episode = known.has(task.id)
        ? await play(task.id, seed, async (_, step) => actions[step], actions.length, signal)
        : undefined;
      return { steps: episode?.answers ?? [], isWhole: episode?.isWhole ?? false };
    },
  };
}

// One episode run on a server: what was done, what was answered, and what the server says it was worth.

/** What is done next; undefined: nothing more. */
type Act = (remote: RemoteToolsEnvironment, step: number) => Promise<ToolsAction | undefined>;

interface Play {
  readonly task: string;
  readonly seed: number;
  readonly act: Act;
  /** Actions at most. */
  readonly maxSteps: number;
}

interface Played extends Omit<SimulatedEpisode, 'task' | 'policyVersion'> {
  /** In the order of the calls. */
  readonly answers: readonly SimulatedStep[];
  /** false: it ended before the agent was done. */
  readonly isWhole: boolean;
}

/** Of a step's info, as the native API reports it. */
const reported = z.object({
  stateHash: z.string().optional(),
  answered: z.array(z.object({ backend: z.string(), confidence: z.number() })).default([]),
  verdict: z.object({ reward: z.number().nullable() }).optional(),
});

/** Faults of what answers there, in one step: they say nothing of the server. */
const STEP_FAULTS = ['STEP_DEADLINE', 'LLM_TIMEOUT', 'LLM_REPLY_INVALID', 'LLM_REFUSED', 'USER_TURN_INVALID'];

/** undefined where a step got no answer, by a fault of what answers there. @throws as the environment does */
async function played(
  remote: RemoteToolsEnvironment,
  { task, seed, act, maxSteps }: Play,
  signal?: AbortSignal,
): Promise<Played | undefined> {
  const steps: SimulatedEpisode['steps'][number][] = [];
  const answers: SimulatedStep[] = [];
  let info = reported.parse((await remote.reset({ task, seed }, signal)).info);
  for (let isOver = false; ; ) {
    signal?.throwIfAborted();
    const action = steps.length === maxSteps ? undefined : await act(remote, steps.length);
    if (isOver || action === undefined) {
      const { verdict, stateHash } = info;
      const reward = verdict?.reward ?? null;
      const ended = { verdict: { reward, checks: [] }, return: reward, endHash: stateHash ?? null };
      return { messages: remote.messages, steps, answers, ...ended, isWhole: action === undefined };
    }
    const before = remote.messages.length;
    try {
      const result = await remote.step(action, signal);
      info = reported.parse(result.info);
      isOver = result.terminated || result.truncated;
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      const isFault = error.code === 'REMOTE_REFUSED' && STEP_FAULTS.includes(String(error.values.code));
      if (isFault || error.code === 'REMOTE_TIMEOUT') return undefined;
      throw error;
    }
    const own = answersIn(remote.messages.slice(before), info);
    answers.push(...own);
    steps.push({ action, predictions: own.map(({ answer: { isError } }) => ({ operations: [], isError })) });
  }
}

/** The hash is that of the state after the whole step: of calls before its last none is known. */
function answersIn(messages: readonly Message[], info: z.output<typeof reported>): SimulatedStep[] {
  const [asked, ...after] = messages as readonly [AssistantMessage, ...Message[]];
  const calls = asked.toolCalls ?? [];
  const replies = after.filter((message) => message.role === 'tool');
  return calls.slice(0, replies.length).map((call, i) => {
    const { content: observation, isError = false } = replies[i];
    const { backend = 'served', confidence = 1 } = info.answered[i] ?? {};
    const hash = i === calls.length - 1 ? (info.stateHash ?? null) : null;
    return { call, answer: { observation, isError, operations: [], backend, confidence }, hash };
  });
}
