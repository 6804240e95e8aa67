// Invented episodes of an invented parcel office, for tests of filters and exporters.

import type { Json, JsonObject } from '../../src/core/canonical-json.js';
import type { CallSpec, ToolsDomain, ToolsTask, Verdict } from '../../src/env/tools/domain.js';
import type { Message } from '../../src/env/tools/message.js';
import type { Prediction } from '../../src/env/tools/prediction.js';
import type { EpisodeRecord, EpisodeStep } from '../../src/replay/experience/experience.js';
import { testData } from '../data.js';

export const NO_COST = { calls: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, money: 0 };

export function parcelDomain(change: Partial<ToolsDomain> = {}): ToolsDomain {
  return {
    id: 'parcels',
    version: 'a'.repeat(64),
    policy: 'You help with parcels. Make one call at a time.',
    tools: testData<ToolsDomain['tools']>('synth/parcel-tools.yaml'),
    stateSchema: { type: 'object' },
    initialState: { parcels: { P100: { shelf: 1 }, P200: { shelf: 2 } } },
    tasks: [],
    close: () => undefined,
    ...change,
  };
}

export function parcelTask(id: string, change: Partial<ToolsTask> = {}): ToolsTask {
  return { id, family: id, user: { goal: `Do ${id}.` }, verifier: { state: 'reference' }, ...change };
}

export function prediction(change: Partial<Prediction> = {}): Prediction {
  return {
    operations: [],
    observation: '',
    isError: false,
    reward: null,
    terminated: false,
    truncated: false,
    confidence: 0.9,
    backend: 'llm',
    modelVersion: 'toy-model-1',
    why: ['no rule knew the tool'],
    cost: NO_COST,
    ...change,
  };
}

/** One thing that happens: the user speaks, or the agent speaks or calls (with answers). */
export type Turn =
  | { readonly user: string }
  | { readonly say: string; readonly reasoning?: string }
  | {
      readonly call: readonly (CallSpec & {
        readonly answer?: string;
        readonly isError?: boolean;
        readonly confidence?: number;
        readonly operations?: Prediction['operations'];
      })[];
      readonly text?: string;
      readonly reasoning?: string;
      readonly state?: string;
    };

export function call(name: string, values: Json, answer: string | undefined = 'ok', change: object = {}) {
  return { call: [{ name, arguments: values as JsonObject, answer, ...change }] };
}

export interface RecordSpec extends Partial<Omit<EpisodeRecord, 'messages' | 'steps' | 'verdict'>> {
  readonly turns?: readonly Turn[];
  readonly reward?: number | null;
  readonly judge?: string;
}

export const USUAL: readonly Turn[] = [
  { user: 'Where is parcel P100? Please move it to shelf 4.' },
  call('get_parcel', { parcel_id: 'P100' }, '{"shelf": 1}'),
  {
    ...call('move_parcel', { parcel_id: 'P100', shelf: 4 }, 'moved', {
      operations: [{ op: 'replace', path: '/parcels/P100/shelf', value: 4 }],
    }),
    state: 'moved',
  },
  { say: 'It was on shelf 1 and is on shelf 4 now.' },
];

let next = 0;

export function record(spec: RecordSpec = {}): EpisodeRecord {
  const { turns = USUAL, reward = 1, judge, ...rest } = spec;
  const { messages, steps } = lived(turns);
  const row = rest.row ?? next++;
  const verdict: Verdict = {
    reward,
    checks: reward === null ? [] : [{ name: 'state', passed: reward > 0, reason: 'compared' }],
    ...(judge && { judge }),
  };
  return {
    id: row.toString(16).padStart(16, '0'),
    row,
    source: 'synthetic',
    scenario: 'parcels',
    scenarioHash: 'b'.repeat(16),
    task: `task-${row}`,
    family: `family-${row}`,
    split: 'train',
    seed: 7,
    group: -1,
    policyVersion: 'agent-1',
    userVersion: 'user-1',
    responderVersion: 'world-1',
    messages,
    steps,
    verdict,
    outcome: { kind: 'judged', cause: null, attempt: `${row}-1` },
    return: reward,
    terminated: true,
    truncated: false,
    weight: 1,
    cost: { ...NO_COST, calls: 2, promptTokens: 100, completionTokens: 20, money: 0.01 },
    ...rest,
  };
}

function lived(turns: readonly Turn[]): { messages: Message[]; steps: EpisodeStep[] } {
  const messages: Message[] = [{ role: 'system', content: 'You help with parcels. Make one call at a time.' }];
  const steps: EpisodeStep[] = [];
  let state = 'start';
  for (const turn of turns) {
    if ('user' in turn) {
      messages.push({ role: 'user', content: turn.user });
      continue;
    }
    const message = messages.length;
    if ('say' in turn) {
      const action = { content: turn.say, ...(turn.reasoning && { reasoning: turn.reasoning }) };
      messages.push({ role: 'assistant', ...action });
      steps.push({ message, action, predictions: [], reward: 0, stateHash: state });
      continue;
    }
    state = turn.state ?? state;
    const toolCalls = turn.call.map((one, index) => ({
      id: `call-${message}-${index}`,
      name: one.name,
      arguments: one.arguments,
    }));
    const action = { content: turn.text ?? null, ...(turn.reasoning && { reasoning: turn.reasoning }), toolCalls };
    messages.push({ role: 'assistant', ...action });
    turn.call.forEach(({ name, answer, isError }, index) => {
      if (answer === undefined) return;
      const toolCallId = toolCalls[index].id;
      messages.push({ role: 'tool', toolCallId, name, content: answer, ...(isError && { isError }) });
    });
    const predictions = turn.call.map(({ answer = '', isError = false, operations = [], confidence = 0.9 }) =>
      prediction({ observation: answer, isError, operations, confidence }),
    );
    steps.push({ message, action, predictions, reward: 0, stateHash: state });
  }
  return { messages, steps };
}
