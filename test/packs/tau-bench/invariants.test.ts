// What a simulated answer may not do to the state: proposals that real tools would never make are named.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import type { Json, JsonObject } from '../../../src/core/canonical-json.js';
import { applyOperations } from '../../../src/env/state/operations.js';
import type { Operation } from '../../../src/env/tools/prediction.js';
import { tauBench } from './fixture.js';

const PASSENGER = { first_name: 'Ann', last_name: 'Lee', dob: '1990-01-01' };
const BOOKED = { origin: 'AAA', destination: 'BBB', flight_number: 'F1', date: '2024-05-20', price: 100 };
const RESERVATION = {
  reservation_id: 'HATHAT',
  user_id: 'ann_lee_1',
  origin: 'AAA',
  destination: 'BBB',
  flight_type: 'one_way',
  cabin: 'economy',
  flights: [BOOKED],
  passengers: [PASSENGER],
  payment_history: [{ payment_id: 'gift_card_1', amount: 100 }],
  created_at: '2024-05-15T15:00:00',
  total_baggages: 0,
  nonfree_baggages: 0,
  insurance: 'no',
};
const LISTED: Operation = { op: 'add', path: '/users/ann_lee_1/reservations/-', value: 'HATHAT' };
const PAID: Operation = { op: 'replace', path: '/users/ann_lee_1/payment_methods/gift_card_1/amount', value: 20 };

function added(changes: object = {}): Operation {
  return { op: 'add', path: '/reservations/HATHAT', value: { ...RESERVATION, ...changes } };
}

async function faults(domain: TauDomainName, operations: readonly Operation[]): Promise<readonly string[]> {
  const { rules, initialState } = (await tauBench(domain, 'tau2')).domain;
  return rules!.invariants(initialState, applyOperations(initialState, operations));
}

const SEATS = '/flights/F1/dates/2024-05-20/available_seats/economy';
const HISTORY = '/reservations/R00001/payment_history';

const set = (path: string, value: Json): Operation => ({ op: 'replace', path, value });
const gone = (path: string): Operation => ({ op: 'remove', path });

const REFUND = { transaction_type: 'refund', amount: 20.2, payment_method_id: 'gift_card_1' };
const BALANCE = '/users/bo_ray_1/payment_methods/gift_card_1/balance';
const CANCELLED: Operation = set('/orders/#W1/status', 'cancelled');
const REFUNDED: Operation = { op: 'add', path: '/orders/#W1/payment_history/-', value: REFUND };
const MODIFIED: Operation = set('/orders/#W4/status', 'pending (item modified)');
const SWAPPED: Operation = set('/orders/#W4/items/0/item_id', '1000000003');

function paidMore(amount: number): Operation {
  const payment = { transaction_type: 'payment', amount, payment_method_id: 'paypal_1' };
  return { op: 'add', path: '/orders/#W4/payment_history/-', value: payment };
}

test.each<[TauDomainName, string, Operation[], string?]>([
  ['airline', 'a right booking', [added(), LISTED, PAID]],
  ['airline', 'a booking that nobody lists', [added(), PAID], 'not listed at its user'],
  ['airline', 'a booking without a charge', [added(), LISTED], 'gift card gift_card_1 must hold 20, not 120'],
  ['airline', 'a charge without a booking', [PAID], 'gift card gift_card_1 must hold 120, not 20'],
  ['airline', 'a made-up price', [added({ flights: [{ ...BOOKED, price: 1 }] }), LISTED, PAID], 'costs 100, not 1'],
  ['airline', 'an unpaid insurance', [added({ insurance: 'yes' }), LISTED, PAID], 'costs 130, but 100 was paid'],
  [
    'airline',
    'a certificate that stays',
    [added({ payment_history: [{ payment_id: 'certificate_1', amount: 100 }] }), LISTED],
    'certificate certificate_1 must be gone',
  ],
  ['airline', 'a certificate that vanishes', [gone('/users/ann_lee_1/payment_methods/certificate_1')], 'must be gone'],
  ['airline', 'fewer seats', [set(SEATS, 2)]],
  ['airline', 'more seats', [set(SEATS, 4)], 'may only fall'],
  ['airline', 'another price', [set(SEATS.replace('available_seats', 'prices'), 1)], 'prices of flight F1'],
  ['airline', 'a removed flight', [gone('/flights/F1')], 'flight F1 may be neither added nor removed'],
  [
    'airline',
    'a cancelling without refund',
    [{ op: 'add', path: '/reservations/R00001/status', value: 'cancelled' }],
    'pays back 90',
  ],
  [
    'airline',
    'a cancelling with refund',
    [
      { op: 'add', path: '/reservations/R00001/status', value: 'cancelled' },
      { op: 'add', path: `${HISTORY}/-`, value: { payment_id: 'credit_card_1', amount: -90 } },
    ],
  ],
  ['airline', 'a rewritten history', [set(`${HISTORY}/0/amount`, 1)], 'may only grow'],
  ['airline', 'an unpaid bag', [set('/reservations/R00001/nonfree_baggages', 2)], 'costs 100, but 0 was paid'],
  ['airline', 'a cheaper flight', [set('/reservations/R00001/flights/0/price', 7)], 'does not cost 7'],
  ['airline', 'a promotion', [set('/users/ann_lee_1/membership', 'silver')], 'membership of user ann_lee_1'],
  ['airline', 'a removed reservation', [gone('/reservations/R00001')], 'may not be removed'],
  ['retail', 'a right cancelling', [CANCELLED, REFUNDED, set(BALANCE, 40.2)]],
  ['retail', 'a cancelling without refund', [CANCELLED], 'must refund each of its payments'],
  ['retail', 'a refund that never arrives', [CANCELLED, REFUNDED], 'must hold 40.20, not 20.00'],
  ['retail', 'money from nowhere', [set(BALANCE, 1000)], 'must hold 20.00, not 1000.00'],
  ['retail', 'an overdrawn card', [set(BALANCE, -1)], 'may not go below 0'],
  ['retail', 'a right modification', [MODIFIED, SWAPPED, paidMore(1.9)]],
  ['retail', 'an item at another price', [MODIFIED, SWAPPED, paidMore(1)], 'cost 1.90 more, not 1.00'],
  [
    'retail',
    'an item that is sold out',
    [MODIFIED, { ...SWAPPED, value: '1000000001' } as Operation, paidMore(0)],
    'no available variant',
  ],
  ['retail', 'items changed without a word', [SWAPPED], 'items of order #W4 may not change'],
  ['retail', 'a delivery of what is processed', [set('/orders/#W3/status', 'delivered')], 'may not go from'],
  ['retail', 'another address', [set('/orders/#W4/address/city', 'X')]],
  ['retail', 'a return', [set('/orders/#W2/status', 'return requested')]],
  ['retail', 'a new payment without refund', [paidMore(5)], 'must be equal'],
  ['retail', 'a price list', [gone('/products/8000000001/variants/9000000001')], 'product 8000000001 may not change'],
])('%s: %s', async (domain, _what, operations, fault) => {
  const found = await faults(domain, operations);
  if (fault === undefined) expect(found).toEqual([]);
  else expect(found.join('\n')).toContain(fault);
});

const BOOKING = {
  user_id: 'ann_lee_1',
  origin: 'AAA',
  destination: 'BBB',
  flight_type: 'one_way',
  cabin: 'economy',
  flights: [{ flight_number: 'F1', date: '2024-05-20' }],
  passengers: [PASSENGER],
  payment_methods: [{ payment_id: 'credit_card_1', amount: 100 }],
  total_baggages: 0,
  nonfree_baggages: 0,
  insurance: 'no',
};
type Call = readonly [tool: string, args: JsonObject];
const booked = (changes: object = {}): Call => ['book_reservation', { ...BOOKING, ...changes }];
const twice = <P>(part: P) => [part, part];
const CANCEL: Call = ['cancel_reservation', { reservation_id: 'R00001' }];
const BAG = { reservation_id: 'R00001', total_baggages: 1, nonfree_baggages: 1, payment_id: 'credit_card_1' };

const documentation = readFileSync(new URL('../../../docs/tau-bench.md', import.meta.url), 'utf8').replace(/\s+/g, ' ');

// What the tools do all the same, by the words of the documentation; the last call of each is what an invariant forbids.
const STRICTER: [words: string, release: TauRelease, calls: Call[], fault: string][] = [
  [
    'a gift card never goes below 0',
    'tau2',
    [booked({ passengers: twice(PASSENGER), payment_methods: twice({ payment_id: 'gift_card_1', amount: 100 }) })],
    'gift card gift_card_1 may not go below 0',
  ],
  [
    'no reservation is written over',
    'tau1',
    [booked(), booked(), booked(), booked({ flights: [{ flight_number: 'F2', date: '2024-05-20' }], origin: 'BBB' })],
    'origin of reservation HATHAV may not change',
  ],
  [
    'seats never fall below 0',
    'tau2',
    [
      booked({
        passengers: twice(PASSENGER),
        flights: twice(BOOKING.flights[0]),
        payment_methods: [{ payment_id: 'credit_card_1', amount: 400 }],
      }),
    ],
    'may only fall, and not below 0',
  ],
  [
    'a booking that fails takes nothing',
    'tau2',
    [booked({ passengers: twice(PASSENGER), payment_methods: twice({ payment_id: 'certificate_1', amount: 100 }) })],
    'certificate certificate_1 must be gone if it was paid with, and only then',
  ],
  [
    'what is cancelled already pays nothing back',
    'tau2',
    [CANCEL, ['update_reservation_baggages', BAG], CANCEL],
    'the change of reservation R00001 costs 0, but -50 was paid',
  ],
];

test.each(STRICTER)('stricter than the tools: %s', async (words, release, calls, fault) => {
  const bench = await tauBench('airline', release);
  const found = calls.map(([tool, args]) => {
    const before = bench.state;
    bench.call(tool, args);
    return bench.domain.rules!.invariants(before, bench.state).join('\n');
  });
  expect(found.slice(0, -1)).toEqual(calls.slice(1).map(() => ''));
  expect(found.at(-1)).toContain(fault);
  expect(documentation).toContain(words);
});

test('the documentation says in how many cases they are stricter', () => {
  const number = ['none', 'one', 'two', 'three', 'four', 'five', 'six'][STRICTER.length];
  expect(documentation).toContain(`stricter than these tools in ${number} cases`);
});
