// The parts of a prompt for one call, and how they are put together: a system prompt that holds for every call, and one
// user message with a section for each thing that is data.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { CallSpec, ToolSpec } from '../../env/tools/domain.js';
import type { ChatMessage } from '../../llm/language-model.js';
import { DATA_NOTICE, oneLine, renderSections, type Section } from './sections.js';
import type { StateSlice } from './state-slice.js';

/** A proposal that was not believed, and why. */
export interface Refused {
  readonly previous: Json;
  readonly problems: readonly string[];
}

export interface PromptParts {
  readonly mode: 'typed' | 'text';
  readonly policy: string;
  readonly tools: readonly ToolSpec[];
  readonly schema: JsonObject;
  readonly references: readonly JsonObject[];
  /** Messages, oldest first. */
  readonly history: readonly JsonObject[];
  /** Mode `typed` alone. */
  readonly state: StateSlice | undefined;
  readonly call: CallSpec;
  readonly refused: Refused | undefined;
}

const ROLE = `You simulate the tools of an environment in which an agent serves a user. For one call of the agent you answer what the tool does, as its program would: exactly, without helping the agent and without inventing anything.`;

const COMMON_RULES = [
  'Reason first: look up what the call needs, decide whether the call is possible, work out what follows.',
  'The observation is the very text the tool returns, in the form the references show: JSON or a short sentence, no comment. A call that fails returns "Error: " and the reason.',
  'Be as strict as a program. A call fails if something it names does not exist or its description forbids it. Never play along. The policy binds the agent; a tool enforces of it only what its description or the references show.',
  'References of episode "own" happened in this very episode and are facts. Those of "other" happened elsewhere: they show how tools behave; their entities may be different here.',
  'reward and terminated are recorded, nothing more. confidence is the probability that your answer is right in every detail.',
];

const TYPED_RULES = [
  'Section State is the truth. Where "complete" is false it is the part that matters: "collections" says how many entries each collection has and how many are shown. An entity that the call names by its id, and that is neither shown nor "hidden", does not exist.',
  'operations are the changes of the state, as JSON Patch with paths into State; "value" is JSON written as text. Tools of kind read or generic change nothing, and neither does a call that fails. Change all that the tool changes, and nothing else.',
  'Use no id that is not in State, History or Call, unless an operation creates it.',
];

const TEXT_RULES = [
  'There is no record of the state but the conversation: stay true to every result that was given before.',
  'Use no id that is not in References, History or Call, unless the call creates it.',
];

export function renderPrompt(parts: PromptParts): ChatMessage[] {
  const { refused } = parts;
  const task =
    refused === undefined ? 'Answer the call.' : 'Your answer in section Refused has problems. Answer the call anew.';
  return [
    { role: 'system', content: systemPrompt(parts) },
    { role: 'user', content: `${renderSections(sectionsOf(parts))}\n\n${task}` },
  ];
}

function systemPrompt({ mode, policy, tools, schema }: PromptParts): string {
  const isTyped = mode === 'typed';
  const rules = [...COMMON_RULES, ...(isTyped ? TYPED_RULES : TEXT_RULES)];
  const keys = `reasoning, ${isTyped ? 'operations, ' : ''}observation, reward, terminated, confidence`;
  const parts = [
    ROLE,
    DATA_NOTICE,
    `## Rules\n${rules.map((rule, i) => `${i + 1}. ${rule}`).join('\n')}`,
    `## Policy of the agent\n${policy}`,
    `## Tools\n${tools.map((tool) => oneLine(tool as unknown as Json)).join('\n')}`,
    ...(isTyped ? [`## Schema of the state\n${oneLine(schema)}`] : []),
    `Reply with one JSON object with the keys ${keys}, in this order.`,
  ];
  return parts.join('\n\n');
}

function sectionsOf({ references, history, state, call, refused }: PromptParts): Section[] {
  return [
    { heading: 'References', content: references },
    { heading: 'History', content: history },
    ...(state === undefined ? [] : [{ heading: 'State', content: state as unknown as Json }]),
    { heading: 'Call', content: { ...call } },
    ...(refused === undefined ? [] : [{ heading: 'Refused', content: { ...refused } as unknown as Json }]),
  ];
}
