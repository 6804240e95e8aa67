// A help desk as small as can be: customers, tickets, four tools, exact rules. And a real environment made of them.

import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import { NO_COST } from '../../../src/core/cost.js';
import { recordOperations } from '../../../src/env/state/operations.js';
import type { ToolOutcome, ToolRules, ToolSpec, ToolsDomain, ToolsTask } from '../../../src/env/tools/domain.js';
import type { Message, ToolCall } from '../../../src/env/tools/message.js';
import type { Prediction } from '../../../src/env/tools/prediction.js';
import type { CallQuery, Responder } from '../../../src/env/tools/tools-family.js';
import { testData } from '../../data.js';

const text = { type: 'string' };
const object = (properties: JsonObject, required = Object.keys(properties)): JsonObject => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const ticket = object({
  customer_id: text,
  subject: text,
  status: { enum: ['open', 'closed'] },
  comments: { type: 'array', items: text },
});

export const DESK_TOOLS = testData<ToolSpec[]>('worldmodel/tools/desk-tools.yaml');

export function deskState(tickets = 3): JsonObject {
  const customers = { C101: { name: 'Ada Lind' }, C102: { name: 'Bo Ek' } };
  const entries = Array.from({ length: tickets }, (_, i) => [
    `T${1001 + i}`,
    { customer_id: i % 2 === 0 ? 'C101' : 'C102', subject: `Matter ${i}`, status: 'open', comments: [] as string[] },
  ]);
  return deepFreeze({ customers, tickets: Object.fromEntries(entries) });
}

interface DeskState {
  customers: Record<string, JsonObject>;
  tickets: Record<string, { customer_id: string; subject: string; status: string; comments: string[] }>;
}

function run(state: DeskState, { name, arguments: given }: Pick<ToolCall, 'name' | 'arguments'>): Json {
  const id = String(given.ticket_id);
  if (name === 'get_ticket')
    return state.tickets[id] ? { ticket_id: id, ...state.tickets[id] } : fail(`Ticket ${id} not found`);
  if (name === 'close_ticket') {
    if (!state.tickets[id]) fail(`Ticket ${id} not found`);
    if (state.tickets[id].status === 'closed') fail(`Ticket ${id} is closed already`);
    state.tickets[id].status = 'closed';
    return `Ticket ${id} closed`;
  }
  if (name === 'open_ticket') {
    const customer = String(given.customer_id);
    if (!state.customers[customer]) fail(`Customer ${customer} not found`);
    const fresh = `T${1001 + Object.keys(state.tickets).length}`;
    state.tickets[fresh] = { customer_id: customer, subject: String(given.subject), status: 'open', comments: [] };
    return { ticket_id: fresh };
  }
  return 'Handed over';
}

function fail(problem: string): never {
  throw new Error(problem);
}

export const deskRules: ToolRules = {
  version: 'desk-1',
  tools: new Set(DESK_TOOLS.map(({ name }) => name)),
  execute(state, call): ToolOutcome {
    try {
      const { operations, result } = recordOperations(state, (draft) => run(draft as DeskState, call));
      return { operations, observation: typeof result === 'string' ? result : JSON.stringify(result), isError: false };
    } catch (error) {
      return { operations: [], observation: `Error: ${(error as Error).message}`, isError: true };
    }
  },
  preconditions(state, call) {
    const { tickets } = state as unknown as DeskState;
    const id = String(call.arguments.ticket_id);
    return call.name === 'close_ticket' && tickets[id]?.status === 'closed' ? [`ticket ${id} is closed already`] : [];
  },
  invariants(before, after) {
    const [was, is] = [before, after] as unknown as DeskState[];
    const lost = Object.keys(was.tickets).filter((id) => !is.tickets[id]);
    return lost.map((id) => `ticket ${id} was deleted`);
  },
  check: () => ({ name: 'none', passed: null, reason: 'no checks' }),
  close: () => {},
};

export const DESK_TASK: ToolsTask = {
  id: 'close-one',
  family: 'close',
  user: { opening: 'Please close my ticket T1001.', goal: 'Have T1001 closed.' },
  verifier: { assert: [{ path: '/tickets/T1001/status', equals: 'closed' }] },
  reference: { calls: [{ name: 'close_ticket', arguments: { ticket_id: 'T1001' } }] },
};

export function deskDomain(options: { rules?: ToolRules; tickets?: number } = {}): ToolsDomain {
  return {
    id: 'desk',
    version: 'desk-1',
    policy: 'Close tickets only for their customers.',
    tools: DESK_TOOLS,
    stateSchema: object({
      customers: { type: 'object', additionalProperties: object({ name: text }) },
      tickets: { type: 'object', additionalProperties: ticket },
    }),
    initialState: deskState(options.tickets),
    tasks: [DESK_TASK],
    ...(options.rules ? { rules: options.rules } : {}),
    close: () => {},
  };
}

/** A query for one call, first of its episode. */
export function deskQuery(name: string, given: JsonObject, changes: Partial<CallQuery> = {}): CallQuery {
  const domain = changes.domain ?? deskDomain();
  const call: ToolCall = { id: 'call-1', name, arguments: given };
  const messages: Message[] = [
    { role: 'system', content: domain.policy },
    { role: 'user', content: 'Please close my ticket T1001.' },
    { role: 'assistant', content: null, toolCalls: [call] },
  ];
  return { domain, task: DESK_TASK, state: domain.initialState, messages, call, step: 0, seed: 1, ...changes };
}

export const realDesk: Responder = {
  version: 'real-desk',
  answer(query): Prediction {
    const outcome = deskRules.execute(query.state, query.call);
    return { ...outcome, ...EXACT, terminated: query.call.name === 'hand_over', why: ['rules: exact'] };
  },
  close: () => {},
};

const EXACT = {
  reward: null,
  truncated: false,
  confidence: 1,
  backend: 'rules' as const,
  modelVersion: 'desk-1',
  cost: NO_COST,
};

export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
