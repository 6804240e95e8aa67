// How one episode of a scripted agent will go: the reference solution, or one of the other ways to the same end. Each change of the
// plan is played by the domain's exact rules and taken only if the task's verifier accepts it, no call fails, and no call names
// what nobody has mentioned by then. Where there are no rules, or they cannot tell, the plan is the reference.

import { LRUCache } from 'lru-cache';
import type { Json, JsonObject } from '../../../core/json.js';
import { Rng } from '../../../core/rng.js';
import {
  type CallSpec,
  type Message,
  mapTexts,
  Phrases,
  type Responder,
  rulesResponder,
  type ToolsDomain,
  type ToolsTask,
  verifyEpisode,
} from '../../../env/index.js';
import { SeenText } from '../../quality/provenance.js';
import { callFaults, type Played, playCalls } from '../../tasks/task-play.js';

export interface ScriptedPlanSettings {
  /** Probability of each further look around. */
  readonly detours: number;
  /** Probability that the episode goes as one of the task's known failures does. */
  readonly failures: number;
}

export interface ScriptedPlan {
  readonly calls: readonly CallSpec[];
  /** What is said at the end, before it is put in other words; absent: the task has nothing to be said. */
  readonly say?: string;
}

const ORDER_SHARE = 0.5;
const SHORTER_SHARE = 0.2;
const MOST_DETOURS = 3;
const OPTIONAL_SHARE = 0.5;
/** Places and calls that are tried for a detour. */
const DETOUR_TRIALS = 4;
/** Plans of episodes under way, so that each is drawn once. */
const MOST_PLANS = 512;

export class ScriptedPlans {
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
    if (this.player === undefined || !(await this.holds(task, calls, say))) return { calls, say };
    let plan: readonly CallSpec[] = calls;
    for (const changed of this.changes(task, rng)) {
      const trial = changed(plan);
      if (trial !== plan && (await this.holds(task, trial, say))) plan = trial;
    }
    return { calls: plan, say };
  }

  /** Changes that a plan is tried with, one after another. */
  private *changes(task: ToolsTask, rng: Rng): Generator<(plan: readonly CallSpec[]) => readonly CallSpec[]> {
    const order = rng.split('order');
    if (order.uniform() < ORDER_SHARE) yield (plan) => exchanged(plan, order);
    const shorter = rng.split('shorter');
    if (shorter.uniform() < SHORTER_SHARE) yield (plan) => this.withoutRead(plan, shorter);
    const around = rng.split('detours');
    const possible = this.detoursOf(task, around);
    for (let detour = 0; detour < MOST_DETOURS && around.uniform() < this.settings.detours; detour++) {
      let isThere = false;
      for (let trial = 0; trial < DETOUR_TRIALS && possible.length > 0; trial++) {
        const call = this.filled(possible[around.int(possible.length)], task, around);
        yield (plan) => {
          isThere ||= plan.length > task.reference!.calls.length + detour;
          return isThere || call === undefined ? plan : inserted(plan, call, around);
        };
      }
    }
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

  private withoutRead(plan: readonly CallSpec[], rng: Rng): readonly CallSpec[] {
    const isRead = (call: CallSpec) => this.domain.tools.find(({ name }) => name === call.name)?.kind === 'read';
    const reads = plan.flatMap((call, at) => (isRead(call) ? [at] : []));
    if (reads.length === 0) return plan;
    const gone = reads[rng.int(reads.length)];
    return plan.filter((_, at) => at !== gone);
  }
}

/** Two neighbours in each other's place. */
function exchanged(plan: readonly CallSpec[], rng: Rng): readonly CallSpec[] {
  if (plan.length < 2) return plan;
  const at = rng.int(plan.length - 1);
  return [...plan.slice(0, at), plan[at + 1], plan[at], ...plan.slice(at + 2)];
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
  told.add({ messages }, 0);
  told.add({ messages }, 1);
  return calls.every((call, at) => {
    if (told.lacksIdOf(call)) return false;
    const { id, name } = answers[at].call;
    messages.push({ role: 'tool', toolCallId: id, name, content: answers[at].prediction.observation });
    told.add({ messages }, messages.length - 1);
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
