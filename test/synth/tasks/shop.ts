// A small shop with exact rules: customers, their orders, and an agent who may cancel, refund and readdress them.

import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import { recordOperations } from '../../../src/env/state/operations.js';
import { stateHash } from '../../../src/env/state/state.js';
import type { ToolOutcome, ToolRules, ToolSpec, ToolsDomain, ToolsTask } from '../../../src/env/tools/domain.js';
import type { ToolCall } from '../../../src/env/tools/message.js';
import { testData } from '../../data.js';

const FIRST = ['Ada', 'Bela', 'Cleo', 'Dario', 'Edda', 'Ferran', 'Gita', 'Hugo', 'Ines', 'Jonas'];
const LAST = ['Abel', 'Brandt', 'Costa', 'Dubois', 'Egger', 'Fonda', 'Grau', 'Holm', 'Ivanic', 'Jensen'];
const CITIES = ['Graz', 'Porto', 'Tampere', 'Ghent', 'Brno', 'Malaga', 'Aarhus', 'Linz', 'Turin', 'Split'];
const GOODS = ['lamp', 'kettle', 'rug'];
const STATUSES = ['pending', 'delivered', 'cancelled'];

export const REASONS = ['no longer needed', 'ordered by mistake', 'found cheaper'];

function state(): JsonObject {
  const customers: Record<string, Json> = {};
  const orders: Record<string, Json> = {};
  for (let i = 0; i < 30; i++) {
    const id = `cus_${100 + i * 7}`;
    const mine = [0, 1].map((j) => `ORD-${2000 + i * 10 + j}`);
    const name = `${FIRST[i % 10]} ${LAST[(i * 3 + Math.floor(i / 10)) % 10]}`;
    customers[id] = {
      id,
      name,
      email: `${name.toLowerCase().replace(' ', '.')}${i}@mail.example`,
      orders: mine,
      credit: 0,
    };
    for (const [j, order] of mine.entries()) {
      const total = 20 + i * 3 + j + 0.5;
      const city = CITIES[(i + j) % 10];
      orders[order] = {
        id: order,
        customer_id: id,
        item: GOODS[(i + j) % 3],
        status: STATUSES[(i + 2 * j) % 3],
        total,
        city,
      };
    }
  }
  return freeze({ customers, orders });
}

export const SHOP_TOOLS: ToolSpec[] = [
  tool('get_customer', 'read', { customer_id: { type: 'string' } }),
  tool('get_order', 'read', { order_id: { type: 'string' } }),
  tool('cancel_order', 'write', { order_id: { type: 'string' }, reason: { type: 'string', enum: REASONS } }),
  tool('give_credit', 'write', { customer_id: { type: 'string' }, amount: { type: 'number', minimum: 0 } }),
  tool('change_city', 'write', { order_id: { type: 'string' }, city: { type: 'string' } }),
  { ...tool('hand_over', 'generic', { summary: { type: 'string' } }), terminates: true },
];

function tool(name: string, kind: ToolSpec['kind'], properties: JsonObject): ToolSpec {
  const parameters = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
  return { name, description: name, kind, parameters };
}

type Draft = { customers: Record<string, Record<string, Json>>; orders: Record<string, Record<string, Json>> };

function act(draft: Draft, { name, arguments: given }: ToolCall): Json {
  if (name === 'hand_over') return 'handed over';
  const collection = 'order_id' in given ? draft.orders : draft.customers;
  const record = collection[String(given.order_id ?? given.customer_id)];
  if (record === undefined) throw new RangeError('not found');
  if (name === 'give_credit') record.credit = Number(record.credit) + Number(given.amount);
  if (name === 'change_city') record.city = given.city;
  if (name === 'cancel_order') {
    if (record.status !== 'pending') throw new RangeError(`order is ${record.status}`);
    Object.assign(record, { status: 'cancelled', reason: given.reason });
  }
  return JSON.parse(JSON.stringify(record)) as Json;
}

const rules: ToolRules = {
  version: 'shop-1',
  tools: new Set(SHOP_TOOLS.map(({ name }) => name)),
  execute(before, call): ToolOutcome {
    try {
      const { operations, result } = recordOperations(before, (draft) => act(draft, call));
      return { operations, observation: JSON.stringify(result), isError: false };
    } catch (error) {
      return { operations: [], observation: `Error: ${(error as Error).message}`, isError: true };
    }
  },
  preconditions: () => [],
  invariants: (_before, after) =>
    Object.values((after as unknown as Draft).customers).some(({ credit }) => Number(credit) > 1000)
      ? ['too much credit']
      : [],
  check: (name) => ({ name, passed: null, reason: 'no such check' }),
  close: () => {},
};

export const [CANCEL, CREDIT, KEPT] = testData<ToolsTask[]>('synth/tasks/shop-tasks.yaml');

export function shop(tasks: readonly ToolsTask[] = [CANCEL, CREDIT, KEPT], withRules = true): ToolsDomain {
  const initialState = state();
  const kept = withRules ? { rules } : {};
  return {
    id: 'shop',
    version: stateHash(initialState),
    policy: 'Only pending orders may be cancelled.',
    tools: SHOP_TOOLS,
    stateSchema: { type: 'object', required: ['customers', 'orders'] },
    initialState,
    tasks,
    ...kept,
    close: () => {},
  };
}

function freeze<T extends Json>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) freeze(part as Json);
  return Object.freeze(value);
}
