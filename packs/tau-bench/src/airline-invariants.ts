// What never happens to the airline's data, whoever answers: seats do not grow or fall below none, histories only grow,
// what is paid is what flights and bags cost, and a gift card loses exactly that.

import type {
  AirlineDatabase,
  AirlinePaymentMethod,
  AirlineUser,
  Flight,
  FlightDate,
  Payment,
  Reservation,
} from './airline-database.js';
import { appended, type Change, changedField, changesOf, sameMoney } from './changes.js';

export function airlineInvariants(before: AirlineDatabase, after: AirlineDatabase): string[] {
  const reservations = changesOf(before.reservations, after.reservations);
  return [
    ...changesOf(before.flights, after.flights).flatMap(flightFaults),
    ...reservations.flatMap((change) => reservationFaults(change, after)),
    ...changesOf(before.users, after.users).flatMap((change) => userFaults(change, after)),
    ...moneyFaults(before, after, reservations),
  ];
}

function flightFaults({ id, before, after }: Change<Flight>): string[] {
  if (before === undefined || after === undefined) return [`flight ${id} may be neither added nor removed`];
  const field = changedField(before, after, ['dates']);
  if (field !== undefined) return [`${field} of flight ${id} may not change`];
  return changesOf(before.dates, after.dates).flatMap((date) => seatFaults(`${id} on ${date.id}`, date));
}

function seatFaults(what: string, { before, after }: Change<FlightDate>): string[] {
  if (before?.status !== 'available' || after?.status !== 'available') return [`flight ${what} may not change`];
  const field = changedField(before, after, ['available_seats']);
  if (field !== undefined) return [`${field} of flight ${what} may not change`];
  return changesOf(before.available_seats, after.available_seats)
    .filter(({ before: old, after: left }) => old === undefined || !(Number(left) >= 0 && Number(left) <= old))
    .map(({ id }) => `seats of ${id} on flight ${what} may only fall, and not below 0`);
}

const RESERVATION_MAY_CHANGE = [
  'cabin',
  'flights',
  'passengers',
  'payment_history',
  'total_baggages',
  'nonfree_baggages',
  'status',
];

function reservationFaults({ id, before, after }: Change<Reservation>, db: AirlineDatabase): string[] {
  if (after === undefined) return [`reservation ${id} may not be removed`];
  if (before === undefined) return newReservationFaults(id, after, db);
  const field = changedField(before, after, RESERVATION_MAY_CHANGE);
  if (field !== undefined) return [`${field} of reservation ${id} may not change`];
  const paid = appended(before.payment_history, after.payment_history);
  if (paid === undefined) return [`payment_history of reservation ${id} may only grow`];
  if (before.status === 'cancelled' && after.status !== 'cancelled') {
    return [`reservation ${id} was cancelled and stays so`];
  }
  if (before.passengers.length !== after.passengers.length) {
    return [`the number of passengers of reservation ${id} may not change`];
  }
  return [...priceFaults(id, before, after, db), ...paymentFaults(id, before, after, total(paid))];
}

function newReservationFaults(id: string, reservation: Reservation, db: AirlineDatabase): string[] {
  const faults: string[] = [];
  if (!db.users[reservation.user_id]?.reservations.includes(id)) {
    faults.push(`new reservation ${id} is not listed at its user ${reservation.user_id}`);
  }
  for (const { flight_number: number, date, price } of reservation.flights) {
    const known = pricesOf(db, number, date)?.[reservation.cabin];
    if (known !== price) faults.push(`flight ${number} on ${date} costs ${known}, not ${price}`);
  }
  const extras =
    (reservation.insurance === 'yes' ? 30 * reservation.passengers.length : 0) + 50 * reservation.nonfree_baggages;
  const price = fare(reservation) + extras;
  const paid = total(reservation.payment_history);
  if (!sameMoney(price, paid)) faults.push(`reservation ${id} costs ${price}, but ${paid} was paid`);
  return faults;
}

/** Flights that were not in the reservation before have a price of that flight. */
function priceFaults(id: string, before: Reservation, after: Reservation, db: AirlineDatabase): string[] {
  if (before.flights === after.flights) return [];
  return after.flights
    .filter(({ flight_number: number, date, price }) => {
      const isKept = before.flights.some(
        (old) => old.flight_number === number && old.date === date && old.price === price,
      );
      return !isKept && !Object.values(pricesOf(db, number, date) ?? {}).includes(price);
    })
    .map(({ flight_number: number, price }) => `flight ${number} of reservation ${id} does not cost ${price}`);
}

function paymentFaults(id: string, before: Reservation, after: Reservation, paid: number): string[] {
  if (after.status === 'cancelled' && before.status === undefined) {
    const isPaidBack = sameMoney(paid, -total(before.payment_history));
    return isPaidBack ? [] : [`cancelling reservation ${id} pays back ${total(before.payment_history)}, not ${-paid}`];
  }
  const bags = 50 * Math.max(0, after.nonfree_baggages - before.nonfree_baggages);
  const due = fare(after) - fare(before) + bags;
  return sameMoney(paid, due) ? [] : [`the change of reservation ${id} costs ${due}, but ${paid} was paid`];
}

const USER_MAY_CHANGE = ['payment_methods', 'reservations'];

function userFaults({ id, before, after }: Change<AirlineUser>, db: AirlineDatabase): string[] {
  if (before === undefined || after === undefined) return [`user ${id} may be neither added nor removed`];
  const field = changedField(before, after, USER_MAY_CHANGE);
  if (field !== undefined) return [`${field} of user ${id} may not change`];
  const booked = appended(before.reservations, after.reservations);
  if (booked === undefined) return [`reservations of user ${id} may only grow`];
  return [
    ...booked
      .filter((one) => db.reservations[one]?.user_id !== id)
      .map((one) => `user ${id} has no reservation ${one}`),
    ...changesOf(before.payment_methods, after.payment_methods).flatMap(methodFaults),
  ];
}

function methodFaults({ id, before, after }: Change<AirlinePaymentMethod>): string[] {
  const isCertificate = (before ?? after)?.source === 'certificate';
  if (before === undefined || after === undefined) {
    return isCertificate ? [] : [`payment method ${id} may be neither added nor removed`];
  }
  if (before.source !== 'gift_card' || after.source !== 'gift_card' || changedField(before, after, ['amount'])) {
    return [`payment method ${id} may not change`];
  }
  return after.amount < 0 ? [`gift card ${id} may not go below 0`] : [];
}

/** What each payment method lost against what was paid with it; cancelling pays back nothing at once. */
function moneyFaults(
  before: AirlineDatabase,
  after: AirlineDatabase,
  changes: readonly Change<Reservation>[],
): string[] {
  const paid = new Map<string, number>();
  for (const { before: old, after: now } of changes) {
    if (now === undefined || (now.status === 'cancelled' && old?.status !== 'cancelled')) continue;
    for (const { payment_id, amount } of now.payment_history.slice(old?.payment_history.length ?? 0)) {
      const key = `${now.user_id} ${payment_id}`;
      paid.set(key, (paid.get(key) ?? 0) + amount);
    }
  }
  const users = new Set([
    ...changesOf(before.users, after.users).map(({ id }) => id),
    ...[...paid.keys()].map((key) => key.split(' ')[0]),
  ]);
  return [...users].flatMap((user) => balanceFaults(user, before.users[user], after.users[user], paid));
}

function balanceFaults(
  user: string,
  before: AirlineUser | undefined,
  after: AirlineUser | undefined,
  paid: ReadonlyMap<string, number>,
): string[] {
  return Object.entries(before?.payment_methods ?? {}).flatMap(([id, method]) => {
    const spent = paid.get(`${user} ${id}`);
    const now = after?.payment_methods[id];
    if (method.source === 'certificate' && (now === undefined) !== (spent !== undefined)) {
      return [`certificate ${id} must be gone if it was paid with, and only then`];
    }
    if (method.source !== 'gift_card' || now === undefined || now.source === 'credit_card') return [];
    const left = method.amount - (spent ?? 0);
    return sameMoney(now.amount, left) ? [] : [`gift card ${id} must hold ${left}, not ${now.amount}`];
  });
}

function pricesOf(db: AirlineDatabase, number: string, date: string): Record<string, number> | undefined {
  const onDate = db.flights[number]?.dates[date];
  return onDate?.status === 'available' ? onDate.prices : undefined;
}

function fare({ flights, passengers }: Reservation): number {
  return flights.reduce((sum, { price }) => sum + price, 0) * passengers.length;
}

function total(payments: readonly Payment[]): number {
  return payments.reduce((sum, { amount }) => sum + amount, 0);
}
