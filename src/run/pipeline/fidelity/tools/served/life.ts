// One episode lived on a server: what was done, what was answered, and what the server says it was worth.

import { z } from 'zod';
import type {
  AssistantMessage,
  Message,
  RemoteToolsEnvironment,
  StepResult,
  ToolsAction,
  ToolsObservation,
} from '../../../../../env/index.js';
import { ReverieError } from '../../../../../errors.js';
import type { DreamtStep, LivedEpisode } from '../../../../../fidelity/index.js';

/** Who acts: what is done next; undefined: nothing more. */
export type Act = (messages: readonly Message[], step: number) => Promise<ToolsAction | undefined>;

export interface ServedPlay {
  readonly task: string;
  readonly seed: number;
  readonly act: Act;
  /** Actions at most. */
  readonly maxSteps: number;
}

export interface ServedEpisode extends Pick<LivedEpisode, 'messages' | 'steps' | 'verdict' | 'endHash'> {
  /** In the order of the calls. */
  readonly answers: readonly DreamtStep[];
  /** false: it ended before whoever acts was done. */
  readonly isWhole: boolean;
}

interface ServedStep {
  readonly action: ToolsAction;
  readonly answers: readonly DreamtStep[];
}

/** Of a step's info, as the native API tells it. */
const told = z.object({
  stateHash: z.string().optional(),
  answered: z.array(z.object({ backend: z.string(), confidence: z.number() })).default([]),
  verdict: z.object({ reward: z.number().nullable() }).optional(),
});

/** undefined where a step got no answer, by a fault of whoever answers there. @throws as the environment does */
export async function liveServed(
  remote: RemoteToolsEnvironment,
  { task, seed, act, maxSteps }: ServedPlay,
  signal?: AbortSignal,
): Promise<ServedEpisode | undefined> {
  const begun = await remote.reset({ task, seed }, signal);
  const steps: ServedStep[] = [];
  let info = told.parse(begun.info);
  for (let isOver = false; ; ) {
    signal?.throwIfAborted();
    const action = steps.length === maxSteps ? undefined : await act(remote.messages, steps.length);
    if (isOver || action === undefined) return episodeOf(remote, steps, info, action === undefined);
    const before = remote.messages.length;
    const result = await stepped(remote, action, signal);
    if (result === undefined) return undefined;
    info = told.parse(result.info);
    steps.push({ action, answers: answersIn(remote.messages.slice(before), info) });
    isOver = result.terminated || result.truncated;
  }
}

/** Faults of whoever answers there, in one step: they say nothing of the server. */
const STEP_FAULTS = ['STEP_DEADLINE', 'LLM_TIMEOUT', 'LLM_REPLY_INVALID', 'LLM_REFUSED', 'USER_TURN_INVALID'];

async function stepped(
  remote: RemoteToolsEnvironment,
  action: ToolsAction,
  signal?: AbortSignal,
): Promise<StepResult<ToolsObservation> | undefined> {
  try {
    return await remote.step(action, signal);
  } catch (error) {
    if (!(error instanceof ReverieError)) throw error;
    const isFault = error.code === 'REMOTE_REFUSED' && STEP_FAULTS.includes(String(error.values.code));
    if (isFault || error.code === 'REMOTE_TIMEOUT') return undefined;
    throw error;
  }
}

/** The hash is that of the state after the whole step: of calls before its last none is known. */
function answersIn(messages: readonly Message[], { answered, stateHash }: z.output<typeof told>): DreamtStep[] {
  const [asked, ...after] = messages as readonly [AssistantMessage, ...Message[]];
  const calls = asked.toolCalls ?? [];
  const replies = after.filter((message) => message.role === 'tool');
  return calls.slice(0, replies.length).map((call, i) => {
    const { content: observation, isError = false } = replies[i];
    const { backend = 'served', confidence = 1 } = answered[i] ?? {};
    const hash = i === calls.length - 1 ? (stateHash ?? null) : null;
    return { call, answer: { observation, isError, operations: [], backend, confidence }, hash };
  });
}

function episodeOf(
  { messages }: RemoteToolsEnvironment,
  steps: readonly ServedStep[],
  { verdict, stateHash }: z.output<typeof told>,
  isWhole: boolean,
): ServedEpisode {
  return {
    messages,
    steps: steps.map(({ action, answers }) => ({
      action,
      predictions: answers.map(({ answer: { isError } }) => ({ operations: [], isError })),
    })),
    answers: steps.flatMap(({ answers }) => answers),
    verdict: { reward: verdict?.reward ?? null, checks: [] },
    endHash: stateHash ?? null,
    isWhole,
  };
}
