// Random calls that mostly make sense: drawn from what the state holds, with a few wrong ids, amounts and choices.

import type { TauDomainName } from '../../../packs/tau-bench/src/tau-domain.js';
import type { JsonObject } from '../../../src/core/canonical-json.js';
import type { Rng } from '../../../src/core/rng.js';
import type { CallSpec } from '../../../src/env/tools/domain.js';

/** Draws; what is drawn from is unchecked JSON. */
export class Draw {
  constructor(private readonly rng: Rng) {}

  int(below: number): number {
    return Math.floor(this.rng.uniform() * below);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(from.length)];
  }

  chance(probability: number): boolean {
    return this.rng.uniform() < probability;
  }

  times<T>(count: number, make: () => T): T[] {
    return Array.from({ length: count }, make);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: unchecked JSON
type State = any;
type Maker = (state: State, user: string, draw: Draw) => CallSpec;

/** One call about `user`, whose things are drawn more often than others'. */
export function randomCall(domain: TauDomainName, state: JsonObject, user: string, draw: Draw): CallSpec {
  return draw.pick(MAKERS[domain])(state, user, draw);
}

function call(name: string, args: object): CallSpec {
  return { name, arguments: args as JsonObject };
}

const calculation: Maker = (_state, _user, draw) => {
  const operand = () =>
    draw.pick([
      String(draw.int(2000)),
      (draw.int(50000) / 100).toFixed(2),
      `(${draw.int(90)} - ${draw.int(99)}.5)`,
      '-7',
      '0',
    ]);
  const rest = draw.times(draw.int(5), () => draw.pick([' + ', '-', ' * ', '/', '//', ' - ']) + operand());
  return call('calculate', { expression: operand() + rest.join('') });
};

const NAMES = ['Zoë', 'Mia', `O'Neil "x"`, '日本', '😀\n'];

function passengers(count: number, draw: Draw): object[] {
  return draw.times(count, () => ({ first_name: draw.pick(NAMES), last_name: 'Li', dob: '1990-01-01' }));
}

function anyDay(draw: Draw): string {
  return `2024-05-${String(draw.chance(0.1) ? 1 + draw.int(30) : 16 + draw.int(15)).padStart(2, '0')}`;
}

function anyFlight(state: State, draw: Draw): { flight_number: string; date: string } {
  return { flight_number: draw.pick(Object.keys(state.flights)), date: anyDay(draw) };
}

function anyReservation(state: State, user: string, draw: Draw): string {
  const own = state.users[user].reservations;
  if (draw.chance(0.05)) return 'NOPE01';
  return own.length > 0 ? draw.pick<string>(own) : draw.pick(Object.keys(state.reservations));
}

function anyMethod(state: State, user: string, draw: Draw): string {
  const methods = Object.keys(state.users[user].payment_methods);
  return methods.length === 0 || draw.chance(0.06) ? 'paypal_0' : draw.pick(methods);
}

const anyCabin = (draw: Draw) => draw.pick(['business', 'economy', 'basic_economy']);

const book: Maker = (state, user, draw) => {
  const [cabin, count, bags] = [anyCabin(draw), 1 + draw.int(3), draw.int(3)];
  const flights = draw.times(1 + draw.int(2), () => anyFlight(state, draw));
  const prices = flights.map(
    ({ flight_number, date }) => state.flights[flight_number].dates[date]?.prices?.[cabin] ?? 0,
  );
  let due = prices.reduce((sum, price) => sum + price, 0) * count + 50 * bags;
  const payments: { payment_id: string; amount: number }[] = [];
  for (const [id, { amount }] of Object.entries<{ amount?: number }>(state.users[user].payment_methods)) {
    if (amount === undefined || draw.chance(0.5)) continue;
    payments.push({ payment_id: id, amount: Math.min(amount, due) });
    due -= Math.min(amount, due);
  }
  payments.push({ payment_id: anyMethod(state, user, draw), amount: due + (draw.chance(0.15) ? 5 : 0) });
  return call('book_reservation', {
    user_id: draw.chance(0.03) ? 'nobody_1' : user,
    origin: 'SFO',
    destination: 'JFK',
    flight_type: 'one_way',
    cabin,
    flights,
    passengers: passengers(count, draw),
    payment_methods: payments,
    total_baggages: bags,
    nonfree_baggages: bags,
    insurance: 'no',
  });
};

const changeFlights: Maker = (state, user, draw) => {
  const id = anyReservation(state, user, draw);
  const kept = (state.reservations[id]?.flights ?? []).map(({ flight_number, date }: State) => ({
    flight_number,
    date: draw.chance(0.7) ? date : anyDay(draw),
  }));
  const cabin = draw.chance(0.5) ? anyCabin(draw) : (state.reservations[id]?.cabin ?? 'economy');
  return call('update_reservation_flights', {
    reservation_id: id,
    cabin,
    flights: draw.chance(0.3) ? [anyFlight(state, draw)] : kept,
    payment_id: anyMethod(state, user, draw),
  });
};

const changeBags: Maker = (state, user, draw) => {
  const id = anyReservation(state, user, draw);
  const bags = (state.reservations[id]?.nonfree_baggages ?? 0) + draw.int(4) - 1;
  const payment_id = anyMethod(state, user, draw);
  return call('update_reservation_baggages', {
    reservation_id: id,
    total_baggages: bags,
    nonfree_baggages: bags,
    payment_id,
  });
};

const changePassengers: Maker = (state, user, draw) => {
  const id = anyReservation(state, user, draw);
  const count = (state.reservations[id]?.passengers.length ?? 1) + (draw.chance(0.2) ? 1 : 0);
  return call('update_reservation_passengers', { reservation_id: id, passengers: passengers(count, draw) });
};

const search =
  (name: string): Maker =>
  (state, _user, draw) => {
    const flights = Object.keys(state.flights);
    const [from, to] = [state.flights[draw.pick(flights)], state.flights[draw.pick(flights)]];
    const destination = name === 'search_direct_flight' ? from.destination : to.destination;
    return call(name, { origin: from.origin, destination, date: anyDay(draw) });
  };

const AIRLINE: readonly Maker[] = [
  book,
  book,
  book,
  changeFlights,
  changeFlights,
  changeBags,
  changePassengers,
  calculation,
  search('search_direct_flight'),
  search('search_onestop_flight'),
  (state, user, draw) => call('cancel_reservation', { reservation_id: anyReservation(state, user, draw) }),
  (state, user, draw) => call('get_reservation_details', { reservation_id: anyReservation(state, user, draw) }),
  (_state, user, draw) => call('get_user_details', { user_id: draw.chance(0.1) ? 'toString' : user }),
  (_state, user, draw) => call('send_certificate', { user_id: user, amount: 50 * (1 + draw.int(4)) }),
  () => call('list_all_airports', {}),
  (state, _user, draw) => call('get_flight_status', anyFlight(state, draw)),
  () => call('think', { thought: 'x' }),
];

const ADDRESS = { address1: '1 Straße', address2: '', city: 'X', state: 'CA', country: 'USA', zip: '00000' };

function anyOrder(state: State, user: string, draw: Draw, status: string): string {
  if (draw.chance(0.05)) return '#W0';
  if (draw.chance(0.3) && state.users[user].orders.length > 0) return draw.pick<string>(state.users[user].orders);
  return draw.pick(Object.keys(state.orders).filter((id) => state.orders[id].status === status));
}

function orderMethod(state: State, user: string, order: string, draw: Draw): string {
  return anyMethod(state, state.orders[order]?.user_id ?? user, draw);
}

/** Items of an order, and others of the same products in their place. */
function swap(
  state: State,
  user: string,
  draw: Draw,
  status: string,
): Record<string, unknown> & { item_ids: string[] } {
  const order = anyOrder(state, user, draw, status);
  const items: State[] = state.orders[order]?.items ?? [];
  const chosen = items.filter((_, i) => i === 0 || draw.chance(0.5));
  const replaced = chosen.map(({ product_id }) => {
    const { variants } = state.products[product_id];
    const available = Object.keys(variants).filter((id) => variants[id].available);
    return draw.chance(0.04)
      ? '1'
      : draw.pick(draw.chance(0.1) || available.length === 0 ? Object.keys(variants) : available);
  });
  return {
    order_id: order,
    item_ids: chosen.map(({ item_id }) => item_id),
    new_item_ids: draw.chance(0.04) ? [...replaced, '1'] : replaced,
    payment_method_id: orderMethod(state, user, order, draw),
  };
}

const changePayment: Maker = (state, user, draw) => {
  const order_id = anyOrder(state, user, draw, 'pending');
  return call('modify_pending_order_payment', {
    order_id,
    payment_method_id: orderMethod(state, user, order_id, draw),
  });
};

const giveBack: Maker = (state, user, draw) => {
  const { new_item_ids: _, ...args } = swap(state, user, draw, 'delivered');
  return call('return_delivered_order_items', args);
};

const findByName: Maker = (state, user, draw) => {
  const { name, address } = state.users[user];
  const zip = draw.chance(0.2) ? '0' : address.zip;
  return call('find_user_id_by_name_zip', {
    first_name: name.first_name.toLowerCase(),
    last_name: name.last_name,
    zip,
  });
};

const anyItem: Maker = (state, _user, draw) => {
  const { variants } = state.products[draw.pick(Object.keys(state.products))];
  return call('get_item_details', { item_id: draw.chance(0.1) ? '1' : draw.pick(Object.keys(variants)) });
};

const cancelOrder: Maker = (state, user, draw) => {
  const reason = draw.pick(['no longer needed', 'ordered by mistake', 'bored']);
  return call('cancel_pending_order', { order_id: anyOrder(state, user, draw, 'pending'), reason });
};

const RETAIL: readonly Maker[] = [
  (state, user, draw) => call('exchange_delivered_order_items', swap(state, user, draw, 'delivered')),
  (state, user, draw) => call('modify_pending_order_items', swap(state, user, draw, 'pending')),
  (state, user, draw) => call('modify_pending_order_items', swap(state, user, draw, 'pending')),
  changePayment,
  giveBack,
  cancelOrder,
  (state, user, draw) =>
    call('modify_pending_order_address', { order_id: anyOrder(state, user, draw, 'pending'), ...ADDRESS }),
  (_state, user) => call('modify_user_address', { user_id: user, ...ADDRESS }),
  (state, user, draw) => call('get_order_details', { order_id: anyOrder(state, user, draw, 'processed') }),
  (state, _user, draw) => call('get_product_details', { product_id: draw.pick(['1', ...Object.keys(state.products)]) }),
  anyItem,
  (_state, user) => call('get_user_details', { user_id: user }),
  (state, user, draw) =>
    call('find_user_id_by_email', { email: draw.chance(0.2) ? 'x@y' : state.users[user].email.toUpperCase() }),
  findByName,
  () => call('list_all_product_types', {}),
  calculation,
];

const MAKERS: Record<TauDomainName, readonly Maker[]> = { airline: AIRLINE, retail: RETAIL };

/** Calls that show all that differs between two states. */
export function revealingCalls(domain: TauDomainName, before: State, after: State): CallSpec[] {
  const changed = (records: string) =>
    Object.keys(after[records]).filter((id) => after[records][id] !== before[records][id]);
  const users = changed('users').map((user_id) => call('get_user_details', { user_id }));
  if (domain === 'retail')
    return [...users, ...changed('orders').map((order_id) => call('get_order_details', { order_id }))];
  const seats = changed('flights').flatMap((number) => {
    const { origin, destination, dates } = after.flights[number];
    const days = Object.keys(dates).filter((date) => dates[date] !== before.flights[number].dates[date]);
    return days.map((date) => call('search_direct_flight', { origin, destination, date }));
  });
  const reservations = changed('reservations').map((reservation_id) =>
    call('get_reservation_details', { reservation_id }),
  );
  return [...users, ...reservations, ...seats];
}
