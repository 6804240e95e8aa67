// What a recipe of episodes is: it stands between who acts and the environment, and decides what of it is worth learning.

import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../core/canonical-json.js';
import { Rng } from '../../core/rng.js';
import { applyOperations } from '../../env/state/operations.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import { Phrases } from '../../env/tools/phrases.js';
import { rulesResponder } from '../../env/tools/rules-responder.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { ToolsAction, ToolsPolicy, ToolsPolicyQuery, ToolsTurn } from '../../env/tools/tools-family.js';
import { callFaults } from '../tasks/task-play.js';
import { isId } from './agents/scripted-agent.js';

export interface EpisodeRecipe<Schema extends z.ZodObject> {
  /** The section `synth.recipe`; its `kind` is the recipe's name. */
  readonly schema: Schema;
  /** Who acts, with what the recipe adds. */
  agent(inner: ToolsPolicy, settings: z.output<Schema>, domain: ToolsDomain): ToolsPolicy;
}

/** As it stands, with the types of its settings. */
export function defineRecipe<Schema extends z.ZodObject>(recipe: EpisodeRecipe<Schema>): EpisodeRecipe<Schema> {
  return recipe;
}

export const plainRecipe = defineRecipe({
  schema: z.strictObject({ kind: z.literal('plain').describe('The agent acts, nothing is added.') }),
  agent: (inner) => inner,
});

/** In random order; the caller takes the first that holds. */
export function mistakesFor(call: CallSpec, domain: ToolsDomain, task: ToolsTask, rng: Rng): CallSpec[] {
  const tool = domain.tools.find(({ name }) => name === call.name);
  const properties = (tool?.parameters.properties ?? {}) as Record<string, JsonObject>;
  const entries = Object.entries(call.arguments);
  const made = entries.flatMap(([name, value]) => {
    const wrong = wrongValues(value, properties[name], domain, rng);
    return [...wrong.map((other) => ({ ...call.arguments, [name]: other })), without(call.arguments, name)];
  });
  const later = (task.reference?.calls ?? []).filter((other) => other.name === call.name || isWrite(other, domain));
  const all = [...made.map((given) => ({ name: call.name, arguments: given })), ...later];
  return Array.from(rng.permutation(all.length), (at) => all[at]);
}

/**
 * Whether the call would be refused now, and change nothing: by its schema, or by the domain's rules after what was done so far.
 * Where nobody can say, it is no mistake that is known to be harmless.
 */
export async function isHarmless(
  call: CallSpec,
  { domain, task, messages }: { domain: ToolsDomain; task: ToolsTask; messages: readonly Message[] },
): Promise<boolean> {
  if (callFaults(domain, [call]).length > 0) return true;
  if (domain.rules === undefined) return false;
  const responder = rulesResponder(domain, 'rules');
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  let state = initialStateOf(domain, task);
  const answer = (made: ToolCall, step: number) =>
    responder.answer({ domain, task, state, messages, call: made, step, seed: 0 });
  for (const [step, made] of calls.entries()) {
    if (callFaults(domain, [made]).length === 0) state = applyOperations(state, (await answer(made, step)).operations);
  }
  const { isError, operations, observation } = await answer({ ...call, id: 'call_mistaken' }, calls.length);
  return operations.length === 0 && (isError || Phrases.of(domain).isRefusal(observation));
}

function wrongValues(value: Json, schema: JsonObject | undefined, domain: ToolsDomain, rng: Rng): Json[] {
  if (typeof value !== 'string') return [];
  const choices = (schema?.enum ?? []) as readonly string[];
  if (choices.length > 0)
    return [`${value}${value.endsWith('e') ? 'd' : 'ed'}`, ...choices.filter((other) => other !== value)];
  if (!/\d/.test(value)) return [];
  const name = isId(value) ? nameOf(value, domain.initialState) : undefined;
  return [Phrases.of(domain).slip(value, rng), ...(name === undefined ? [] : [name])];
}

/** What the record with this id is called. */
function nameOf(id: string, state: JsonObject): string | undefined {
  for (const collection of Object.values(state)) {
    const record = isJsonObject(collection) ? collection[id] : undefined;
    if (isJsonObject(record) && typeof record.name === 'string') return record.name;
  }
  return undefined;
}

function isWrite(call: CallSpec, { tools }: ToolsDomain): boolean {
  return tools.find(({ name }) => name === call.name)?.kind === 'write';
}

function without(given: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(given).filter(([key]) => key !== name));
}

const schema = z.strictObject({
  kind: z
    .literal('corrections')
    .describe('Mistakes that are noticed and put right; the mistake is not learnt, the correction is.'),
  mistakes: z.number().min(0).max(1).default(0.3).describe('Probability, for each call, that a wrong one comes first.'),
});

export const correctionsRecipe = defineRecipe({
  schema,
  agent: (inner, settings, domain) => new CorrectedAgent(inner, settings, domain),
});

/** Wrong calls that are tried at one place before the right one is made at once. */
const MOST_TRIALS = 6;

class CorrectedAgent implements ToolsPolicy {
  readonly version: string;
  private readonly phrases: Phrases;

  constructor(
    private readonly inner: ToolsPolicy,
    private readonly settings: z.output<typeof schema>,
    private readonly domain: ToolsDomain,
  ) {
    this.version = `${inner.version}; corrections, ${settings.mistakes} mistakes`;
    this.phrases = Phrases.of(domain);
  }

  async act(query: ToolsPolicyQuery, signal?: AbortSignal): Promise<ToolsTurn> {
    const decision = await this.inner.act(query, signal);
    const [call, ...others] = decision.action.toolCalls ?? [];
    if (call === undefined || others.length > 0) return decision;
    const rng = Rng.fromSeed(query.seed).split('corrections', query.step);
    const problem = refusalIn(query.messages.at(-1), this.phrases);
    // What a model wrote is kept as it wrote it.
    if (decision.tokens !== undefined && problem !== undefined) return decision;
    if (problem !== undefined) return { ...decision, action: this.reflected(decision.action, problem, rng) };
    if (rng.uniform() >= this.settings.mistakes) return decision;
    const wrong = await this.mistake(call, query, rng);
    if (wrong === undefined) return decision;
    const action = { content: null, toolCalls: [{ id: call.id, name: wrong.name, arguments: wrong.arguments }] };
    return { action, cost: decision.cost, isMistake: true };
  }

  private async mistake(call: CallSpec, { task, messages }: ToolsPolicyQuery, rng: Rng): Promise<CallSpec | undefined> {
    const possible = mistakesFor(call, this.domain, task, rng).slice(0, MOST_TRIALS);
    for (const wrong of possible) {
      if (await isHarmless(wrong, { domain: this.domain, task, messages })) return wrong;
    }
    return undefined;
  }

  /** The call that follows a refused one, with the thought that led to it. */
  private reflected(action: ToolsAction, problem: string, rng: Rng): ToolsAction {
    return action.reasoning === undefined
      ? { ...action, reasoning: this.phrases.say('noticed', { problem }, rng) }
      : action;
  }
}

/** What a tool has just refused a call for, without the word "Error" and the full stop. */
function refusalIn(message: Message | undefined, phrases: Phrases): string | undefined {
  if (message?.role !== 'tool' || !(message.isError || phrases.isRefusal(message.content))) return undefined;
  return message.content.replace(/^Error:\s*/, '').replace(/\.$/, '');
}

const recipes = { plain: plainRecipe, corrections: correctionsRecipe };

export const recipeSchema = z
  .discriminatedUnion('kind', [recipes.plain.schema, recipes.corrections.schema])
  .prefault({ kind: 'plain' })
  .describe('What becomes of what the agent would do.');

export type RecipeConfig = z.output<typeof recipeSchema>;

/** The agent as the recipe has it act. */
export function agentOfRecipe(inner: ToolsPolicy, config: RecipeConfig, domain: ToolsDomain): ToolsPolicy {
  // The schema has held the settings against the recipe of that name.
  const recipe: EpisodeRecipe<z.ZodObject> = recipes[config.kind];
  return recipe.agent(inner, config, domain);
}
