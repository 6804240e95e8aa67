// Finds users, reservations and flights of the airline, or refuses in the words of the release.

import type {
  AirlineDatabase,
  AirlineUser,
  Flight,
  FlightDate,
  OpenFlightDate,
  Reservation,
} from './airline-database.js';
import { refuse, type ToolContext } from './tool-kit.js';

export type AirlineContext = ToolContext<AirlineDatabase>;

export function userOf(context: AirlineContext, id: string): AirlineUser {
  const user = Object.hasOwn(context.db.users, id) ? context.db.users[id] : undefined;
  return user ?? refuse(context, context.release === 'tau1' ? 'user not found' : `User ${id} not found`);
}

export function reservationOf(context: AirlineContext, id: string, firstRelease = 'reservation'): Reservation {
  const reservation = Object.hasOwn(context.db.reservations, id) ? context.db.reservations[id] : undefined;
  if (reservation !== undefined) return reservation;
  return refuse(context, context.release === 'tau1' ? `${firstRelease} not found` : `Reservation ${id} not found`);
}

export function flightOf(context: AirlineContext, number: string): Flight {
  const flight = Object.hasOwn(context.db.flights, number) ? context.db.flights[number] : undefined;
  return flight ?? refuse(context, `flight ${number} not found`);
}

export function flightDateOf(context: AirlineContext, number: string, date: string): FlightDate {
  const { dates } = flightOf(context, number);
  return Object.hasOwn(dates, date) ? dates[date] : refuse(context, `flight ${number} not found on date ${date}`);
}

/** A flight that has seats to sell, enough of them in the cabin. */
export function openFlightOf(
  context: AirlineContext,
  { flight_number: number, date }: { flight_number: string; date: string },
  cabin: string,
  passengers: number,
): { flight: Flight; onDate: OpenFlightDate } {
  const flight = flightOf(context, number);
  const onDate = flightDateOf(context, number, date);
  if (!isOpen(onDate)) return refuse(context, `flight ${number} not available on date ${date}`);
  if (onDate.available_seats[cabin] < passengers) refuse(context, `not enough seats on flight ${number}`);
  return { flight, onDate };
}

export function isOpen(onDate: FlightDate): onDate is OpenFlightDate {
  return onDate.status === 'available';
}
