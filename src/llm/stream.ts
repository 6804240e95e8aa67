// Assembles a completion from server-sent events, requested or not.

import { depthExceeds } from './reply-json.js';

type Loose = Record<string, unknown>;

interface StreamedCall {
  id?: unknown;
  function: { name: string; arguments: string };
}

export function isStream(text: string): boolean {
  return /^\s*(data|event|id|retry)?:/.test(text);
}

/**
 * Comments and events without choices (usage, filters) may occur anywhere; servers differ in spaces, line ends, and in
 * whether they number calls, repeat names or send the end. Throws an Error that describes the problem ("it …").
 */
export function assembledStream(text: string, maxDepth: number): Loose {
  const said = { content: '', reasoning_content: '', refusal: '' };
  const calls: StreamedCall[] = [];
  const whole: Loose = {};
  let finish: unknown;
  let hasEnded = false;
  for (const event of text.split(/\r?\n\s*\r?\n/)) {
    const data = event
      .split(/\r?\n/)
      .flatMap((line) => /^\s*data:(.*)$/s.exec(line)?.[1] ?? (/^\s*(\{|\s)/.test(line) ? line : []));
    const json = data.join('\n').trim();
    if (json === '') continue;
    if (json === '[DONE]') {
      hasEnded = true;
      continue;
    }
    const chunk = parsedChunk(json, maxDepth);
    if (chunk.error) return { error: chunk.error };
    for (const key of ['model', 'usage', 'prompt_token_ids', 'metadata', 'timings'])
      if (chunk[key]) whole[key] = chunk[key];
    const choice = (Array.isArray(chunk.choices) ? chunk.choices[0] : undefined) as Loose | undefined;
    if (choice === undefined) continue;
    if (choice.error) return { choices: [{ ...choice, message: {} }] };
    finish = choice.finish_reason ?? finish;
    const delta = (choice.delta ?? choice.message ?? {}) as Loose;
    said.content += textOf(delta.content);
    said.reasoning_content += textOf(delta.reasoning_content ?? delta.reasoning);
    said.refusal += textOf(delta.refusal);
    for (const part of Array.isArray(delta.tool_calls) ? (delta.tool_calls as Loose[]) : []) addPart(calls, part);
  }
  if (!hasEnded && finish === undefined) throw new Error('it is a stream that ends before the reply does');
  const toolCalls = calls.length > 0 ? { tool_calls: calls.filter(Boolean) } : {};
  return { ...whole, choices: [{ message: { ...said, ...toolCalls }, finish_reason: finish ?? 'stop' }] };
}

function parsedChunk(json: string, maxDepth: number): Loose {
  if (depthExceeds(json, maxDepth)) throw new Error(`it is nested deeper than ${maxDepth} levels`);
  try {
    return (JSON.parse(json) ?? {}) as Loose;
  } catch {
    throw new Error(`an event of its stream is not JSON ("${json.slice(0, 60)}")`);
  }
}

function textOf(part: unknown): string {
  if (typeof part === 'string') return part;
  return Array.isArray(part) ? part.map((each) => textOf((each as Loose | null)?.text)).join('') : '';
}

/** A part without an index begins a new call if its id or name differs from the last call's. */
function addPart(calls: StreamedCall[], { index, id, function: given }: Loose): void {
  const { name, arguments: written } = (given ?? {}) as Loose;
  const last = calls.at(-1);
  const begins =
    last === undefined || (id && last.id && id !== last.id) || (name && !id && last.function.arguments !== '');
  // Some servers give every call index 0.
  const isOthers = id && calls[index as number]?.id && calls[index as number].id !== id;
  const at = typeof index === 'number' && !isOthers ? index : begins ? calls.length : calls.length - 1;
  calls[at] ??= { function: { name: '', arguments: '' } };
  const call = calls[at];
  if (id) call.id ??= id;
  if (typeof name === 'string' && call.function.name !== name) call.function.name += name;
  call.function.arguments += typeof written === 'string' ? written : written ? JSON.stringify(written) : '';
}
