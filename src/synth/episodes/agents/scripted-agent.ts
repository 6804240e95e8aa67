// An agent without a language model that is worth reading: it knows the task's solution as `ReferenceAgent` does, and goes about
// it in one of many ways. It asks for what nobody told it, together or piece by piece; looks around; takes calls in another
// order where that comes to the same; asks before it changes something; and puts what it says in the domain's phrases.

import { canonicalJson } from '../../../core/canonical-json.js';
import { NO_COST } from '../../../core/cost.js';
import type { Json, JsonObject } from '../../../core/json.js';
import { Rng } from '../../../core/rng.js';
import {
  type CallSpec,
  type Message,
  Phrases,
  type ToolsAction,
  type ToolsDomain,
  type ToolsPolicy,
  type ToolsPolicyQuery,
  type ToolsTask,
  type ToolsTurn,
} from '../../../env/index.js';
import { type ScriptedPlan, type ScriptedPlanSettings, ScriptedPlans } from './scripted-plans.js';
import { isKnown, unknownIds } from './told-ids.js';

export interface ScriptedAgentOptions extends ScriptedPlanSettings {
  readonly domain: ToolsDomain;
}

/** How often it asks for one thing at a time, and before its first change. */
const PIECEWISE_SHARE = 0.35;
const CONFIRM_SHARE = 0.4;
/** Questions after which it goes on with what it has. */
const MOST_QUESTIONS = 4;

export class ScriptedAgent implements ToolsPolicy {
  readonly version: string;
  private readonly plans: ScriptedPlans;
  private readonly phrases: Phrases;

  constructor(options: ScriptedAgentOptions) {
    const { domain, detours, failures } = options;
    this.version = `scripted, ${detours} detours, ${failures} failures`;
    this.plans = new ScriptedPlans(domain, options);
    this.phrases = Phrases.of(domain);
  }

  async act(query: ToolsPolicyQuery): Promise<ToolsTurn> {
    const plan = await this.plans.of(query.task, query.seed);
    const left = stillToMake(plan.calls, query.messages, this.phrases);
    const rng = Rng.fromSeed(query.seed).split('scripted agent');
    const action = left.length > 0 ? this.next(left[0], query, rng) : this.speech(plan, query, rng);
    return { action, cost: NO_COST };
  }

  /** The call, or what has to be asked before it. */
  private next(call: CallSpec, query: ToolsPolicyQuery, rng: Rng): ToolsAction {
    const { messages, task } = query;
    const words = rng.split('words', messages.length);
    // What not even the solution names, a failure made up: nobody could be asked for it.
    const unknown = unknownIds(call, messages).filter((name) => isOfSolution(call.arguments[name], task));
    const questions = messages.filter(({ role, content }) => role === 'assistant' && content).length;
    if (unknown.length > 0 && questions < MOST_QUESTIONS) return this.question(call, unknown, query, rng, words);
    const deed = this.isChange(call) ? this.phrases.deed(call, 'todo', words) : undefined;
    const isFirst = !messages.some(
      (message) => message.role === 'assistant' && message.toolCalls?.some((made) => this.isChange(made)),
    );
    const isCareful = rng.split('confirm').uniform() < CONFIRM_SHARE;
    const wasAsked = messages.at(-1)?.role === 'user' && questions > 0 && isConfirmed(messages);
    if (deed !== undefined && isFirst && isCareful && !wasAsked && questions < MOST_QUESTIONS)
      return { content: this.phrases.say('confirm', { deed }, words) };
    return made(call, messages);
  }

  /** Asks for ids; or, where the user gave another in place of one, takes the user at their word once. */
  private question(
    call: CallSpec,
    unknown: readonly string[],
    { messages }: ToolsPolicyQuery,
    rng: Rng,
    words: Rng,
  ): ToolsAction {
    const given = new Map(unknown.map((name) => [name, instead(String(call.arguments[name]), messages)]));
    const lacking = unknown.filter((name) => given.get(name) === undefined);
    if (lacking.length === 0) {
      const told = { ...call, arguments: { ...call.arguments, ...(Object.fromEntries(given) as JsonObject) } };
      if (!messages.flatMap(callsOf).some((other) => keyOf(other) === keyOf(told))) return made(told, messages);
      const [name, value] = [...given][0];
      return {
        content: this.phrases.say('askAgain', { value: value!, what: this.phrases.argument(name, words) }, words),
      };
    }
    // A domain that says what its arguments are called knows how to be asked for each.
    const isNamed = lacking.every((name) => name in this.phrases.book.arguments);
    const isPiecewise = isNamed && rng.split('piecewise').uniform() < PIECEWISE_SHARE;
    const names = (isPiecewise ? lacking.slice(0, 1) : lacking).map((name) => this.phrases.argument(name, words));
    const isFirst = !messages.some(({ role, content }) => role === 'assistant' && content);
    return { content: this.phrases.say(isFirst ? 'ask' : 'askMore', { what: listed(names) }, words) };
  }

  /** What is left to say once all calls are made. */
  private speech(plan: ScriptedPlan, { messages, task }: ToolsPolicyQuery, rng: Rng): ToolsAction {
    const words = rng.split('words', messages.length);
    const last = messages.at(-1);
    const hasClosed = messages.slice(lastAnswer(messages) + 1).some(({ role }) => role === 'assistant');
    const reply = hasClosed && last?.role === 'user' ? this.phrases.reply(last.content, words) : undefined;
    if (reply !== undefined) return { content: reply };
    if (hasClosed) return { content: this.phrases.say('offer', {}, words) };
    const plain = plan.say ?? '{done} {offer}';
    const [reworded] = plan.say === undefined ? [plain] : this.phrases.reworded(plain, 'agent', words);
    const text = this.phrases.fill(reworded, { report: this.report(messages, words) }, words);
    const said = this.phrases.say('closing', { text }, words);
    const isWhole = (task.verifier.communicate ?? []).every((told) => !contains(plain, told) || contains(said, told));
    return { content: isWhole ? said : plain };
  }

  /** What was done last, of what can be told. */
  private report(messages: readonly Message[], words: Rng): string {
    const told = messages.flatMap(callsOf).map((call) => this.phrases.deed(call, 'done', words));
    return told.findLast((deed) => deed !== undefined) ?? 'it is done';
  }

  private isChange({ name }: CallSpec): boolean {
    return this.phrases.book.deeds.some((deed) => deed.name === name && deed.todo !== undefined);
  }
}

function made({ name, arguments: given }: CallSpec, messages: readonly Message[]): ToolsAction {
  const id = `call_${messages.flatMap(callsOf).length}`;
  return { content: null, toolCalls: [{ id, name, arguments: given }] };
}

function callsOf(message: Message): readonly CallSpec[] {
  return message.role === 'assistant' ? (message.toolCalls ?? []) : [];
}

/**
 * Calls of the plan that were not made yet, in order. A call that was refused counts as made where it was its turn: an agent
 * does not run against a wall. What was tried before its time is still to be made.
 */
function stillToMake(plan: readonly CallSpec[], messages: readonly Message[], phrases: Phrases): CallSpec[] {
  const left = [...plan];
  for (const [index, message] of messages.entries()) {
    const [call] = callsOf(message);
    const answer = messages[index + 1];
    if (call === undefined || answer?.role !== 'tool') continue;
    const at = left.findIndex((next) => keyOf(next) === keyOf(call));
    const isDone = answer.isError !== true && !phrases.isRefusal(answer.content);
    if (at === 0 || (at > 0 && isDone)) left.splice(at, 1);
  }
  return left;
}

function keyOf({ name, arguments: given }: CallSpec): string {
  return canonicalJson([name, given]);
}

function isOfSolution(value: Json, { reference }: ToolsTask): boolean {
  return reference?.calls.some((call) => Object.values(call.arguments).includes(value)) ?? false;
}

/** Place of the last answer of a tool; -1: none. */
function lastAnswer(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role === 'tool');
}

/** Whether the agent has asked something since the last answer of a tool. */
function isConfirmed(messages: readonly Message[]): boolean {
  return messages.slice(lastAnswer(messages) + 1).some(({ role }) => role === 'assistant');
}

/** What the user gave that looks as the id does and is not it: the latest. */
function instead(id: string, messages: readonly Message[]): string | undefined {
  const shape = new RegExp(`(?<![\\w-])${id.replaceAll(/[^\w]/g, '\\$&').replaceAll(/\d+/g, '\\d+')}(?![\\w-])`, 'gi');
  const asked = messages.findIndex(({ role }) => role === 'assistant');
  const told = messages.slice(asked + 1).filter(({ role }) => role === 'user');
  const found = told.flatMap(({ content }) => (content ?? '').match(shape) ?? []);
  return asked < 0 || isKnown(id, messages) ? undefined : found.at(-1);
}

function listed(names: readonly string[]): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** As verifiers compare: without case and thousands separators. */
function contains(text: string, part: string): boolean {
  const plain = (words: string) => words.toLowerCase().replaceAll(',', '');
  return plain(text).includes(plain(part));
}
