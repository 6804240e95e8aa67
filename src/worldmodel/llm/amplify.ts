// A whole trajectory as one reply (Simia-SFT, 2511.01824: tools, policy, one exemplar), here with a state that its calls must keep to. Turns
// come in order, each of one kind. Keys that a kind has no use for are empty, as strict servers want every key of every turn.

import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject, parsedJson } from '../../core/canonical-json.js';
import { type Cost, NO_COST } from '../../core/cost.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import { callChecks } from '../../env/tools/check-action.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Operation, Prediction } from '../../env/tools/prediction.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { ChatMessage, LanguageModel } from '../../llm/language-model.js';
import type { EpisodeStep } from '../../replay/experience/experience.js';
import { checkProposal, comparableObservation, idPatternOf, toolOf, unsaidIds } from '../tools/checks.js';
import { clipped, DATA_NOTICE, domainText, renderSections, sliceState } from './prompt.js';
import { normalisedOperations, operationsReply, parseOperations, replySchema, reportsError } from './replies.js';

const turn = z.strictObject({
  role: z.enum(['user', 'assistant', 'call', 'result']),
  reasoning: z.string().describe('assistant and call: why; result: what follows from the state; user: empty.'),
  content: z
    .string()
    .describe('user and assistant: what is said; result: the very text the tool returns; call: empty.'),
  name: z.string().describe('call and result: the tool; else empty.'),
  arguments: z.string().describe('call: the arguments as JSON text; else empty.'),
  operations: z
    .preprocess((written) => normalisedOperations(written as Json), operationsReply)
    .describe('result: changes of the state; else empty.'),
});

export const trajectoryReply = z.strictObject({ turns: z.array(turn) });

export type Turn = z.output<typeof turn>;

/** A trajectory has at most so many turns. */
const MAX_TURNS = 400;

class TrajectoryReplay {
  readonly messages: Message[];
  readonly steps: EpisodeStep[] = [];
  private calls = 0;
  private hasEnded = false;

  constructor(
    private readonly domain: ToolsDomain,
    /** As it stands after the turns so far. */
    public state: JsonObject,
    private readonly modelVersion: string,
  ) {
    this.messages = [{ role: 'system', content: domain.policy }];
  }

  /** Takes turns until one has a fault, and says which; no problems: all were taken. */
  play(turns: readonly Turn[]): { readonly problems: readonly string[] } {
    if (turns.length > MAX_TURNS) return { problems: [`There are ${turns.length} turns; at most ${MAX_TURNS}.`] };
    if (turns[0]?.role !== 'user') return { problems: ['It does not begin with the user.'] };
    for (let at = 0; at < turns.length; at++) {
      const problems = this.hasEnded ? ['A tool had ended the conversation.'] : this.take(turns[at], turns[at + 1]);
      if (problems.length > 0) return { problems: problems.map((problem) => `Turn ${at + 1}: ${problem}`) };
      if (turns[at].role === 'call') at++;
    }
    return { problems: [] };
  }

  /** Takes one turn, of a call with the result after it. */
  private take(turn: Turn, next: Turn | undefined): readonly string[] {
    switch (turn.role) {
      case 'user':
        if (turn.content.trim() === '') return ['the user says nothing.'];
        this.messages.push({ role: 'user', content: turn.content });
        return [];
      case 'assistant':
        if (turn.content.trim() === '') return ['the agent says nothing.'];
        this.act({ content: turn.content, ...thought(turn) }, []);
        return [];
      case 'call':
        return this.takeCall(turn, next);
      case 'result':
        return ['a result without a call.'];
    }
  }

  private takeCall(turn: Turn, result: Turn | undefined): readonly string[] {
    const call = this.readCall(turn);
    if (typeof call === 'string') return [call];
    if (result?.role !== 'result' || result.name !== call.name) return [`the call of ${call.name} has no result.`];
    const unsaid = unsaidIds(call.arguments, this.messages, this.domain, idPatternOf(this.domain));
    if (unsaid.length > 0) return [`the agent cannot know these ids: ${unsaid.join(', ')}.`];
    const made = parseOperations(result.operations);
    if ('problems' in made) return made.problems;
    return this.takeResult(turn, call, result, made.operations);
  }

  private takeResult(turn: Turn, call: ToolCall, result: Turn, operations: readonly Operation[]): readonly string[] {
    const { state, domain, messages } = this;
    const { earned = [] } = domain.rules ?? {};
    const minted = operations.find(({ path }) => path === '' || earned.includes(path.split('/')[1]));
    if (minted !== undefined)
      return [`the result of ${call.name} changes "${minted.path}": what is earned is not decided here.`];
    const isError = reportsError(result.content);
    const proposal = { operations, observation: result.content, isError, confidence: 1 };
    const checked = checkProposal({ domain, state, call, messages, proposal });
    if (checked.problems !== undefined) return checked.problems;
    const deviation = this.deviationFromRules(call, checked.after, proposal);
    if (deviation !== undefined) return [deviation];
    this.state = checked.after;
    this.hasEnded = toolOf(domain, call.name)?.terminates === true && !isError;
    const prediction = this.predictionOf(result, checked.operations, isError);
    this.act({ content: null, ...thought(turn), toolCalls: [call] }, [prediction]);
    this.messages.push({ role: 'tool', toolCallId: call.id, name: call.name, content: result.content, isError });
    return [];
  }

  /** Where exact code knows the tool, what was written must be what it does. */
  private deviationFromRules(
    call: ToolCall,
    after: JsonObject,
    { observation, isError }: { observation: string; isError: boolean },
  ): string | undefined {
    const { rules } = this.domain;
    if (!rules?.tools.has(call.name)) return undefined;
    const exact = rules.execute(this.state, call);
    const expected = stateHash(applyOperations(this.state, exact.operations));
    if (exact.isError !== isError) return `${call.name} ${exact.isError ? 'fails' : 'succeeds'} here.`;
    if (expected !== stateHash(after)) return `${call.name} changes the state in another way.`;
    if (!isError && comparableObservation(exact.observation) !== comparableObservation(observation))
      return `${call.name} returns something else.`;
    return undefined;
  }

  private readCall(turn: Turn): ToolCall | string {
    const { name } = turn;
    const { tools } = this.domain;
    if (!tools.some((tool) => tool.name === name)) return `there is no tool "${name}" of the agent.`;
    const given = parsedJson(turn.arguments);
    if (!isJsonObject(given)) return `the arguments of ${name} are no JSON object.`;
    const problems = callChecks(tools).problems({ name, arguments: given });
    return problems.length > 0 ? `${problems.join('; ')}.` : { id: `call-${this.calls++}`, name, arguments: given };
  }

  private act(action: EpisodeStep['action'], predictions: readonly Prediction[]): void {
    const message = this.messages.length;
    this.messages.push({ role: 'assistant', ...action });
    this.steps.push({ message, action, predictions, reward: 0, stateHash: stateHash(this.state) });
  }

  private predictionOf(result: Turn, operations: readonly Operation[], isError: boolean): Prediction {
    const isExact = this.domain.rules?.tools.has(result.name) === true;
    return {
      ...(result.reasoning === '' ? {} : { reasoning: result.reasoning }),
      operations,
      observation: result.content,
      isError,
      reward: null,
      terminated: this.hasEnded,
      truncated: false,
      confidence: 1,
      backend: 'llm',
      modelVersion: this.modelVersion,
      why: [isExact ? 'llm: written, and found equal to exact rules' : 'llm: written, and possible in the state'],
      cost: NO_COST,
    };
  }
}

function thought({ reasoning }: Turn): { reasoning?: string } {
  return reasoning === '' ? {} : { reasoning };
}

interface AmplifyRequest {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  /** A conversation of the same domain, for its form. */
  readonly exemplar?: readonly Message[];
  readonly model: LanguageModel;
  readonly seed: number;
  readonly temperature?: number;
  readonly maxTokens?: number;
  readonly stateTokens?: number;
  readonly signal?: AbortSignal;
}

/** What an `EpisodeRecord` needs of an episode, without a verdict: that is for verifiers. */
interface AmplifiedTrajectory {
  /** The policy first, as in every episode. */
  readonly messages: readonly Message[];
  readonly steps: readonly EpisodeStep[];
  readonly initialState: JsonObject;
  readonly finalState: JsonObject;
  /** It ends where its author ended it. */
  readonly terminated: boolean;
  /** It was cut at its first fault. */
  readonly truncated: boolean;
  /** Why it was cut; empty if it was not. */
  readonly problems: readonly string[];
  readonly modelVersion: string;
  readonly cost: Cost;
}

const SCHEMA = replySchema('trajectory', trajectoryReply);

/** Throws what the model throws; LLM_REPLY_INVALID included, as there is nothing to cut then. */
export async function amplifyTrajectory(request: AmplifyRequest): Promise<AmplifiedTrajectory> {
  const { domain, task, model, signal, temperature = 1, maxTokens = 16_384 } = request;
  const initialState = initialStateOf(domain, task);
  const messages = trajectoryMessages(request, initialState);
  const seed = Rng.fromSeed(request.seed).split('amplify').uint32() >>> 1;
  const reply = await model.chat({ messages, schema: SCHEMA, temperature, maxTokens, seed, attempt: 0 }, { signal });
  const read = trajectoryReply.safeParse(reply.json);
  if (!read.success)
    throw reverieError('TRAJECTORY_INVALID', {
      problem: `The trajectory written for task "${task.id}" cannot be read: ${describeIssues(read.error)}`,
      hint: 'Use a model that can be held to a schema, or run episodes turn by turn (synth.mode: turns).',
    });
  const modelVersion = `amplify:2:${model.version}`;
  const replay = new TrajectoryReplay(domain, initialState, modelVersion);
  const { problems } = replay.play(read.data.turns);
  return {
    messages: replay.messages,
    steps: replay.steps,
    initialState,
    finalState: replay.state,
    terminated: problems.length === 0,
    truncated: problems.length > 0,
    problems,
    modelVersion,
    cost: reply.usage,
  };
}

const MAX_CONTENT_CHARS = 2_000;

const RULES = [
  'The conversation is between a user, who has the goal of section Task and tells it bit by bit, and an agent, who follows the policy. It begins with the user and ends when the goal is reached or cannot be reached.',
  'Turns: "user" says something; "assistant" says something to the user; "call" is one call of a tool by the agent; "result" is what that call returns. Each call is followed at once by its result.',
  'State is the truth before the first turn. Calls change it by "operations" of their results: JSON Patch, values as JSON text. Reads and failed calls change nothing. An entity that is not shown, where "complete" is true, does not exist.',
  'A call that cannot be done returns "Error: " and the reason, and the agent goes on from there.',
  'The agent uses only ids that it was told or has read in results. Exemplar shows the form of another conversation: take its form and length, never its entities.',
];

function trajectoryMessages({ domain, task, exemplar, stateTokens = 8_000 }: AmplifyRequest, state: JsonObject) {
  const system = [
    'You write realistic conversations in which an agent serves a user by means of tools, for training agents.',
    DATA_NOTICE,
    `## Rules\n${RULES.map((rule, i) => `${i + 1}. ${rule}`).join('\n')}`,
    domainText(domain, domain.tools),
    'Reply with one JSON object with the key turns: a list of objects with the keys role, reasoning, content, name, arguments, operations, in this order.',
  ].join('\n\n');
  const { opening = '', persona = '', goal } = task.user;
  const slice = sliceState({ state, given: {}, texts: [opening, goal], tokens: stateTokens });
  const sections = [
    { heading: 'Exemplar', content: (exemplar ?? []).flatMap(exemplarTurns) },
    { heading: 'State', content: slice as unknown as Json },
    { heading: 'Task', content: { goal, persona, opening } },
  ];
  return [
    { role: 'system', content: system },
    { role: 'user', content: `${renderSections(sections)}\n\nWrite the conversation.` },
  ] satisfies ChatMessage[];
}

function exemplarTurns(message: Message): JsonObject[] {
  switch (message.role) {
    case 'system':
      return [];
    case 'user':
      return [{ role: 'user', content: clipped(message.content, MAX_CONTENT_CHARS) }];
    case 'tool':
      return [{ role: 'result', name: message.name, content: clipped(message.content, MAX_CONTENT_CHARS) }];
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map(({ name, arguments: given }) => {
        return { role: 'call', name, arguments: JSON.stringify(given) };
      });
      const content = message.content ?? '';
      return content === '' ? calls : [{ role: 'assistant', content }, ...calls];
    }
  }
}
