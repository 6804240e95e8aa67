// What a dreamt answer may not do to the state: proposals that real tools would never make are named.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import type { JsonObject } from '../../../src/core/canonical-json.js';
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

test.each<[string, Operation[], string | undefined]>([
  ['a right booking', [added(), LISTED, PAID], undefined],
  ['a booking that nobody lists', [added(), PAID], 'not listed at its user'],
  ['a booking without a charge', [added(), LISTED], 'gift card gift_card_1 must hold 20, not 120'],
  ['a charge without a booking', [PAID], 'gift card gift_card_1 must hold 120, not 20'],
  ['a made-up price', [added({ flights: [{ ...BOOKED, price: 1 }] }), LISTED, PAID], 'costs 100, not 1'],
  ['an unpaid insurance', [added({ insurance: 'yes' }), LISTED, PAID], 'costs 130, but 100 was paid'],
  [
    'a certificate that stays',
    [added({ payment_history: [{ payment_id: 'certificate_1', amount: 100 }] }), LISTED],
    'certificate certificate_1 must be gone',
  ],
  [
    'a certificate that vanishes',
    [{ op: 'remove', path: '/users/ann_lee_1/payment_methods/certificate_1' }],
    'must be gone',
  ],
  ['fewer seats', [{ op: 'replace', path: SEATS, value: 2 }], undefined],
  ['more seats', [{ op: 'replace', path: SEATS, value: 4 }], 'may only fall'],
  [
    'another price',
    [{ op: 'replace', path: SEATS.replace('available_seats', 'prices'), value: 1 }],
    'prices of flight F1',
  ],
  ['a removed flight', [{ op: 'remove', path: '/flights/F1' }], 'flight F1 may be neither added nor removed'],
  [
    'a cancelling without refund',
    [{ op: 'add', path: '/reservations/R00001/status', value: 'cancelled' }],
    'pays back 90',
  ],
  [
    'a cancelling with refund',
    [
      { op: 'add', path: '/reservations/R00001/status', value: 'cancelled' },
      { op: 'add', path: `${HISTORY}/-`, value: { payment_id: 'credit_card_1', amount: -90 } },
    ],
    undefined,
  ],
  ['a rewritten history', [{ op: 'replace', path: `${HISTORY}/0/amount`, value: 1 }], 'may only grow'],
  [
    'an unpaid bag',
    [{ op: 'replace', path: '/reservations/R00001/nonfree_baggages', value: 2 }],
    'costs 100, but 0 was paid',
  ],
  ['a cheaper flight', [{ op: 'replace', path: '/reservations/R00001/flights/0/price', value: 7 }], 'does not cost 7'],
  [
    'a promotion',
    [{ op: 'replace', path: '/users/ann_lee_1/membership', value: 'silver' }],
    'membership of user ann_lee_1',
  ],
  ['a removed reservation', [{ op: 'remove', path: '/reservations/R00001' }], 'may not be removed'],
])('airline: %s', async (_what, operations, fault) => {
  const found = await faults('airline', operations);
  if (fault === undefined) expect(found).toEqual([]);
  else expect(found.join('\n')).toContain(fault);
});

const REFUND = { transaction_type: 'refund', amount: 20.2, payment_method_id: 'gift_card_1' };
const BALANCE = '/users/bo_ray_1/payment_methods/gift_card_1/balance';
const CANCELLED: Operation = { op: 'replace', path: '/orders/#W1/status', value: 'cancelled' };
const REFUNDED: Operation = { op: 'add', path: '/orders/#W1/payment_history/-', value: REFUND };
const MODIFIED: Operation = { op: 'replace', path: '/orders/#W4/status', value: 'pending (item modified)' };
const SWAPPED: Operation = { op: 'replace', path: '/orders/#W4/items/0/item_id', value: '1000000003' };

function paidMore(amount: number): Operation {
  const payment = { transaction_type: 'payment', amount, payment_method_id: 'paypal_1' };
  return { op: 'add', path: '/orders/#W4/payment_history/-', value: payment };
}

test.each<[string, Operation[], string | undefined]>([
  ['a right cancelling', [CANCELLED, REFUNDED, { op: 'replace', path: BALANCE, value: 40.2 }], undefined],
  ['a cancelling without refund', [CANCELLED], 'must refund each of its payments'],
  ['a refund that never arrives', [CANCELLED, REFUNDED], 'must hold 40.20, not 20.00'],
  ['money from nowhere', [{ op: 'replace', path: BALANCE, value: 1000 }], 'must hold 20.00, not 1000.00'],
  ['an overdrawn card', [{ op: 'replace', path: BALANCE, value: -1 }], 'may not go below 0'],
  ['a right modification', [MODIFIED, SWAPPED, paidMore(1.9)], undefined],
  ['an item at another price', [MODIFIED, SWAPPED, paidMore(1)], 'cost 1.90 more, not 1.00'],
  [
    'an item that is sold out',
    [MODIFIED, { ...SWAPPED, value: '1000000001' } as Operation, paidMore(0)],
    'no available variant',
  ],
  ['items changed without a word', [SWAPPED], 'items of order #W4 may not change'],
  [
    'a delivery of what is processed',
    [{ op: 'replace', path: '/orders/#W3/status', value: 'delivered' }],
    'may not go from',
  ],
  ['another address', [{ op: 'replace', path: '/orders/#W4/address/city', value: 'X' }], undefined],
  ['a return', [{ op: 'replace', path: '/orders/#W2/status', value: 'return requested' }], undefined],
  ['a new payment without refund', [paidMore(5)], 'must be equal'],
  [
    'a price list',
    [{ op: 'remove', path: '/products/8000000001/variants/9000000001' }],
    'product 8000000001 may not change',
  ],
])('retail: %s', async (_what, operations, fault) => {
  const found = await faults('retail', operations);
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
