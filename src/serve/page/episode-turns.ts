// Turns of an episode as the viewer shows them: what was said, who answered, what changed.

import type { Json } from '../../core/json.js';
import type { Message, Prediction, ToolCall, ToolsStepInfo, Verdict } from '../../env/index.js';
import type { AnswerView, ChangeView, MessageView, VerdictView, WireJson } from './wire.js';

export function messageView(message: Message): MessageView {
  const { role, content } = message;
  if (message.role === 'tool') return { role, content, name: message.name, isError: message.isError ?? false };
  if (message.role !== 'assistant') return { role, content };
  const { reasoning, toolCalls } = message;
  return {
    role,
    content,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls === undefined ? {} : { toolCalls: toolCalls.map(callView) }),
  };
}

function callView({ id, name, arguments: given }: ToolCall) {
  return { id, name, arguments: given };
}

/** @param tool  name of the tool that was called */
export function answerView(tool: string, prediction: Prediction, changes: readonly ChangeView[]): AnswerView {
  const { backend, modelVersion, confidence, why, isError, refused, repaired, stateless, reasoning } = prediction;
  return {
    tool,
    backend,
    modelVersion,
    confidence,
    why,
    isError,
    ...(refused === undefined ? {} : { refused }),
    ...(repaired === undefined ? {} : { repaired }),
    ...(stateless === undefined ? {} : { stateless }),
    ...(reasoning === undefined ? {} : { reasoning }),
    changes,
  };
}

export function verdictView({ reward, checks, judge }: Verdict): VerdictView {
  return { reward, checks, ...(judge === undefined ? {} : { judge }) };
}

const TOLD_ELSEWHERE = ['predictions', 'verdict', 'stateHash', 'userCost', 'task', 'seed'];

/** What an environment says of a step beside what has its own place. */
export function otherInfo(info: Json): Readonly<Record<string, WireJson>> {
  const entries = Object.entries((info ?? {}) as Record<string, WireJson>);
  return Object.fromEntries(entries.filter(([key]) => !TOLD_ELSEWHERE.includes(key)));
}

/** A step's info in JSON, as an environment of tools gives it. */
export function toolsInfo(info: Json): Partial<ToolsStepInfo> {
  return (info ?? {}) as unknown as Partial<ToolsStepInfo>;
}
