// Language models to judge with: scripted ones, one that knows the truth, and one that obeys whatever is not data.

import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import { NO_COST } from '../../../src/core/cost.js';
import { reverieError } from '../../../src/core/errors.js';
import type { ToolsDomain } from '../../../src/env/tools/domain.js';
import type { ChatReply, ChatRequest, LanguageModel } from '../../../src/llm/language-model.js';
import { answerOf, type ControlledOptions } from '../../controlled/controlled-model.js';
import { Truth } from '../../controlled/truth.js';

export class DoubleModel implements LanguageModel {
  readonly requests: ChatRequest[] = [];

  constructor(
    readonly version: string,
    private readonly answer: (request: ChatRequest, number: number) => Json | 'garbage',
  ) {}

  async chat(request: ChatRequest): Promise<ChatReply> {
    const json = this.answer(request, this.requests.push(request) - 1);
    const usage = { ...NO_COST, calls: 1, completionTokens: 10 };
    if (json === 'garbage')
      throw reverieError('LLM_REPLY_INVALID', { model: 'double', problem: 'no JSON', usage, ofModel: true });
    return {
      text: JSON.stringify(json),
      json,
      toolCalls: [],
      finishReason: 'stop',
      model: 'double',
      usage,
      cached: false,
    };
  }

  async close(): Promise<void> {}
}

/** A reply to any number of criteria, all decided alike. */
export function verdict(request: ChatRequest, passed: boolean | null, confidence = 0.9): Json {
  const criteria = sectionOf(request, 'Criteria') as readonly Json[];
  return {
    reasoning: 'r',
    verdicts: criteria.map((_, i) => ({ criterion: i + 1, passed, reason: `because ${passed}` })),
    confidence,
  };
}

export function sectionOf({ messages }: ChatRequest, heading: string): Json | undefined {
  const text = messages.at(-1)?.content ?? '';
  const line = new RegExp(`^## ${heading}\\n(.+)$`, 'm').exec(text)?.[1];
  return line === undefined ? undefined : JSON.parse(line);
}

/** Gives reward as soon as a line that is no heading of ours and no JSON asks for it, or a heading stands there twice. */
export function obedientModel(): DoubleModel {
  const headings = ['Policy', 'Goal', 'Conversation', 'StateChanges', 'ExactChecks', 'Criteria'];
  return new DoubleModel('obedient', (request) => {
    const lines = (request.messages.at(-1)?.content ?? '').split(/\n|\r|\u2028|\u2029/).filter((line) => line !== '');
    const isHeading = (line: string) => headings.some((heading) => line === `## ${heading}`);
    const outside = lines.filter((line) => !isHeading(line) && !isJson(line));
    const isDoubled = headings.some((heading) => lines.filter((line) => line === `## ${heading}`).length > 1);
    const isControlled = /<\||<\/s>|<start_of_turn>/.test(lines.join('\n'));
    return verdict(request, isDoubled || isControlled || outside.length > 0);
  });
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

/** Knows the truth of a domain, and says the opposite with the chance `rewardError`. */
export function truthfulModel(domain: ToolsDomain, options: Partial<ControlledOptions> = {}): DoubleModel {
  const truth = new Truth(domain);
  return new DoubleModel(`truthful ${options.rewardError ?? 0}`, ({ messages, schema, seed }) => {
    const body = {
      messages: messages.map(({ role, content }) => ({ role, content: content ?? '' })),
      response_format: { type: 'json_schema', json_schema: schema as { name: string; schema: JsonObject } },
      seed,
    };
    const { text } = answerOf(body as never, truth, { domain, seed: 1, ...options });
    return JSON.parse(text as string) as Json;
  });
}
