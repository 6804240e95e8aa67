// Turns of an episode as the viewer shows them: what was said, who answered, what changed.

import { ReverieError } from '../../core/errors.js';
import type { Json, JsonObject } from '../../core/json.js';
import {
  applyOperations,
  type Message,
  type Prediction,
  stateChanges,
  stateHash,
  type ToolCall,
  type ToolsStepInfo,
  type Verdict,
} from '../../env/index.js';
import type { AnswerView, ChangeView, MessageView, VerdictView, WireJson } from './wire.js';

export function messageView(message: Message): MessageView {
  const { role, content } = message;
  if (message.role === 'tool') return { role, content, name: message.name, isError: message.isError ?? false };
  if (message.role !== 'assistant') return { role, content };
  const { reasoning, toolCalls } = message;
  return {
    role,
    content,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls === undefined ? {} : { toolCalls: toolCalls.map(callView) }),
  };
}

function callView({ id, name, arguments: given }: ToolCall) {
  return { id, name, arguments: given };
}

/** @param tool  name of the tool that was called */
export function answerView(tool: string, prediction: Prediction, changes: readonly ChangeView[]): AnswerView {
  const { backend, modelVersion, confidence, why, isError, refused, repaired, stateless, reasoning } = prediction;
  return {
    tool,
    backend,
    modelVersion,
    confidence,
    why,
    isError,
    ...(refused === undefined ? {} : { refused }),
    ...(repaired === undefined ? {} : { repaired }),
    ...(stateless === undefined ? {} : { stateless }),
    ...(reasoning === undefined ? {} : { reasoning }),
    changes,
  };
}

export function verdictView({ reward, checks, judge }: Verdict): VerdictView {
  return { reward, checks, ...(judge === undefined ? {} : { judge }) };
}

const TOLD_ELSEWHERE = ['predictions', 'verdict', 'stateHash', 'userCost', 'task', 'seed'];

/** What an environment says of a step beside what has its own place. */
export function otherInfo(info: Json): Readonly<Record<string, WireJson>> {
  const entries = Object.entries((info ?? {}) as Record<string, WireJson>);
  return Object.fromEntries(entries.filter(([key]) => !TOLD_ELSEWHERE.includes(key)));
}

/** A step's info in JSON, as an environment of tools gives it. */
export function toolsInfo(info: Json): Partial<ToolsStepInfo> {
  return (info ?? {}) as unknown as Partial<ToolsStepInfo>;
}

// Changes of a typed state, step by step, with what was there before: from the state an episode began in and the
// operations of its answers.

/** Longest text of a value that is sent; longer ones are cut. */
const LONGEST_VALUE = 2_000;

/** Follows the state of an episode; loses it where it does not come out as it was recorded. */
export class StateTrace {
  private state: JsonObject | undefined;
  /** Whether the state was known at first and was lost. */
  lost = false;

  /** @param initial  undefined where it is not known: changes are told without what was there before */
  constructor(initial: JsonObject | undefined) {
    this.state = initial;
  }

  /**
   * What each answer of a step changed.
   * @param hash  of the state after the step, as it was recorded
   */
  step(answers: readonly Pick<Prediction, 'operations'>[], hash: string | undefined): ChangeView[][] {
    if (this.state === undefined) return answers.map(told);
    try {
      let state = this.state;
      const changes = answers.map(({ operations }) => {
        const before = state;
        state = applyOperations(before, operations);
        return changesBetween(before, state);
      });
      if (hash !== undefined && stateHash(state) !== hash) return this.lose(answers);
      this.state = state;
      return changes;
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      return this.lose(answers);
    }
  }

  private lose(answers: readonly Pick<Prediction, 'operations'>[]): ChangeView[][] {
    this.state = undefined;
    this.lost = true;
    return answers.map(told);
  }
}

/** Operations alone, where what was there before is not known. */
function told({ operations }: Pick<Prediction, 'operations'>): ChangeView[] {
  return operations.map((operation) =>
    change(operation.op, operation.path, undefined, 'value' in operation ? operation.value : undefined),
  );
}

function changesBetween(before: JsonObject, after: JsonObject): ChangeView[] {
  return stateChanges(before, after).map(({ op, path, value }) =>
    change(op, pointerOf(path), op === 'add' ? undefined : partOf(before, path), op === 'remove' ? undefined : value),
  );
}

function change(op: string, path: string, before: Json | undefined, after: Json | undefined): ChangeView {
  return {
    op,
    path,
    ...(before === undefined ? {} : { before: shortened(before) }),
    ...(after === undefined ? {} : { after: shortened(after) }),
  };
}

function shortened(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length <= LONGEST_VALUE ? value : `${text.slice(0, LONGEST_VALUE)} …`;
}

function partOf(state: JsonObject, path: readonly (string | number)[]): Json | undefined {
  let value: Json | undefined = state;
  for (const key of path) value = (value as Record<string | number, Json> | undefined)?.[key];
  return value;
}

function pointerOf(path: readonly (string | number)[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
