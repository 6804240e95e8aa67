// An agent without a language model that is worth reading: it knows the task's solution as `ReferenceAgent` does, and goes about
// it in one of many ways. It asks for what it was not told, together or piece by piece; looks around; asks before it changes
// something; and puts what it says in the domain's phrases.

import { LRUCache } from 'lru-cache';
import type { Json, JsonObject } from '../../../core/canonical-json.js';
import { NO_COST } from '../../../core/cost.js';
import { Rng } from '../../../core/rng.js';
import type { CallSpec, ToolsDomain, ToolsTask } from '../../../env/tools/domain.js';
import { recoveryFrom } from '../../../env/tools/faults.js';
import { callsOf, keyOf, type Message } from '../../../env/tools/message.js';
import { mapTexts, Phrases } from '../../../env/tools/phrases.js';
import { proposalOf } from '../../../env/tools/process-checks.js';
import { rulesResponder } from '../../../env/tools/rules-responder.js';
import type {
  Responder,
  ToolsAction,
  ToolsPolicy,
  ToolsPolicyQuery,
  ToolsTurn,
} from '../../../env/tools/tools-family.js';
import { verifyEpisode } from '../../../env/tools/verify-episode.js';
import { hasWord, SeenText } from '../../quality/claims.js';
import { callFaults, type Played, playCalls } from '../../tasks/task-checks.js';
import { mustPropose } from './baseline-agents.js';

interface ScriptedAgentOptions extends ScriptedPlanSettings {
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
    const { messages, tools, faults = [] } = query;
    const { uncounted, next, apology } = recoveryFrom(faults, messages, tools);
    if (next !== undefined) return { action: made(next, messages), cost: NO_COST };
    if (apology !== undefined) return { action: { content: apology }, cost: NO_COST };
    const left = stillToMake(plan.calls, messages, this.phrases, uncounted);
    const rng = Rng.fromSeed(query.seed).split('scripted agent');
    const action = left.length > 0 ? this.next(left[0], query, rng) : this.speech(plan, query, rng);
    return { action, cost: NO_COST };
  }

  /** The call, or what has to be asked before it. */
  private next(call: CallSpec, query: ToolsPolicyQuery, rng: Rng): ToolsAction {
    const { messages, task } = query;
    const words = rng.split('words', messages.length);
    // What not even the solution names, a failure made up: it cannot be asked for.
    const unknown = unknownIds(call, messages).filter((name) => isOfSolution(call.arguments[name], task));
    const questions = messages.filter(({ role, content }) => role === 'assistant' && content).length;
    if (unknown.length > 0 && questions < MOST_QUESTIONS) return this.question(call, unknown, query, rng, words);
    if (mustPropose(call, query)) return { content: proposalOf(call) };
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

/**
 * Calls of the plan that were not made yet, in order. A call that was refused counts as made where it was its turn: an agent
 * does not run against a wall. What was tried before its time is still to be made, and so is what a fault kept from being done.
 */
function stillToMake(
  plan: readonly CallSpec[],
  messages: readonly Message[],
  phrases: Phrases,
  uncounted: ReadonlySet<string>,
): CallSpec[] {
  const left = [...plan];
  for (const [index, message] of messages.entries()) {
    const [call] = callsOf(message);
    const answer = messages[index + 1];
    if (call === undefined || answer?.role !== 'tool' || uncounted.has(call.id)) continue;
    const at = left.findIndex((next) => keyOf(next) === keyOf(call));
    const isDone = answer.isError !== true && !phrases.isRefusal(answer.content);
    if (at === 0 || (at > 0 && isDone)) left.splice(at, 1);
  }
  return left;
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

interface ScriptedPlanSettings {
  /** Probability of each further look around. */
  readonly detours: number;
  /** Probability that the episode goes as one of the task's known failures does. */
  readonly failures: number;
}

interface ScriptedPlan {
  readonly calls: readonly CallSpec[];
  /** What is said at the end, before it is put in other words; absent: the task has nothing to be said. */
  readonly say?: string;
}

const MOST_DETOURS = 3;
const OPTIONAL_SHARE = 0.5;
/** Places and calls that are tried for a detour. */
const DETOUR_TRIALS = 4;
/** Plans of episodes under way, so that each is drawn once. */
const MOST_PLANS = 512;

class ScriptedPlans {
  private readonly plans = new LRUCache<string, Promise<ScriptedPlan>>({ max: MOST_PLANS });
  private readonly player: Responder | undefined;
  private readonly phrases: Phrases;

  constructor(
    private readonly domain: ToolsDomain,
    private readonly settings: ScriptedPlanSettings,
  ) {
    this.player = domain.rules === undefined ? undefined : rulesResponder(domain, 'rules');
    this.phrases = Phrases.of(domain);
  }

  /** The same task and seed: the same plan. */
  of(task: ToolsTask, seed: number): Promise<ScriptedPlan> {
    const key = `${seed} ${task.id}`;
    const plan = this.plans.get(key) ?? this.drawn(task, Rng.fromSeed(seed).split('scripted plan'));
    this.plans.set(key, plan);
    return plan;
  }

  private async drawn(task: ToolsTask, rng: Rng): Promise<ScriptedPlan> {
    const { failures = [], reference } = task;
    const calls = reference?.calls ?? [];
    const fate = rng.split('failure');
    if (failures.length > 0 && fate.uniform() < this.settings.failures) return failures[fate.int(failures.length)];
    const say = reference?.say;
    if (this.player === undefined || calls.length === 0 || !(await this.holds(task, calls, say))) return { calls, say };
    return { calls: await this.withDetours(task, rng.split('detours')), say };
  }

  private async withDetours(task: ToolsTask, rng: Rng): Promise<readonly CallSpec[]> {
    const { calls, say } = task.reference!;
    const possible = this.detoursOf(task, rng);
    let plan = calls;
    for (let detour = 0; detour < MOST_DETOURS && rng.uniform() < this.settings.detours; detour++)
      for (let trial = 0; trial < DETOUR_TRIALS && possible.length > 0; trial++) {
        const call = this.filled(possible[rng.int(possible.length)], task, rng);
        const longer = call === undefined ? plan : inserted(plan, call, rng);
        if (longer === plan || !(await this.holds(task, longer, say))) continue;
        plan = longer;
        break;
      }
    return plan;
  }

  /** Whether the calls solve the task, each of them answered, and each naming only what was mentioned before it. */
  private async holds(task: ToolsTask, calls: readonly CallSpec[], say: string | undefined): Promise<boolean> {
    const { domain, player } = this;
    if (callFaults(domain, calls).length > 0) return false;
    const played = await playCalls({ domain, task, responder: player! }, calls, say);
    const isAnswered = ({ prediction }: Played['answers'][number]) =>
      !prediction.isError && !this.phrases.isRefusal(prediction.observation);
    return (
      played.answers.length === calls.length &&
      played.answers.every(isAnswered) &&
      verifyEpisode(domain, task, played.end).reward === 1 &&
      isTold(task, calls, played)
    );
  }

  /** Calls that look around: those the phrases name, and reads of what the solution is about. */
  private detoursOf(task: ToolsTask, rng: Rng): CallSpec[] {
    const given = argumentsOf(task);
    const reads = this.domain.tools.flatMap(({ name, kind, parameters }) => {
      const required = (parameters.required ?? []) as readonly string[];
      const optional = Object.keys((parameters.properties ?? {}) as JsonObject).filter(
        (key) => !required.includes(key),
      );
      if (kind !== 'read' || required.length === 0 || !required.every((key) => given.has(key))) return [];
      const named = [...required, ...optional.filter((key) => given.has(key) && rng.uniform() < OPTIONAL_SHARE)];
      return [{ name, arguments: pick(given, named) }];
    });
    return [...this.phrases.book.detours, ...this.phrases.book.detours, ...reads];
  }

  /** A detour of the phrases about this task; undefined where it is about something that the task has not. */
  private filled(call: CallSpec, task: ToolsTask, rng: Rng): CallSpec | undefined {
    const given = argumentsOf(task);
    let isWhole = true;
    const filled = mapTexts(call.arguments, (text) =>
      text.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => {
        const keys = name.startsWith('/')
          ? Object.keys((this.domain.initialState[name.slice(1)] ?? {}) as JsonObject)
          : [];
        const value = name.startsWith('/') ? keys[rng.int(Math.max(1, keys.length))] : given.get(name);
        isWhole &&= typeof value === 'string';
        return String(value);
      }),
    );
    return isWhole ? { name: call.name, arguments: filled } : undefined;
  }
}

/** Somewhere after the first call; nothing is looked at twice in the same way. */
function inserted(plan: readonly CallSpec[], call: CallSpec, rng: Rng): readonly CallSpec[] {
  const written = JSON.stringify(call);
  if (plan.length === 0 || plan.some((other) => JSON.stringify(other) === written)) return plan;
  const at = 1 + rng.int(plan.length);
  return [...plan.slice(0, at), call, ...plan.slice(at)];
}

/** Ids of each call were mentioned by the user, who tells what they know when asked, or by an earlier answer. */
function isTold({ user }: ToolsTask, calls: readonly CallSpec[], { end, answers }: Played): boolean {
  // With a script the goal stays hidden: no line may tell what it says.
  const lines = user.script?.map(({ say }) => say) ?? [user.goal];
  const known = [user.opening ?? user.goal, ...lines].join('\n');
  const messages: Message[] = [end.messages[0], { role: 'user', content: known }];
  const told = new SeenText();
  told.add(messages[0]);
  told.add(messages[1]);
  return calls.every((call, at) => {
    if (told.lacksIdOf(call)) return false;
    const { id, name } = answers[at].call;
    messages.push({ role: 'tool', toolCallId: id, name, content: answers[at].prediction.observation });
    told.add(messages[messages.length - 1]);
    return true;
  });
}

/** Values of arguments in the solution, by name. */
function argumentsOf({ reference }: ToolsTask): ReadonlyMap<string, Json> {
  const calls = reference?.calls ?? [];
  return new Map(calls.flatMap(({ arguments: given }) => Object.entries(given)));
}

function pick(given: ReadonlyMap<string, Json>, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, given.get(name)!]));
}

/** Names of arguments that hold an id that was not mentioned. */
function unknownIds({ arguments: given }: CallSpec, messages: readonly Message[]): string[] {
  return Object.entries(given).flatMap(([name, value]) => (isId(value) && !isKnown(value, messages) ? [name] : []));
}

/** Whether somebody but the agent has mentioned it, as a whole word. */
function isKnown(id: string, messages: readonly Message[]): boolean {
  return messages.some(
    ({ role, content }) => role !== 'assistant' && hasWord(` ${content ?? ''} `.toLowerCase(), id.toLowerCase()),
  );
}

/** A word with a digit in it that is no date. */
function isId(value: Json): value is string {
  return typeof value === 'string' && /\d/.test(value) && !/\s|^\d{4}-\d\d-\d\d$/.test(value);
}
