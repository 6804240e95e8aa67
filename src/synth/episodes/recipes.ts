// What becomes of what the agent would do: it acts as it is, or errs on purpose, notices, and puts it right.

import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { Rng } from '../../core/rng.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { callsOf, type Message } from '../../env/tools/message.js';
import { Phrases } from '../../env/tools/phrases.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import type { ToolsPolicy, ToolsPolicyQuery, ToolsTurn } from '../../env/tools/tools-family.js';
import { callFaults, playCalls } from '../tasks/task-checks.js';
import { isId } from './agents/scripted-agent.js';

const plainSchema = z.strictObject({ kind: z.literal('plain').describe('The agent acts, nothing is added.') });

const correctionsSchema = z.strictObject({
  kind: z
    .literal('corrections')
    .describe('Mistakes that are noticed and put right; the mistake is not learnt, the correction is.'),
  mistakes: z.number().min(0).max(1).default(0.3).describe('Probability, for each call, that a wrong one comes first.'),
});

export const recipeSchema = z
  .discriminatedUnion('kind', [plainSchema, correctionsSchema])
  .prefault({ kind: 'plain' })
  .describe('What becomes of what the agent would do.');

/** The agent as the recipe has it act. */
export function agentOfRecipe(
  inner: ToolsPolicy,
  config: z.output<typeof recipeSchema>,
  domain: ToolsDomain,
): ToolsPolicy {
  return config.kind === 'plain' ? inner : new CorrectedAgent(inner, config.mistakes, domain);
}

/** Wrong calls that are tried at one place before the right one is made at once. */
const MOST_TRIALS = 6;

class CorrectedAgent implements ToolsPolicy {
  readonly version: string;
  private readonly phrases: Phrases;

  constructor(
    private readonly inner: ToolsPolicy,
    private readonly mistakes: number,
    private readonly domain: ToolsDomain,
  ) {
    this.version = `${inner.version}; corrections, ${mistakes} mistakes`;
    this.phrases = Phrases.of(domain);
  }

  async act(query: ToolsPolicyQuery, signal?: AbortSignal): Promise<ToolsTurn> {
    const decision = await this.inner.act(query, signal);
    const { action, cost, tokens } = decision;
    const [call, ...others] = action.toolCalls ?? [];
    if (call === undefined || others.length > 0) return decision;
    const rng = Rng.fromSeed(query.seed).split('corrections', query.step);
    const problem = refusalIn(query.messages.at(-1), this.phrases);
    if (problem !== undefined) {
      // The call that follows a refused one has the thought that led to it; what a model wrote is kept as it wrote it.
      if (tokens !== undefined || action.reasoning !== undefined) return decision;
      return { ...decision, action: { ...action, reasoning: this.phrases.say('noticed', { problem }, rng) } };
    }
    if (rng.uniform() >= this.mistakes) return decision;
    const { domain } = this;
    const { task, messages } = query;
    for (const wrong of mistakesFor(call, domain, task, rng).slice(0, MOST_TRIALS)) {
      if (!(await isHarmless(wrong, { domain, task, messages }))) continue;
      const toolCalls = [{ id: call.id, name: wrong.name, arguments: wrong.arguments }];
      return { action: { content: null, toolCalls }, cost, isMistake: true };
    }
    return decision;
  }
}

/** What a tool has just refused a call for, without the word "Error" and the full stop. */
function refusalIn(message: Message | undefined, phrases: Phrases): string | undefined {
  if (message?.role !== 'tool' || !(message.isError || phrases.isRefusal(message.content))) return undefined;
  return message.content.replace(/^Error:\s*/, '').replace(/\.$/, '');
}

/** In random order; the caller takes the first that holds. */
function mistakesFor(call: CallSpec, domain: ToolsDomain, task: ToolsTask, rng: Rng): CallSpec[] {
  const kindOf = (name: string) => domain.tools.find((tool) => tool.name === name);
  const properties = (kindOf(call.name)?.parameters.properties ?? {}) as Record<string, JsonObject>;
  const made = Object.entries(call.arguments).flatMap(([name, value]) => {
    const wrong = wrongValues(value, properties[name], domain, rng);
    const { [name]: _, ...without } = call.arguments;
    return [...wrong.map((other) => ({ ...call.arguments, [name]: other })), without];
  });
  const later = (task.reference?.calls ?? []).filter(
    (other) => other.name === call.name || kindOf(other.name)?.kind === 'write',
  );
  const all = [...made.map((given) => ({ name: call.name, arguments: given })), ...later];
  return Array.from(rng.permutation(all.length), (at) => all[at]);
}

function wrongValues(value: Json, schema: JsonObject | undefined, domain: ToolsDomain, rng: Rng): Json[] {
  if (typeof value !== 'string') return [];
  const choices = (schema?.enum ?? []) as readonly string[];
  if (choices.length > 0)
    return [`${value}${value.endsWith('e') ? 'd' : 'ed'}`, ...choices.filter((other) => other !== value)];
  if (!/\d/.test(value)) return [];
  const slip = Phrases.of(domain).slip(value, rng);
  const name = isId(value) ? nameOf(value, domain.initialState) : undefined;
  return name === undefined ? [slip] : [slip, name];
}

/** What the record with this id is called. */
function nameOf(id: string, state: JsonObject): string | undefined {
  for (const collection of Object.values(state)) {
    const record = isJsonObject(collection) ? collection[id] : undefined;
    if (isJsonObject(record) && typeof record.name === 'string') return record.name;
  }
  return undefined;
}

/**
 * Whether the call would be refused now, and change nothing: by its schema, or by the domain's rules after what was done so far.
 * Where that is not known, it is no mistake that is known to be harmless.
 */
async function isHarmless(
  call: CallSpec,
  { domain, task, messages }: { domain: ToolsDomain; task: ToolsTask; messages: readonly Message[] },
): Promise<boolean> {
  if (callFaults(domain, [call]).length > 0) return true;
  if (domain.rules === undefined) return false;
  const before = messages.flatMap(callsOf).filter((made) => callFaults(domain, [made]).length === 0);
  const { answers } = await playCalls({ domain, task, responder: rulesResponder(domain, 'rules') }, [...before, call]);
  if (answers.length <= before.length) return false;
  const { isError, operations, observation } = answers[before.length].prediction;
  return operations.length === 0 && (isError || Phrases.of(domain).isRefusal(observation));
}
