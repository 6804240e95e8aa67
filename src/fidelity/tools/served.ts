// A served environment of tools under judgement: one can only live in it, from its own reset on. Its state stays there; of it
// the server tells a hash after each step.

import { z } from 'zod';
import { canonicalJson } from '../../core/canonical-json.js';
import type { StepResult } from '../../core/environment.js';
import { ReverieError, reverieError } from '../../core/errors.js';
import { remoteEnvironment } from '../../env/remote/remote.js';
import type { RemoteToolsEnvironment } from '../../env/remote/remote-environment.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { AssistantMessage, Message } from '../../env/tools/message.js';
import type { ToolsAction, ToolsObservation } from '../../env/tools/tools-family.js';
import { faceOf } from '../../kinds/registry.js';
import { judgedEnvironment } from '../setup.js';
import type { LivedEpisode } from './lived-episodes.js';
import type { CarrySequence, DreamtStep } from './open-loop.js';

export interface ServedTools {
  readonly name: string;
  readonly version: string;
  /** What a reader must know of it. */
  readonly note: string;
  /** undefined: a step got no answer, by a fault of whoever answers there. */
  live(play: ServedPlay, signal?: AbortSignal): Promise<ServedEpisode | undefined>;
  /** Each sequence is carried out once. */
  readonly carry: CarrySequence;
  close(): Promise<void>;
}

/**
 * The environment called as the scenario is, else the server's default one.
 * @throws INPUT_INVALID where it is of another domain, and as `remoteEnvironment`
 */
export async function openServedTools(
  url: string,
  scenario: string,
  domain: ToolsDomain,
  seed: number,
): Promise<ServedTools> {
  const first = await judgedEnvironment(url, scenario);
  try {
    if (faceOf(first.card).acts !== 'turn') throw unfit(url, `it is of family ${first.family}, and not of tools`);
    const known = await knownTasks(first);
    requireDomain(url, first as RemoteToolsEnvironment, domain, known);
    return new Served(url, first as RemoteToolsEnvironment, known, seed);
  } catch (error) {
    await first.close();
    throw error;
  }
}

function unfit(given: string, problem: string): ReverieError {
  return reverieError('INPUT_INVALID', {
    problem: `"${given}" cannot be judged beside this scenario: ${problem}.`,
    hint: 'All that is judged answers the same tools in the same tasks; other models of this scenario are named under fidelity.subjects.',
  });
}

async function knownTasks(remote: Awaited<ReturnType<typeof judgedEnvironment>>): Promise<ReadonlySet<string>> {
  const splits = await Promise.all(remote.card.splits.map(({ name }) => remote.tasks(name)));
  return new Set(splits.flat().map(({ id }) => id));
}

/** The same tools, and all tasks. @throws INPUT_INVALID */
function requireDomain(
  url: string,
  { card }: RemoteToolsEnvironment,
  { id, tools, tasks }: ToolsDomain,
  known: ReadonlySet<string>,
): void {
  const theirs = new Map(card.tools.map(({ name, parameters }) => [name, canonicalJson(parameters as never)]));
  const missing = tools.filter(({ name }) => !theirs.has(name)).map(({ name }) => name);
  const other = tools.filter(({ name, parameters }) => theirs.get(name) !== canonicalJson(parameters as never));
  if (missing.length > 0) throw unfit(url, `"${card.name}" has not the tools of ${id}: ${shown(missing)}`);
  if (other.length > 0)
    throw unfit(url, `tools of "${card.name}" take other arguments: ${shown(other.map(({ name }) => name))}`);
  if (theirs.size > tools.length) throw unfit(url, `"${card.name}" has other tools beside those of ${id}`);
  const unknown = tasks.filter((task) => !known.has(task.id)).map((task) => task.id);
  if (unknown.length > 0) throw unfit(url, `"${card.name}" does not know the tasks ${shown(unknown)}`);
}

const SHOWN = 3;

function shown(names: readonly string[]): string {
  return `${names.slice(0, SHOWN).join(', ')}${names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ''}`;
}

class Served implements ServedTools {
  readonly version: string;
  readonly note: string;
  private readonly sessions: ServedSessions;
  private readonly carried = new Map<string, ReturnType<CarrySequence>>();

  constructor(
    readonly name: string,
    first: RemoteToolsEnvironment,
    private readonly known: ReadonlySet<string>,
    private readonly seed: number,
  ) {
    const { card } = first;
    this.version = card.version;
    this.note = `"${card.name}" is served as ${card.source === 'real' ? 'a real environment' : 'a dream'}; its own user answers what is said.`;
    const more = async () => (await remoteEnvironment(name, { environment: card.name })) as RemoteToolsEnvironment;
    this.sessions = new ServedSessions(first, more);
  }

  live(play: ServedPlay, signal?: AbortSignal): Promise<ServedEpisode | undefined> {
    return this.sessions.use((remote) => liveServed(remote, play, signal));
  }

  readonly carry: CarrySequence = (sequence, signal) => {
    const made = this.carried.get(sequence.id) ?? this.carryOnce(sequence, signal);
    this.carried.set(sequence.id, made);
    made.catch(() => this.carried.delete(sequence.id));
    return made;
  };

  close(): Promise<void> {
    return this.sessions.close();
  }

  private async carryOnce(...[{ task, messages }, signal]: Parameters<CarrySequence>): ReturnType<CarrySequence> {
    if (!this.known.has(task.id)) return { steps: [], isWhole: false };
    const actions = messages.flatMap((message) => {
      if (message.role !== 'assistant') return [];
      const { role: _, ...action } = message;
      return [action];
    });
    const act: Act = async (_, step) => actions[step];
    const episode = await this.live({ task: task.id, seed: this.seed, act, maxSteps: actions.length }, signal);
    return episode === undefined ? { steps: [], isWhole: false } : { steps: episode.answers, isWhole: episode.isWhole };
  }
}

// Sessions with one server, lent to whoever lives an episode there: a few at a time, each for one episode after the other.

const SESSIONS = 8;

class ServedSessions {
  private readonly all: RemoteToolsEnvironment[];
  private readonly free: RemoteToolsEnvironment[];
  private readonly waiting: (() => void)[] = [];
  private lent = 0;

  /** @param first  closed with the others */
  constructor(
    first: RemoteToolsEnvironment,
    private readonly more: () => Promise<RemoteToolsEnvironment>,
  ) {
    this.all = [first];
    this.free = [first];
  }

  /** Throws what `work` throws, and what opening a session does. */
  async use<T>(work: (remote: RemoteToolsEnvironment) => Promise<T>): Promise<T> {
    while (this.lent >= SESSIONS) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.lent++;
    let remote = this.free.pop();
    try {
      remote ??= await this.opened();
      return await work(remote);
    } finally {
      if (remote !== undefined) this.free.push(remote);
      this.lent--;
      this.waiting.shift()?.();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((remote) => remote.close()));
  }

  private async opened(): Promise<RemoteToolsEnvironment> {
    const remote = await this.more();
    this.all.push(remote);
    return remote;
  }
}

// One episode lived on a server: what was done, what was answered, and what the server says it was worth.

/** Who acts: what is done next; undefined: nothing more. */
type Act = (messages: readonly Message[], step: number) => Promise<ToolsAction | undefined>;

interface ServedPlay {
  readonly task: string;
  readonly seed: number;
  readonly act: Act;
  /** Actions at most. */
  readonly maxSteps: number;
}

interface ServedEpisode extends Pick<LivedEpisode, 'messages' | 'steps' | 'verdict' | 'endHash'> {
  /** In the order of the calls. */
  readonly answers: readonly DreamtStep[];
  /** false: it ended before whoever acts was done. */
  readonly isWhole: boolean;
}

interface ServedStep {
  readonly action: ToolsAction;
  readonly answers: readonly DreamtStep[];
}

/** Of a step's info, as the native API tells it. */
const told = z.object({
  stateHash: z.string().optional(),
  answered: z.array(z.object({ backend: z.string(), confidence: z.number() })).default([]),
  verdict: z.object({ reward: z.number().nullable() }).optional(),
});

/** undefined where a step got no answer, by a fault of whoever answers there. @throws as the environment does */
async function liveServed(
  remote: RemoteToolsEnvironment,
  { task, seed, act, maxSteps }: ServedPlay,
  signal?: AbortSignal,
): Promise<ServedEpisode | undefined> {
  const begun = await remote.reset({ task, seed }, signal);
  const steps: ServedStep[] = [];
  let info = told.parse(begun.info);
  for (let isOver = false; ; ) {
    signal?.throwIfAborted();
    const action = steps.length === maxSteps ? undefined : await act(remote.messages, steps.length);
    if (isOver || action === undefined) return episodeOf(remote, steps, info, action === undefined);
    const before = remote.messages.length;
    const result = await stepped(remote, action, signal);
    if (result === undefined) return undefined;
    info = told.parse(result.info);
    steps.push({ action, answers: answersIn(remote.messages.slice(before), info) });
    isOver = result.terminated || result.truncated;
  }
}

/** Faults of whoever answers there, in one step: they say nothing of the server. */
const STEP_FAULTS = ['STEP_DEADLINE', 'LLM_TIMEOUT', 'LLM_REPLY_INVALID', 'LLM_REFUSED', 'USER_TURN_INVALID'];

async function stepped(
  remote: RemoteToolsEnvironment,
  action: ToolsAction,
  signal?: AbortSignal,
): Promise<StepResult<ToolsObservation> | undefined> {
  try {
    return await remote.step(action, signal);
  } catch (error) {
    if (!(error instanceof ReverieError)) throw error;
    const isFault = error.code === 'REMOTE_REFUSED' && STEP_FAULTS.includes(String(error.values.code));
    if (isFault || error.code === 'REMOTE_TIMEOUT') return undefined;
    throw error;
  }
}

/** The hash is that of the state after the whole step: of calls before its last none is known. */
function answersIn(messages: readonly Message[], { answered, stateHash }: z.output<typeof told>): DreamtStep[] {
  const [asked, ...after] = messages as readonly [AssistantMessage, ...Message[]];
  const calls = asked.toolCalls ?? [];
  const replies = after.filter((message) => message.role === 'tool');
  return calls.slice(0, replies.length).map((call, i) => {
    const { content: observation, isError = false } = replies[i];
    const { backend = 'served', confidence = 1 } = answered[i] ?? {};
    const hash = i === calls.length - 1 ? (stateHash ?? null) : null;
    return { call, answer: { observation, isError, operations: [], backend, confidence }, hash };
  });
}

function episodeOf(
  { messages }: RemoteToolsEnvironment,
  steps: readonly ServedStep[],
  { verdict, stateHash }: z.output<typeof told>,
  isWhole: boolean,
): ServedEpisode {
  return {
    messages,
    steps: steps.map(({ action, answers }) => ({
      action,
      predictions: answers.map(({ answer: { isError } }) => ({ operations: [], isError })),
    })),
    answers: steps.flatMap(({ answers }) => answers),
    verdict: { reward: verdict?.reward ?? null, checks: [] },
    endHash: stateHash ?? null,
    isWhole,
  };
}
