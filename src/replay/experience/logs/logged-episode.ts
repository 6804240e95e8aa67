// A recorded conversation as an episode like any other, with what its calls did to the state as far as that is known.

import type { JsonObject } from '../../../core/canonical-json.js';
import { canonicalJson, sha256 } from '../../../core/canonical-json.js';
import { NO_COST } from '../../../core/cost.js';
import { applyOperations } from '../../../env/state/operations.js';
import { stateHash } from '../../../env/state/state-hash.js';
import type { ToolsDomain } from '../../../env/tools/domain.js';
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../../env/tools/message.js';
import type { Prediction } from '../../../env/tools/prediction.js';
import type { EpisodeRecord, EpisodeStep } from '../experience.js';
import type { CallState } from '../lived-steps.js';
import type { LoggedConversation } from './logged-conversation.js';

const RECORDED = 'recorded';

export interface LoggedEpisode {
  readonly record: EpisodeRecord;
  /** Of each answered call, as far as known. */
  readonly states: readonly CallState[];
}

export function loggedEpisode(
  { id, task, messages: said, reward }: LoggedConversation,
  scenario: string,
  domain: ToolsDomain | undefined,
): LoggedEpisode {
  const messages = withPolicy(said, domain);
  const calls = new ReplayedCalls(domain, task);
  const states: CallState[] = [];
  const steps = messages.flatMap((message, i) =>
    message.role === 'assistant' ? [stepOf(message, i, answersTo(message, messages), domain, states, calls)] : [],
  );
  const last = steps.at(-1);
  if (last !== undefined && reward !== null) steps[steps.length - 1] = { ...last, reward };
  const known = domain?.tasks.find((each) => each.id === task);
  const identity = canonicalJson([scenario, task, id, messages]);
  const record: EpisodeRecord = {
    id: sha256(identity).slice(0, 16),
    row: -1,
    source: 'real',
    scenario,
    scenarioHash: domain?.version ?? '',
    task,
    family: known?.family ?? task,
    split: known?.split ?? 'train',
    seed: 0,
    group: -1,
    policyVersion: RECORDED,
    userVersion: RECORDED,
    responderVersion: RECORDED,
    messages,
    steps,
    verdict: { reward, checks: [] },
    return: reward,
    terminated: true,
    truncated: false,
    weight: 1,
    cost: NO_COST,
  };
  return { record, states };
}

function withPolicy(messages: readonly Message[], domain: ToolsDomain | undefined): readonly Message[] {
  if (messages[0]?.role === 'system' || domain === undefined) return messages;
  return [{ role: 'system', content: domain.policy }, ...messages];
}

/** Answers in the order of the calls; calls at the very end may have none. */
function answersTo({ toolCalls = [] }: AssistantMessage, messages: readonly Message[]): ToolMessage[] {
  return toolCalls.flatMap(({ id }) =>
    messages.filter((each): each is ToolMessage => each.role === 'tool' && each.toolCallId === id),
  );
}

function stepOf(
  { role: _, ...action }: AssistantMessage,
  message: number,
  answers: readonly ToolMessage[],
  domain: ToolsDomain | undefined,
  states: CallState[],
  calls: ReplayedCalls,
): EpisodeStep {
  const predictions = answers.map((answer, i): Prediction => {
    const call = (action.toolCalls ?? [])[i];
    const state = calls.next(call, answer.content);
    states.push(state);
    const isError = answer.isError ?? false;
    const isLast = domain?.tools.find(({ name }) => name === call.name)?.terminates === true && !isError;
    return {
      operations: state.operations ?? [],
      observation: answer.content,
      isError,
      reward: null,
      terminated: isLast,
      truncated: false,
      confidence: 1,
      backend: 'real',
      modelVersion: '',
      why: [RECORDED],
      cost: NO_COST,
    };
  });
  // Empty: not known, as a record has no state of its own.
  return { message, action, predictions, reward: 0, stateHash: calls.hash ?? '' };
}

// What recorded calls did to the state, found by running the domain's own rules: known of the calls to which the rules
// give the recorded answer, as long as every change was such a call.

export class ReplayedCalls {
  private state: JsonObject | undefined;

  /** Without rules nothing is known. */
  constructor(
    private readonly domain: ToolsDomain | undefined,
    task: string,
  ) {
    if (domain?.rules === undefined) return;
    const known = domain.tasks.find(({ id }) => id === task);
    this.state = applyOperations(domain.initialState, known?.initialOperations ?? []);
  }

  /** The state as it stands; undefined once it is not known. */
  get current(): JsonObject | undefined {
    return this.state;
  }

  /** Its hash. */
  get hash(): string | undefined {
    return this.state === undefined ? undefined : stateHash(this.state);
  }

  /** State and changes of the call; nothing if the rules do not know it or answer otherwise. */
  next(call: ToolCall, observation: string): CallState {
    const state = this.state;
    const rules = this.domain?.rules;
    if (state === undefined || rules === undefined) return {};
    const isWrite = this.domain?.tools.find(({ name }) => name === call.name)?.kind === 'write';
    const outcome = rules.tools.has(call.name) ? rules.execute(state, call) : undefined;
    if (outcome === undefined || !isSameAnswer(outcome.observation, observation)) {
      // What a write did to the real state is not known then; other tools change nothing.
      if (isWrite) this.state = undefined;
      return {};
    }
    this.state = applyOperations(state, outcome.operations);
    return { stateHash: stateHash(state), operations: outcome.operations };
  }
}

/** The state a recorded conversation ended in; undefined where that is not known. */
export function stateAfter(domain: ToolsDomain, task: string, messages: readonly Message[]): JsonObject | undefined {
  const calls = new ReplayedCalls(domain, task);
  const answers = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.toolCallId, each.content]] : [])));
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const call of message.toolCalls ?? []) {
      const answer = answers.get(call.id);
      if (answer !== undefined) calls.next(call, answer);
    }
  }
  return calls.current;
}

/** Equal texts, or JSON that says the same. */
function isSameAnswer(a: string, b: string): boolean {
  return a === b || (/^\s*[[{]/.test(a) && canonicalOf(a) === canonicalOf(b));
}

function canonicalOf(text: string): string {
  try {
    return canonicalJson(JSON.parse(text));
  } catch {
    return text;
  }
}
