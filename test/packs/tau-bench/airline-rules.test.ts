import { describe, expect, test } from 'vitest';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import { tauBench } from './fixture.js';

const ANN = { first_name: 'Ann', last_name: 'Lee', dob: '1990-01-01' };
const BOB = { first_name: 'Bob', last_name: 'Lee', dob: '1991-01-01' };

function booking(changes: object = {}) {
  return {
    user_id: 'ann_lee_1',
    origin: 'AAA',
    destination: 'CCC',
    flight_type: 'one_way',
    cabin: 'economy',
    flights: [
      { flight_number: 'F1', date: '2024-05-20' },
      { flight_number: 'F2', date: '2024-05-20' },
    ],
    passengers: [ANN],
    payment_methods: [{ payment_id: 'credit_card_1', amount: 200 }],
    total_baggages: 0,
    nonfree_baggages: 0,
    insurance: 'no',
    ...changes,
  };
}

const RELEASES: TauRelease[] = ['tau1', 'tau2'];

describe.each(RELEASES)('airline, %s', (release) => {
  const words = (text: string) => `Error: ${release === 'tau1' ? text : text[0].toUpperCase() + text.slice(1)}`;

  test('booking pays, lists the reservation, and takes seats only in the successor', async () => {
    const bench = await tauBench('airline', release);
    const payment_methods = [
      { payment_id: 'certificate_1', amount: 150 },
      { payment_id: 'gift_card_1', amount: 100 },
      { payment_id: 'credit_card_1', amount: 260 },
    ];
    const args = booking({
      passengers: [ANN, BOB],
      nonfree_baggages: 1,
      total_baggages: 2,
      insurance: 'yes',
      payment_methods,
    });
    expect(bench.call('book_reservation', args)).toContain('"reservation_id": "HATHAT"');
    const { users, reservations, flights } = bench.state;
    expect(users.ann_lee_1.reservations).toEqual(['R00001', 'HATHAT']);
    expect(Object.keys(users.ann_lee_1.payment_methods)).toEqual(['credit_card_1', 'gift_card_1']);
    expect(users.ann_lee_1.payment_methods.gift_card_1.amount).toBe(20);
    expect(reservations.HATHAT).toMatchObject({ created_at: '2024-05-15T15:00:00', payment_history: payment_methods });
    expect(reservations.HATHAT.flights[1]).toMatchObject({ origin: 'BBB', destination: 'CCC', price: 100 });
    expect(flights.F1.dates['2024-05-20'].available_seats.economy).toBe(release === 'tau1' ? 3 : 1);
  });

  test.each([
    [{ flights: [{ flight_number: 'F9', date: '2024-05-20' }] }, 'flight F9 not found'],
    [{ flights: [{ flight_number: 'F1', date: '2024-05-21' }] }, 'flight F1 not found on date 2024-05-21'],
    [{ flights: [{ flight_number: 'F1', date: '2024-05-09' }] }, 'flight F1 not available on date 2024-05-09'],
    [{ cabin: 'business', passengers: [ANN, BOB] }, 'not enough seats on flight F1'],
    [{ payment_methods: [{ payment_id: 'gift_card_9', amount: 200 }] }, 'payment method gift_card_9 not found'],
    [
      { payment_methods: [{ payment_id: 'gift_card_1', amount: 200 }] },
      'not enough balance in payment method gift_card_1',
    ],
    [{ insurance: 'yes' }, 'payment amount does not add up, total price is 230, but paid 200'],
  ])('a booking with %j is refused and changes nothing', async (changes, text) => {
    const bench = await tauBench('airline', release);
    expect(bench.call('book_reservation', booking(changes))).toBe(words(text));
    expect(bench.state).toBe(bench.domain.initialState);
  });

  test('a certificate named twice fails after it was used up, as in Python', async () => {
    const bench = await tauBench('airline', release);
    const twice = { payment_id: 'certificate_1', amount: 100 };
    expect(bench.call('book_reservation', booking({ payment_methods: [twice, twice] }))).toBe("Error: 'certificate_1'");
    expect(bench.state.users.ann_lee_1.payment_methods.certificate_1).toBeUndefined();
    expect(bench.state.reservations.HATHAT).toBeUndefined();
  });

  test('there are three new reservations', async () => {
    const bench = await tauBench('airline', release);
    for (const id of ['HATHAT', 'HATHAU', 'HATHAV']) {
      expect(bench.call('book_reservation', booking())).toContain(`"reservation_id": "${id}"`);
      bench.call('cancel_reservation', { reservation_id: id });
    }
    const roomy = booking({ cabin: 'basic_economy', payment_methods: [{ payment_id: 'credit_card_1', amount: 100 }] });
    const fourth = bench.call('book_reservation', roomy);
    if (release === 'tau1') expect(fourth).toContain('"reservation_id": "HATHAV"');
    else expect(fourth).toBe('Error: Too many reservations');
  });

  test('three certificates can be sent to a user', async () => {
    const bench = await tauBench('airline', release);
    const send = () => bench.call('send_certificate', { user_id: 'ann_lee_1', amount: 50 });
    for (const id of [3221322, 3221323, 3221324]) {
      expect(send()).toBe(`Certificate certificate_${id} added to user ann_lee_1 with amount 50.`);
    }
    expect(send()).toBe(release === 'tau1' ? 'null' : 'Error: Too many certificates');
  });

  test('cancelling notes refunds, twice if asked twice, and gives no seats back', async () => {
    const bench = await tauBench('airline', release);
    bench.call('cancel_reservation', { reservation_id: 'R00001' });
    const text = bench.call('cancel_reservation', { reservation_id: 'R00001' });
    const amounts = bench.state.reservations.R00001.payment_history.map(
      (payment: { amount: number }) => payment.amount,
    );
    expect(amounts).toEqual([90, -90, -90, 90]);
    expect(text).toMatch(/"status": "cancelled"}$/);
    expect(bench.state.flights).toBe((bench.domain.initialState as { flights: object }).flights);
  });

  test('new flights cost the difference; the cabin changes only in the successor', async () => {
    const bench = await tauBench('airline', release);
    const update = (cabin: string, payment_id: string) =>
      bench.call('update_reservation_flights', {
        reservation_id: 'R00001',
        cabin,
        flights: [{ flight_number: 'F1', date: '2024-05-20' }],
        payment_id,
      });
    expect(update('business', 'gift_card_1')).toBe(words('gift card balance is not enough'));
    expect(update('business', 'certificate_1')).toBe(words('certificate cannot be used to update reservation'));
    expect(update('business', 'gift_card_9')).toBe(words('payment method not found'));
    // In its own cabin a booked flight keeps the price it was booked at.
    update('economy', 'gift_card_1');
    expect(bench.state.reservations.R00001.flights[0].price).toBe(90);
    expect(bench.state.reservations.R00001.payment_history).toHaveLength(1);
    update('basic_economy', 'gift_card_1');
    expect(bench.state.users.ann_lee_1.payment_methods.gift_card_1.amount).toBe(160);
    expect(bench.state.reservations.R00001).toMatchObject({
      cabin: release === 'tau1' ? 'economy' : 'basic_economy',
      payment_history: [{ amount: 90 }, { payment_id: 'gift_card_1', amount: -40 }],
    });
  });

  test('bags cost 50 each beyond those paid for; fewer pay nothing back', async () => {
    const bench = await tauBench('airline', release);
    const update = (nonfree_baggages: number, payment_id = 'gift_card_1') =>
      bench.call('update_reservation_baggages', {
        reservation_id: 'R00001',
        total_baggages: nonfree_baggages,
        nonfree_baggages,
        payment_id,
      });
    update(2);
    update(0);
    expect(bench.state.users.ann_lee_1.payment_methods.gift_card_1.amount).toBe(20);
    expect(bench.state.reservations.R00001).toMatchObject({ total_baggages: 0, nonfree_baggages: 0 });
    expect(update(1)).toBe(words('gift card balance is not enough'));
  });

  test('passengers may be renamed, not added; keys that a passenger should not have stay only in the first release', async () => {
    const bench = await tauBench('airline', release);
    const update = (passengers: object[]) =>
      bench.call('update_reservation_passengers', { reservation_id: 'R00001', passengers: passengers as never });
    expect(update([ANN, BOB])).toBe(words('number of passengers does not match'));
    update([{ seat: '1A', ...BOB }]);
    expect(bench.state.reservations.R00001.passengers).toEqual([release === 'tau1' ? { seat: '1A', ...BOB } : BOB]);
  });

  test('keys of a passenger that mean something to JavaScript are kept in the first release, as any other', async () => {
    const bench = await tauBench('airline', release);
    const passenger = JSON.parse(`{"__proto__": {"seat": "1A"}, ${JSON.stringify(BOB).slice(1)}`);
    const told = bench.call('update_reservation_passengers', { reservation_id: 'R00001', passengers: [passenger] });
    const [kept] = bench.state.reservations.R00001.passengers;
    expect(Object.keys(kept)).toEqual([...(release === 'tau1' ? ['__proto__'] : []), ...Object.keys(BOB)]);
    expect(told.includes('"passengers": [{"__proto__": {"seat": "1A"}, ')).toBe(release === 'tau1');
    expect(bench.call('get_reservation_details', { reservation_id: 'R00001' })).toBe(told);
  });

  test('one stop: the second flight leaves after the first, or on the next day', async () => {
    const bench = await tauBench('airline', release);
    const search = (date: string) =>
      JSON.parse(bench.call('search_onestop_flight', { origin: 'AAA', destination: 'CCC', date }));
    const found = search('2024-05-20').map(([a, b]: { flight_number: string; date: string }[]) => [
      a.flight_number,
      b.flight_number,
      b.date,
    ]);
    // F4 leaves at 06:00, which as a text is later than "01:00:00+1".
    expect(found).toEqual([
      ['F1', 'F2', '2024-05-20'],
      ['F3', 'F4', '2024-05-21'],
      ['F3', 'F5', '2024-05-21'],
    ]);
    const [, [, second]] = search('2024-05-20');
    // The first release shows the second flight as it is on the day of the first.
    expect(second.status).toBe(release === 'tau1' ? 'landed' : 'available');
  });

  test('unknown ids are refused in the words of the release', async () => {
    const bench = await tauBench('airline', release);
    const isFirst = release === 'tau1';
    expect([
      bench.call('get_user_details', { user_id: 'constructor' }),
      bench.call('get_reservation_details', { reservation_id: 'X' }),
      bench.call('cancel_reservation', { reservation_id: 'X' }),
      bench.call('fly', {}),
    ]).toEqual([
      `Error: ${isFirst ? 'user' : 'User constructor'} not found`,
      `Error: ${isFirst ? 'user' : 'Reservation X'} not found`,
      `Error: ${isFirst ? 'reservation' : 'Reservation X'} not found`,
      isFirst ? 'Unknown action fly' : "Error: Tool 'fly' not found.",
    ]);
  });

  test('has the tools of the release', async () => {
    const { domain } = await tauBench('airline', release);
    const names = domain.tools.map(({ name }) => name);
    expect(names.includes('think')).toBe(release === 'tau1');
    expect(names.includes('get_flight_status')).toBe(release === 'tau2');
    const terminal = domain.tools.filter(({ terminates }) => terminates).map(({ name }) => name);
    expect(terminal).toEqual(release === 'tau1' ? ['transfer_to_human_agents'] : []);
  });
});

test('the successor writes its data model, the first release what the data hold', async () => {
  const [first, successor] = [await tauBench('airline', 'tau1'), await tauBench('airline', 'tau2')];
  const user = { user_id: 'ann_lee_1' };
  expect(first.call('get_user_details', user)).toMatch(
    /^\{"name": \{"first_name": "Ann", "last_name": "L\\u00e9e"\}.*"gift_card_1": \{"source": "gift_card", "amount": 120, "id": "gift_card_1"\}/,
  );
  expect(successor.call('get_user_details', user)).toMatch(
    /^\{"user_id": "ann_lee_1", "name": .*"gift_card_1": \{"source": "gift_card", "id": "gift_card_1", "amount": 120.0\}/,
  );
  expect(first.call('get_reservation_details', { reservation_id: 'R00001' })).toMatch(/"insurance": "no"\}$/);
  expect(successor.call('get_reservation_details', { reservation_id: 'R00001' })).toMatch(/"status": null\}$/);
  expect(first.call('list_all_airports', {})).toMatch(/^\{"SFO": "San Francisco", /);
  expect(successor.call('list_all_airports', {})).toMatch(/^\[\{"iata": "SFO", "city": "San Francisco"\}, /);
  expect(successor.call('get_flight_status', { flight_number: 'F4', date: '2024-05-20' })).toBe('landed');
  expect(successor.call('search_direct_flight', { origin: 'AAA', destination: 'BBB', date: '2024-05-20' })).toContain(
    '"scheduled_arrival_time_est": "08:00:00", "date": null, "available_seats": {"basic_economy": 2,',
  );
});

test('preconditions are the reasons why a call fails', async () => {
  const { domain } = await tauBench('airline', 'tau2');
  const reasons = (name: string, args: object) =>
    domain.rules!.preconditions(domain.initialState, { id: 'c', name, arguments: args as never });
  expect(reasons('book_reservation', booking({ insurance: 'yes' }))).toEqual([
    'Payment amount does not add up, total price is 230, but paid 200',
  ]);
  expect(reasons('book_reservation', booking())).toEqual([]);
  expect(reasons('book_reservation', booking({ cabin: 'first' }))).toEqual([
    expect.stringContaining('/cabin must be one of'),
  ]);
});
