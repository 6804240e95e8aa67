// The airline's tools that sell: booking, and changes that must be paid for.

import type { AirlineDatabase, AirlineUser, BookedFlight, Payment, Reservation } from './airline-database.js';
import { type AirlineContext, openFlightOf, reservationOf, userOf } from './airline-lookups.js';
import { PASSENGER, PAYMENT, RESERVATION } from './airline-model.js';
import { pythonNumber, pythonRepr } from './python-text.js';
import { answer, keep, refuse, type TauTool, ToolFailure } from './tool-kit.js';

/** τ-bench's clock stands still, and its new ids are given beforehand: end states can then be compared. */
const NOW = '2024-05-15T15:00:00';
const NEW_RESERVATIONS = ['HATHAT', 'HATHAU', 'HATHAV'];

interface FlightChoice {
  flight_number: string;
  date: string;
}

interface Booking
  extends Omit<Reservation, 'reservation_id' | 'flights' | 'payment_history' | 'created_at' | 'status'> {
  flights: FlightChoice[];
  payment_methods: Payment[];
}

export const bookReservation: TauTool<AirlineDatabase> = {
  writes: true,
  run(args: Booking, context) {
    const user = userOf(context, args.user_id);
    const reservation = draftReservation(args, context);
    const sold = args.flights.map((choice) => {
      const found = openFlightOf(context, choice, args.cabin, args.passengers.length);
      reservation.flights.push(bookedFlight(choice, found.flight, found.onDate.prices[args.cabin], context));
      return found.onDate;
    });
    checkPayments(args, user, priceOf(reservation), context);
    for (const payment of args.payment_methods) spend(user, payment);
    if (context.release === 'tau2') {
      for (const onDate of sold) onDate.available_seats[args.cabin] -= args.passengers.length;
    }
    context.db.reservations[reservation.reservation_id] = reservation;
    user.reservations.push(reservation.reservation_id);
    return answer(reservation, RESERVATION, context);
  },
};

function draftReservation(args: Booking, context: AirlineContext): Reservation {
  return {
    reservation_id: newReservationId(context),
    user_id: args.user_id,
    origin: args.origin,
    destination: args.destination,
    flight_type: args.flight_type,
    cabin: args.cabin,
    flights: [],
    passengers: args.passengers.map((passenger) => keep(passenger, Object.keys(PASSENGER.fields), context)),
    payment_history: args.payment_methods.map((payment) =>
      keep<Payment>(payment, Object.keys(PAYMENT.fields), context),
    ),
    created_at: NOW,
    total_baggages: args.total_baggages,
    nonfree_baggages: args.nonfree_baggages,
    insurance: args.insurance,
  };
}

function newReservationId(context: AirlineContext): string {
  const free = NEW_RESERVATIONS.find((id) => !Object.hasOwn(context.db.reservations, id));
  if (free !== undefined) return free;
  // The first release has no fourth id: it writes over the third.
  return context.release === 'tau1' ? NEW_RESERVATIONS[2] : refuse(context, 'too many reservations');
}

function bookedFlight(
  choice: FlightChoice,
  route: { readonly origin: string; readonly destination: string },
  price: number,
  { release }: AirlineContext,
): BookedFlight {
  const { origin, destination } = route;
  if (release === 'tau1') return { ...structuredClone(choice), price, origin, destination };
  return { origin, destination, flight_number: choice.flight_number, date: choice.date, price };
}

function priceOf({ flights, passengers, insurance, nonfree_baggages }: Reservation): number {
  const seats = flights.reduce((sum, flight) => sum + flight.price * passengers.length, 0);
  return seats + (insurance === 'yes' ? 30 * passengers.length : 0) + 50 * nonfree_baggages;
}

function checkPayments(args: Booking, user: AirlineUser, price: number, context: AirlineContext): void {
  for (const { payment_id: id, amount } of args.payment_methods) {
    if (!Object.hasOwn(user.payment_methods, id)) refuse(context, `payment method ${id} not found`);
    const method = user.payment_methods[id];
    if (method.source !== 'credit_card' && method.amount < amount) {
      refuse(context, `not enough balance in payment method ${id}`);
    }
  }
  const paid = args.payment_methods.reduce((sum, { amount }) => sum + amount, 0);
  if (paid !== price) {
    const [total, given] = [pythonNumber(price), pythonNumber(paid)];
    refuse(context, `payment amount does not add up, total price is ${total}, but paid ${given}`);
  }
}

/** A certificate is used up whole; a second payment with it then finds it gone. */
function spend(user: AirlineUser, { payment_id: id, amount }: Payment): void {
  const method = user.payment_methods[id];
  if (method === undefined) throw new ToolFailure(pythonRepr(id));
  if (method.source === 'gift_card') method.amount -= amount;
  else if (method.source === 'certificate') delete user.payment_methods[id];
}

interface FlightUpdate {
  reservation_id: string;
  cabin: string;
  flights: FlightChoice[];
  payment_id: string;
}

export const updateReservationFlights: TauTool<AirlineDatabase> = {
  writes: true,
  run(args: FlightUpdate, context) {
    const reservation = reservationOf(context, args.reservation_id);
    const user = userOf(context, reservation.user_id);
    const flights = args.flights.map((choice) => updatedFlight(choice, args.cabin, reservation, context));
    const total = (list: readonly BookedFlight[]) =>
      list.reduce((sum, { price }) => sum + price, 0) * reservation.passengers.length;
    payForUpdate(user, reservation, args.payment_id, total(flights) - total(reservation.flights), context);
    reservation.flights = flights;
    // The first release leaves the cabin as it was; neither takes seats: that "takes time to be updated".
    if (context.release === 'tau2') reservation.cabin = args.cabin;
    return answer(reservation, RESERVATION, context);
  },
};

/** A flight already booked in this cabin keeps its price, however full it is or whether it has left. */
function updatedFlight(
  choice: FlightChoice,
  cabin: string,
  reservation: Reservation,
  context: AirlineContext,
): BookedFlight {
  const { flight_number: number, date } = choice;
  const same = reservation.flights.find((flight) => flight.flight_number === number && flight.date === date);
  if (same !== undefined && cabin === reservation.cabin) return bookedFlight(choice, same, same.price, context);
  const { flight, onDate } = openFlightOf(context, choice, cabin, reservation.passengers.length);
  return bookedFlight(choice, flight, onDate.prices[cabin], context);
}

interface BaggageUpdate {
  reservation_id: string;
  total_baggages: number;
  nonfree_baggages: number;
  payment_id: string;
}

export const updateReservationBaggages: TauTool<AirlineDatabase> = {
  writes: true,
  run(args: BaggageUpdate, context) {
    const reservation = reservationOf(context, args.reservation_id);
    const user = userOf(context, reservation.user_id);
    const price = 50 * Math.max(0, args.nonfree_baggages - reservation.nonfree_baggages);
    payForUpdate(user, reservation, args.payment_id, price, context);
    reservation.total_baggages = args.total_baggages;
    reservation.nonfree_baggages = args.nonfree_baggages;
    return answer(reservation, RESERVATION, context);
  },
};

/** A negative price is paid back, to a gift card at once. */
function payForUpdate(
  user: AirlineUser,
  reservation: Reservation,
  id: string,
  price: number,
  context: AirlineContext,
): void {
  if (!Object.hasOwn(user.payment_methods, id)) refuse(context, 'payment method not found');
  const method = user.payment_methods[id];
  if (method.source === 'certificate') refuse(context, 'certificate cannot be used to update reservation');
  if (method.source === 'gift_card') {
    if (method.amount < price) refuse(context, 'gift card balance is not enough');
    method.amount -= price;
  }
  if (price !== 0) reservation.payment_history.push({ payment_id: id, amount: price });
}
