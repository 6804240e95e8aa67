// Plays a written trajectory through the typed state, turn by turn, as far as it holds.

import type { Json, JsonObject } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { applyOperations } from '../../env/state/operations.js';
import { stateHash } from '../../env/state/state.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { Message, ToolCall } from '../../env/tools/message.js';
import type { Operation, Prediction } from '../../env/tools/prediction.js';
import type { EpisodeStep } from '../../replay/experience/experience.js';
import { checkProposal } from '../state.js';
import { idPatternOf } from '../tools/id-pattern.js';
import { comparableObservation } from '../tools/observation-text.js';
import { unsaidIds } from '../tools/provenance.js';
import { schemaCheckOf } from '../tools/schema-check.js';
import { toolOf } from '../tools/tool-of.js';
import { parseOperations, reportsError } from './prediction-schema.js';
import type { Turn } from './trajectory-reply.js';

/** A trajectory has at most so many turns. */
const MAX_TURNS = 400;

export class TrajectoryReplay {
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
    const tool = toolOf(this.domain, turn.name);
    if (tool === undefined) return `there is no tool "${turn.name}".`;
    const given = parseObject(turn.arguments);
    if (given === undefined) return `the arguments of ${turn.name} are no JSON object.`;
    const faults = schemaCheckOf(tool.parameters, `the arguments of ${tool.name}`)(given);
    if (faults.length > 0) return `the arguments of ${turn.name}: ${faults.join('; ')}.`;
    return { id: `call-${this.calls++}`, name: tool.name, arguments: given };
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

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
