// Small made-up data in the files of a τ-bench domain, so that rules can be tested without the benchmark's own data.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadTauDomain, type TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';

const ADDRESS = { address1: '1 Elm', address2: '', city: 'Oz', country: 'USA', state: 'KS', zip: '12345' };
const SEATS = { basic_economy: 2, economy: 3, business: 1 };
const PRICES = { basic_economy: 50, economy: 100, business: 400 };
const OPEN = { status: 'available', available_seats: SEATS, prices: PRICES };

function flight(number: string, origin: string, destination: string, times: [string, string], dates: JsonObject) {
  const [scheduled_departure_time_est, scheduled_arrival_time_est] = times;
  return {
    flight_number: number,
    origin,
    destination,
    scheduled_departure_time_est,
    scheduled_arrival_time_est,
    dates,
  };
}

const AIRLINE = {
  flights: {
    F1: flight('F1', 'AAA', 'BBB', ['06:00:00', '08:00:00'], {
      '2024-05-20': OPEN,
      '2024-05-09': { status: 'cancelled' },
    }),
    F2: flight('F2', 'BBB', 'CCC', ['09:00:00', '10:00:00'], { '2024-05-20': OPEN }),
    F3: flight('F3', 'AAA', 'DDD', ['22:00:00', '01:00:00+1'], { '2024-05-20': OPEN }),
    F4: flight('F4', 'DDD', 'CCC', ['06:00:00', '07:00:00'], {
      '2024-05-20': { status: 'landed', actual_departure_time_est: 'x', actual_arrival_time_est: 'y' },
      '2024-05-21': OPEN,
    }),
    F5: flight('F5', 'DDD', 'CCC', ['02:00:00+1', '03:00:00+1'], { '2024-05-20': OPEN, '2024-05-21': OPEN }),
  },
  reservations: {
    R00001: {
      reservation_id: 'R00001',
      user_id: 'ann_lee_1',
      origin: 'AAA',
      destination: 'BBB',
      flight_type: 'one_way',
      cabin: 'economy',
      flights: [{ origin: 'AAA', destination: 'BBB', flight_number: 'F1', date: '2024-05-20', price: 90 }],
      passengers: [{ first_name: 'Ann', last_name: 'Lee', dob: '1990-01-01' }],
      payment_history: [{ payment_id: 'credit_card_1', amount: 90 }],
      created_at: '2024-05-01T00:00:00',
      total_baggages: 1,
      nonfree_baggages: 0,
      insurance: 'no',
    },
  },
  users: {
    ann_lee_1: {
      name: { first_name: 'Ann', last_name: 'Lée' },
      address: ADDRESS,
      email: 'ann@example.com',
      dob: '1990-01-01',
      payment_methods: {
        credit_card_1: { source: 'credit_card', brand: 'visa', last_four: '0001', id: 'credit_card_1' },
        gift_card_1: { source: 'gift_card', amount: 120, id: 'gift_card_1' },
        certificate_1: { source: 'certificate', amount: 150, id: 'certificate_1' },
      },
      saved_passengers: [],
      membership: 'gold',
      reservations: ['R00001'],
    },
  },
};

// 1000000001 to 1000000003 are array indices to JavaScript, which would sort them; 9000000001 is none.
const VARIANTS = `{
  "9000000001": {"item_id": "9000000001", "options": {"color": "red"}, "available": true, "price": 10.1},
  "1000000003": {"item_id": "1000000003", "options": {"color": "blue"}, "available": true, "price": 12.0},
  "1000000001": {"item_id": "1000000001", "options": {"color": "gray"}, "available": false, "price": 9.99},
  "1000000002": {"item_id": "1000000002", "options": {"color": "pink"}, "available": true, "price": 30.3}
}`;

function order(id: string, status: string, items: [string, number][], paidWith: string) {
  return {
    order_id: id,
    user_id: 'bo_ray_1',
    address: ADDRESS,
    items: items.map(([item_id, price]) => ({
      name: 'Cup',
      product_id: '8000000001',
      item_id,
      price,
      options: { color: '?' },
    })),
    status,
    fulfillments: [],
    payment_history: [
      {
        transaction_type: 'payment',
        amount: items.reduce((sum, [, price]) => sum + price, 0),
        payment_method_id: paidWith,
      },
    ],
  };
}

const RETAIL = {
  users: {
    bo_ray_1: {
      user_id: 'bo_ray_1',
      name: { first_name: 'Bo', last_name: 'Ray' },
      address: ADDRESS,
      email: 'Bo.Ray@example.com',
      payment_methods: {
        gift_card_1: { source: 'gift_card', id: 'gift_card_1', balance: 20 },
        paypal_1: { source: 'paypal', id: 'paypal_1' },
        credit_card_1: { source: 'credit_card', id: 'credit_card_1', brand: 'visa', last_four: '0001' },
      },
      orders: ['#W1', '#W2', '#W3', '#W4'],
    },
  },
  orders: {
    '#W1': order(
      '#W1',
      'pending',
      [
        ['9000000001', 10.1],
        ['9000000001', 10.1],
      ],
      'gift_card_1',
    ),
    '#W2': order(
      '#W2',
      'delivered',
      [
        ['9000000001', 10.1],
        ['1000000003', 12],
      ],
      'paypal_1',
    ),
    '#W3': order('#W3', 'processed', [['1000000003', 12]], 'paypal_1'),
    '#W4': order(
      '#W4',
      'pending',
      [
        ['9000000001', 10.1],
        ['1000000003', 11.4],
      ],
      'credit_card_1',
    ),
  },
};

const DATABASES: Record<TauDomainName, string> = {
  airline: JSON.stringify(AIRLINE),
  retail: JSON.stringify({
    products: { '8000000001': { name: 'Cup', product_id: '8000000001', variants: 'VARIANTS' } },
    ...RETAIL,
  }).replace('"VARIANTS"', VARIANTS),
};

const TOOLS: Record<TauDomainName, Record<string, string>> = {
  airline: {
    'book_reservation write':
      'user_id:str origin:str destination:str flight_type:FlightType cabin:CabinClass flights:List[FlightInfo_|_dict] passengers:List[Passenger_|_dict] payment_methods:List[Payment_|_dict] total_baggages:int nonfree_baggages:int insurance:Insurance',
    'calculate generic': 'expression:str',
    'cancel_reservation write': 'reservation_id:str',
    'get_flight_status read': 'flight_number:str date:str',
    'get_reservation_details read': 'reservation_id:str',
    'get_user_details read': 'user_id:str',
    'list_all_airports read': '',
    'search_direct_flight read': 'origin:str destination:str date:str',
    'search_onestop_flight read': 'origin:str destination:str date:str',
    'send_certificate write': 'user_id:str amount:int',
    'transfer_to_human_agents generic': 'summary:str',
    'update_reservation_baggages write': 'reservation_id:str total_baggages:int nonfree_baggages:int payment_id:str',
    'update_reservation_flights write':
      'reservation_id:str cabin:CabinClass flights:List[FlightInfo_|_dict] payment_id:str',
    'update_reservation_passengers write': 'reservation_id:str passengers:List[Passenger_|_dict]',
  },
  retail: {
    'cancel_pending_order write': 'order_id:str reason:str',
    'exchange_delivered_order_items write':
      'order_id:str item_ids:List[str] new_item_ids:List[str] payment_method_id:str',
    'find_user_id_by_email read': 'email:str',
    'find_user_id_by_name_zip read': 'first_name:str last_name:str zip:str',
    'get_item_details read': 'item_id:str',
    'get_order_details read': 'order_id:str',
    'get_product_details read': 'product_id:str',
    'get_user_details read': 'user_id:str',
    'list_all_product_types read': '',
    'modify_pending_order_address write':
      'order_id:str address1:str address2:str city:str state:str country:str zip:str',
    'modify_pending_order_items write': 'order_id:str item_ids:List[str] new_item_ids:List[str] payment_method_id:str',
    'modify_pending_order_payment write': 'order_id:str payment_method_id:str',
    'modify_user_address write': 'user_id:str address1:str address2:str city:str state:str country:str zip:str',
    'return_delivered_order_items write': 'order_id:str item_ids:List[str] payment_method_id:str',
  },
};

function toolsFile(domain: TauDomainName): object[] {
  return Object.entries(TOOLS[domain]).map(([title, params]) => {
    const [name, kind] = title.split(' ');
    const parsed = params === '' ? [] : params.split(' ').map((param) => param.split(':'));
    return {
      name,
      kind,
      params: parsed.map(([param, type]) => ({ name: param, python_type: type.replaceAll('_|_', ' | ') })),
      doc: `Does ${name}.\n\nArgs:\n${parsed.map(([param]) => `    ${param}: The ${param},\n        as given.`).join('\n')}\n\nReturns:\n    What it is.`,
    };
  });
}

/** One task: what a user wants, and calls that do it. */
export function taskRecord(id: string, actions: [string, JsonObject][], criteria: JsonObject = {}): JsonObject {
  const instructions = {
    domain: 'd',
    reason_for_call: 'You want it.\n\nNow.',
    known_info: 'You are ann_lee_1.',
    unknown_info: null,
    task_instructions: 'Be brief.',
  };
  return {
    id,
    user_scenario: { persona: null, instructions },
    initial_state: null,
    evaluation_criteria: {
      actions: actions.map(([name, args]) => ({ action_id: '0', name, arguments: args, info: null })),
      communicate_info: [],
      nl_assertions: null,
      reward_basis: ['DB', 'COMMUNICATE'],
      ...criteria,
    },
  };
}

const READ = { airline: 'get_user_details', retail: 'get_user_details' };

/** A folder with the four files; any of them can be given another text, or left out (null). */
export function tauFolder(domain: TauDomainName, files: Record<string, string | null> = {}): string {
  const folder = mkdtempSync(path.join(tmpdir(), `tau-${domain}-`));
  const all: Record<string, string | null> = {
    'db.json': DATABASES[domain],
    'policy.md': 'Be kind.\n',
    'tools.json': JSON.stringify(toolsFile(domain)),
    'tasks.json': JSON.stringify([taskRecord('0', [[READ[domain], { user_id: 'ann_lee_1' }]])]),
    ...files,
  };
  for (const [name, text] of Object.entries(all)) if (text !== null) writeFileSync(path.join(folder, name), text);
  return folder;
}

export interface Bench {
  /** Calls a tool; answers what the agent is shown. */
  call(name: string, args: JsonObject): string;
  /** The state as it is now. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  readonly state: any;
  readonly domain: Awaited<ReturnType<typeof loadTauDomain>>;
}

const loadedDomains = new Map<string, ReturnType<typeof loadTauDomain>>();

/** A domain over the made-up data, to call tools one after another. */
export async function tauBench(domain: TauDomainName, release: TauRelease): Promise<Bench> {
  const key = `${domain} ${release}`;
  const loading = loadedDomains.get(key) ?? loadTauDomain({ domain, release, folder: tauFolder(domain) });
  loadedDomains.set(key, loading);
  const loaded = await loading;
  let state = loaded.initialState;
  return {
    domain: loaded,
    get state() {
      return state;
    },
    call(name, args) {
      const { operations, observation, isError } = loaded.rules!.execute(state, { id: 'c', name, arguments: args });
      if (isError !== /^(Error: |Unknown action )/.test(observation))
        throw new Error(`isError is wrong: ${observation}`);
      state = applyOperations(state, operations);
      return observation;
    },
  };
}
