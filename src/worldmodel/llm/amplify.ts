// Amplification: one call of a language model writes a whole trajectory (Simia-SFT, 2511.01824). Cheaper than living it
// turn by turn, and trusted less: every call is checked against its tool, every result against the state it is made in
// (and against exact rules where there are any). From the first fault on the trajectory is cut, not mended and not dropped.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import type { Cost } from '../../core/cost.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import type { ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import type { Message } from '../../env/tools/message.js';
import { initialStateOf } from '../../env/tools/situation.js';
import type { ChatMessage, LanguageModel } from '../../llm/language-model.js';
import type { EpisodeStep } from '../../replay/experience/experience.js';
import { replySchema } from './prediction-schema.js';
import { clipped, DATA_NOTICE, oneLine, renderSections } from './sections.js';
import { sliceState } from './state-slice.js';
import { TrajectoryReplay } from './trajectory-replay.js';
import { trajectoryReply } from './trajectory-reply.js';

export interface AmplifyRequest {
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
export interface AmplifiedTrajectory {
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
  const { domain, task, exemplar, model, seed, signal } = request;
  const { temperature = 1, maxTokens = 16_384, stateTokens = 8_000 } = request;
  const initialState = initialStateOf(domain, task);
  const messages = trajectoryMessages({ domain, task, state: initialState, exemplar, stateTokens });
  const reply = await model.chat(
    {
      messages,
      schema: SCHEMA,
      temperature,
      maxTokens,
      seed: Rng.fromSeed(seed).split('amplify').uint32() >>> 1,
      attempt: 0,
    },
    { signal },
  );
  const read = trajectoryReply.safeParse(reply.json);
  if (!read.success)
    throw reverieError('TRAJECTORY_INVALID', { task: task.id, problem: describeIssues(read.error) }, read.error);
  const modelVersion = `amplify:1:${model.version}`;
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

// What a language model is told to write a whole trajectory at once (Simia-SFT, 2511.01824: tools, policy, one exemplar),
// here with a state that its calls must keep to.

interface TrajectoryPrompt {
  readonly domain: ToolsDomain;
  readonly task: ToolsTask;
  readonly state: JsonObject;
  readonly exemplar?: readonly Message[];
  readonly stateTokens: number;
}

const MAX_CONTENT_CHARS = 2_000;

const RULES = [
  'The conversation is between a user, who has the goal of section Task and tells it bit by bit, and an agent, who follows the policy. It begins with the user and ends when the goal is reached or cannot be reached.',
  'Turns: "user" says something; "assistant" says something to the user; "call" is one call of a tool by the agent; "result" is what that call returns. Each call is followed at once by its result.',
  'State is the truth before the first turn. Calls change it by "operations" of their results: JSON Patch, values as JSON text. Reads and failed calls change nothing. An entity that is not shown, where "complete" is true, does not exist.',
  'A call that cannot be done returns "Error: " and the reason, and the agent goes on from there.',
  'The agent uses only ids that it was told or has read in results. Exemplar shows the form of another conversation: take its form and length, never its entities.',
];

function trajectoryMessages({ domain, task, state, exemplar, stateTokens }: TrajectoryPrompt): ChatMessage[] {
  const system = [
    'You write realistic conversations in which an agent serves a user by means of tools, for training agents.',
    DATA_NOTICE,
    `## Rules\n${RULES.map((rule, i) => `${i + 1}. ${rule}`).join('\n')}`,
    `## Policy of the agent\n${domain.policy}`,
    `## Tools\n${domain.tools.map((tool) => oneLine(tool as unknown as Json)).join('\n')}`,
    `## Schema of the state\n${oneLine(domain.stateSchema)}`,
    'Reply with one JSON object with the key turns: a list of objects with the keys role, reasoning, content, name, arguments, operations, in this order.',
  ].join('\n\n');
  const { opening = '', persona = '', goal } = task.user;
  const slice = sliceState({
    state,
    call: { name: '', arguments: {} },
    texts: [opening, goal],
    tokens: stateTokens,
  });
  const sections = [
    { heading: 'Exemplar', content: (exemplar ?? []).flatMap(exemplarTurns) },
    { heading: 'State', content: slice as unknown as Json },
    { heading: 'Task', content: { goal, persona, opening } },
  ];
  return [
    { role: 'system', content: system },
    { role: 'user', content: `${renderSections(sections)}\n\nWrite the conversation.` },
  ];
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
