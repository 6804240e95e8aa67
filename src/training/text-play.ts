// Many episodes of text side by side: a policy decides for all that are under way at once, so that its network runs in batches.
// Which episodes stand side by side follows from their order alone.

import { NO_COST } from '../core/cost.js';
import type { Info } from '../core/environment.js';
import { ReverieError, reverieError } from '../core/errors.js';
import { Rng, type RngState } from '../core/rng.js';
import type { CallSpec } from '../env/tools/domain.js';
import type { Message } from '../env/tools/message.js';
import { isOfPolicy } from '../env/tools/outcome.js';
import type { LineEnvironment } from '../env/tools/text-environment.js';
import type {
  ToolsAction,
  ToolsPolicy,
  ToolsPolicyQuery,
  ToolsStepInfo,
  ToolsTurn,
} from '../env/tools/tools-family.js';
import type { TextDecision, TextPolicy, TextSituation, TextTurn } from '../rl/text/text-policy.js';

/** Where an episode begins, and the stream its choices are drawn from; without one, each is the most probable. */
export interface TextStart {
  readonly task: string;
  readonly seed: number;
  readonly rng?: Rng;
}

export interface TextStep extends TextDecision {
  readonly situation: TextSituation;
  /** Hash of the state that the choice was made in. */
  readonly state: string;
  readonly reward: number;
  /** Who answered, what became so, and the hash of the state afterwards; at the end the verdict. */
  readonly info: ToolsStepInfo;
}

export interface PlayedText {
  readonly task: string;
  readonly steps: readonly TextStep[];
  readonly messages: readonly Message[];
  /** What the whole episode was worth; null where it could not be judged. */
  readonly reward: number | null;
  /** It came to no end of its own. */
  readonly truncated?: true;
  /** Why it could not be run, however often it was begun: it has no steps and no reward, and says nothing of the policy. */
  readonly lost?: ReverieError;
}

interface PlayOptions {
  /** Episodes under way at once are as many as there are of these. */
  readonly environments: readonly LineEnvironment[];
  readonly signal?: AbortSignal;
  /** What steps are paid: what the world pays unless given. */
  readonly rewards?: 'paid' | 'verdict';
  readonly onEpisode?: (episode: PlayedText) => void;
  /** All may fail: they are a part of the started episodes. */
  readonly isRest?: boolean;
}

type EpisodeOptions = Omit<PlayOptions, 'environments' | 'onEpisode' | 'isRest'>;

/** Times an episode is begun that is lost to a fault of its own, such as a browser that ended. */
const TRIES = 3;

/** An episode under way, or about to be. */
interface Lane {
  readonly index: number;
  readonly environment: LineEnvironment;
  rng?: Rng;
  /** Where its stream began: another try draws the same. */
  readonly drawn?: RngState;
  episode?: TextEpisode;
  tries: number;
  lost?: ReverieError;
}

/**
 * Plays each start to its end. What an error costs is said by its entry in the catalogue (`costs`): one that costs an episode leaves
 * it `lost`, after a few tries where another may go better.
 * @throws DOMAIN_UNFIT, what else environments throw, the reason of the signal; what was lost if every episode was
 */
export async function playTexts(
  policy: TextPolicy,
  starts: readonly TextStart[],
  { environments, onEpisode, isRest = false, ...options }: PlayOptions,
): Promise<PlayedText[]> {
  const { signal } = options;
  const played: PlayedText[] = [];
  const lanes: Lane[] = [];
  const free = [...environments].reverse();
  let next = 0;
  while (next < starts.length || lanes.length > 0) {
    signal?.throwIfAborted();
    while (next < starts.length && free.length > 0) lanes.push(laneOf(starts[next], next++, free.pop()!));
    for (const lane of lanes.filter(({ episode }) => episode === undefined)) await begin(lane, starts, options);
    const under = lanes.filter(({ episode }) => episode !== undefined && !episode.ended);
    if (under.length > 0) {
      const situations = under.map(({ episode }) => episode!.situation);
      const decisions = await policy.decide(situations, drawsFor(under));
      await Promise.all(under.map((lane, i) => keepingFault(lane, () => lane.episode!.step(decisions[i], signal))));
    }
    for (const lane of lanes.filter(({ episode, lost }) => episode?.ended || lost !== undefined)) {
      const { index, lost, episode, environment } = lane;
      played[index] = lost === undefined ? episode!.played() : lostText(starts[index], lost);
      free.push(environment);
      onEpisode?.(played[index]);
    }
    lanes.splice(0, lanes.length, ...lanes.filter(({ episode, lost }) => !episode?.ended && lost === undefined));
  }
  if (!isRest && played.length > 0 && played.every(({ lost }) => lost !== undefined)) throw played[0].lost;
  return played;
}

function laneOf({ rng }: TextStart, index: number, environment: LineEnvironment): Lane {
  return { index, environment, tries: 0, ...(rng && { rng, drawn: rng.state() }) };
}

async function begin(lane: Lane, starts: readonly TextStart[], options: EpisodeOptions): Promise<void> {
  const { index, environment } = lane;
  await keepingFault(lane, async () => {
    if (lane.tries++ > 0 && lane.drawn !== undefined) lane.rng = Rng.fromState(lane.drawn);
    lane.episode = await TextEpisode.begin(environment, starts[index], options);
  });
}

/** Does `work` for an episode. A fault of this episode alone takes it off its lane, to be begun again, or for good. */
async function keepingFault(lane: Lane, work: () => Promise<void>): Promise<void> {
  const fault = await faultOf(work, lane.tries);
  if (fault === undefined) return;
  lane.episode = undefined;
  if (!fault.again) lane.lost = fault.error;
}

/** What an episode was lost by, and whether another try may go better. @throws what `work` throws, where it costs more than an episode */
async function faultOf(work: () => Promise<void>, tries: number) {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof ReverieError) || error.entry.costs === undefined) throw error;
    return { error, again: error.entry.costs === 'attempt' && tries < TRIES };
  }
}

/** What `work`, an episode that is not played by a policy, comes to; the fault where it was lost. @throws as `playTexts` */
export async function playedOrLost<T>(
  work: () => Promise<T>,
): Promise<{ readonly played: T } | { readonly lost: ReverieError }> {
  for (let tries = 1; ; tries++) {
    const ended: T[] = [];
    const fault = await faultOf(async () => void ended.push(await work()), tries);
    if (fault === undefined) return { played: ended[0] };
    if (!fault.again) return { lost: fault.error };
  }
}

function lostText({ task }: TextStart, lost: ReverieError): PlayedText {
  return { task, steps: [], messages: [], reward: null, lost };
}

/** Whether an episode failed without the policy's fault, and so does not reflect on it. */
export function isFailedByOthers({ lost, steps }: PlayedText): boolean {
  const outcome = steps.at(-1)?.info.outcome;
  return lost !== undefined || (outcome !== undefined && !isOfPolicy(outcome));
}

/** Those that were not lost. */
export function livedOf(played: readonly PlayedText[]): PlayedText[] {
  return played.filter(({ lost }) => lost === undefined);
}

/** Starts of one call all draw, or none does. */
function drawsFor(lanes: readonly Lane[]): number[] | undefined {
  const draws = lanes.flatMap(({ rng }) => (rng === undefined ? [] : [rng.uniform()]));
  return draws.length === lanes.length ? draws : undefined;
}

/** One episode under way in an environment. */
export class TextEpisode {
  private readonly steps: TextStep[] = [];
  private reward: number | null = 0;
  private isOver = false;
  private isTruncated = false;

  private constructor(
    readonly environment: LineEnvironment,
    private now: TextSituation,
    private state: string,
    private readonly rewards: PlayOptions['rewards'],
  ) {}

  static async begin(
    environment: LineEnvironment,
    { task, seed }: TextStart,
    { signal, rewards }: EpisodeOptions = {},
  ): Promise<TextEpisode> {
    const { observation, info } = await environment.reset({ task, seed }, signal);
    const { goal } = environment.tools.task.user;
    // What the agent was not told, its policy is not.
    const told = { goal: observation.includes(goal) ? goal : observation, turns: [] };
    const now = situationOf(environment, told, observation, info);
    return new TextEpisode(environment, now, String(info.stateHash), rewards);
  }

  get ended(): boolean {
    return this.isOver;
  }

  get situation(): TextSituation {
    return this.now;
  }

  /** @throws DOMAIN_UNFIT, and what the environment throws */
  async step(decision: TextDecision, signal?: AbortSignal): Promise<void> {
    const { state, now: situation } = this;
    const said = situation.admissible[decision.choice];
    const { observation, reward: paid, terminated, truncated, info } = await this.environment.step(said, signal);
    const found = info as unknown as ToolsStepInfo;
    this.isOver = terminated || truncated;
    this.isTruncated = truncated;
    const verdict = this.isOver ? found.verdict : undefined;
    const reward = this.rewards === 'verdict' ? (verdict?.reward ?? 0) : paid;
    this.steps.push({ ...decision, situation, state, reward, info: found });
    if (this.isOver) {
      this.reward = verdict === undefined ? this.total() : verdict.reward;
    } else {
      const told = { goal: situation.goal, turns: [...situation.turns, { said, seen: observation }] };
      this.now = situationOf(this.environment, told, observation, info);
      this.state = String(info.stateHash);
      // Where nothing can be said, nothing follows.
      this.isOver = this.now.admissible.length === 0;
    }
  }

  played(): PlayedText {
    const { task, messages } = this.environment.tools;
    const { steps, reward, isTruncated } = this;
    return { task: task.id, steps, messages, reward, ...(isTruncated && { truncated: true }) };
  }

  private total(): number {
    return this.steps.reduce((sum, { reward }) => sum + reward, 0);
  }
}

function situationOf(
  { id, tools }: LineEnvironment,
  told: Pick<TextSituation, 'goal' | 'turns'>,
  text: string,
  { admissible, readings }: Info,
): TextSituation {
  if (!Array.isArray(admissible)) throw commandsUnknown(id, tools.task.id);
  const inWords = Array.isArray(readings) ? { readings } : {};
  return { ...told, text, admissible, ...inWords };
}

export function commandsUnknown(id: string, task: string): Error {
  return reverieError('DOMAIN_UNFIT', {
    problem: `A policy of text chooses among commands, and "${id}" does not say which do something (task "${task}").`,
    hint: "Train in a domain of the one tool act whose rules have admissible(state), or whose state lists texts as admissible: ALFWorld's games and games of PDDL do.",
  });
}

/** The command of a step. */
export function saidIn({ situation, choice }: TextStep): string {
  return situation.admissible[choice];
}

/** The backend that answered; `none` where the call was refused because no backend could. */
export function whoAnswered({ info: { predictions } }: TextStep): string {
  return predictions.map(({ backend, refused }) => (refused === undefined ? backend : 'none')).join('+');
}

export function isWon({ reward }: Pick<PlayedText, 'reward'>): boolean {
  return reward !== null && reward >= 1;
}

export function stepsOf(groups: readonly (readonly PlayedText[])[]): number {
  return groups.flat().reduce((sum, { steps }) => sum + steps.length, 0);
}

/**
 * A policy of text as an agent of worlds of tools, so that whatever records episodes can have it act. It draws its commands as in training;
 * the seed of the episode and the step decide the draw.
 */
export class TextPolicyAgent implements ToolsPolicy {
  /** @param lineOf  how a call is written among those that are listed */
  constructor(
    private readonly policy: TextPolicy,
    private readonly lineOf: (call: CallSpec) => string,
  ) {}

  /** Changes with the weights. */
  get version(): string {
    return this.policy.version;
  }

  /** @throws DOMAIN_UNFIT */
  async act(query: ToolsPolicyQuery): Promise<ToolsTurn> {
    const { situation, callOf } = this.situation(query);
    const draw = Rng.fromSeed(query.seed).split('text-policy', query.step).uniform();
    const [{ choice }] = await this.policy.decide([situation], [draw]);
    const call = callOf(situation.admissible[choice])!;
    return { action: { content: null, toolCalls: [{ id: `call_${query.step}`, ...call }] }, cost: NO_COST };
  }

  /** What it would choose among, and all it would choose by. @throws DOMAIN_UNFIT */
  situation(query: ToolsPolicyQuery): { readonly situation: TextSituation } & Pick<Offered, 'callOf'> {
    const { callOf, ...offered } = this.offered(query);
    return { callOf, situation: { ...this.told(query), ...offered } };
  }

  private offered({ task, admissible }: ToolsPolicyQuery): Offered {
    const found = admissible?.();
    if (found === undefined || found.lines.length === 0) throw commandsUnknown('agent', task.id);
    const { lines, readings, callOf } = found;
    return { admissible: lines, callOf, ...(readings && { readings }) };
  }

  /** As `TextEpisode` sees it. */
  private told({ messages, task }: ToolsPolicyQuery): Pick<TextSituation, 'goal' | 'text' | 'turns'> {
    const { goal: told } = task.user;
    const firstTurn = messages.findIndex(({ role }) => role === 'assistant');
    const opening = seenIn(messages.slice(0, firstTurn < 0 ? messages.length : firstTurn));
    const turns = this.turns(messages);
    const goal = opening.includes(told) ? told : opening;
    return { goal, text: turns.at(-1)?.seen ?? opening, turns };
  }

  private turns(messages: readonly Message[]): TextTurn[] {
    return messages.flatMap((message, at) => {
      if (message.role !== 'assistant') return [];
      const next = messages.findIndex(({ role }, i) => i > at && role === 'assistant');
      const seen = seenIn(messages.slice(at + 1, next < 0 ? messages.length : next));
      return [{ said: this.said(message), seen }];
    });
  }

  /** An action as it is written among the choices. */
  said(message: ToolsAction): string {
    const [call] = message.toolCalls ?? [];
    return call === undefined ? '' : this.lineOf(call);
  }
}

interface Offered extends Pick<TextSituation, 'admissible' | 'readings'> {
  /** The call that a command stands for. */
  readonly callOf: (text: string) => CallSpec | undefined;
}

function seenIn(messages: readonly Message[]): string {
  return messages.flatMap(({ role, content }) => (role === 'user' || role === 'tool' ? [content] : [])).join('\n');
}
