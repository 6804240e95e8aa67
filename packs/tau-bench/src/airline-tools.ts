// The tools of τ-bench's airline, by name.

import { bookReservation, updateReservationBaggages, updateReservationFlights } from './airline-booking.js';
import type { AirlineDatabase, Flight, FlightDate } from './airline-database.js';
import { type AirlineContext, flightDateOf, isOpen, reservationOf, userOf } from './airline-lookups.js';
import { AIRLINE_USER, FOUND_FLIGHT, PASSENGER, RESERVATION } from './airline-model.js';
import { calculator, handOver, think } from './common-tools.js';
import { listOf } from './data-model.js';
import { pythonInt, pythonNumber, pythonRepr } from './python-text.js';
import { answer, keep, refuse, type TauTool, ToolFailure } from './tool-kit.js';

type AirlineTool = TauTool<AirlineDatabase>;

const AIRPORTS = {
  SFO: 'San Francisco',
  JFK: 'New York',
  LAX: 'Los Angeles',
  ORD: 'Chicago',
  DFW: 'Dallas',
  DEN: 'Denver',
  SEA: 'Seattle',
  ATL: 'Atlanta',
  MIA: 'Miami',
  BOS: 'Boston',
  PHX: 'Phoenix',
  IAH: 'Houston',
  LAS: 'Las Vegas',
  MCO: 'Orlando',
  EWR: 'Newark',
  CLT: 'Charlotte',
  MSP: 'Minneapolis',
  DTW: 'Detroit',
  PHL: 'Philadelphia',
  LGA: 'LaGuardia',
};

const NEW_CERTIFICATES = ['certificate_3221322', 'certificate_3221323', 'certificate_3221324'];

const getUserDetails: AirlineTool = {
  writes: false,
  run: ({ user_id }: { user_id: string }, context) => answer(userOf(context, user_id), AIRLINE_USER, context),
};

const getReservationDetails: AirlineTool = {
  writes: false,
  // "user not found" is what the first release says of a reservation here.
  run: ({ reservation_id }: { reservation_id: string }, context) =>
    answer(reservationOf(context, reservation_id, 'user'), RESERVATION, context),
};

const listAllAirports: AirlineTool = {
  writes: false,
  run: (_args, context) => {
    if (context.release === 'tau1') return answer(AIRPORTS, undefined, context);
    return answer(
      Object.entries(AIRPORTS).map(([iata, city]) => ({ iata, city })),
      undefined,
      context,
    );
  },
};

interface Route {
  origin: string;
  destination: string;
  date: string;
}

const searchDirectFlight: AirlineTool = {
  writes: false,
  run({ origin, destination, date }: Route, context) {
    const found = Object.values(context.db.flights)
      .filter((flight) => flight.origin === origin && flight.destination === destination && isOpenOn(flight, date))
      .map((flight) => foundFlight(flight, flight.dates[date]));
    return answer(found, listOf(FOUND_FLIGHT), context);
  },
};

const searchOnestopFlight: AirlineTool = {
  writes: false,
  run({ origin, destination, date }: Route, context) {
    const flights = Object.values(context.db.flights);
    const pairs = flights
      .filter((first) => first.origin === origin)
      .flatMap((first) =>
        flights
          .filter((second) => second.destination === destination && second.origin === first.destination)
          .flatMap((second) => connection(first, second, date, context)),
      );
    return answer(pairs, listOf(listOf(FOUND_FLIGHT)), context);
  },
};

/** The pair, where both can be booked and the second leaves later; times are compared as texts, as τ-bench does. */
function connection(first: Flight, second: Flight, date: string, context: AirlineContext): object[][] {
  if (context.release === 'tau2' && !isOpenOn(first, date)) return [];
  const secondDate = arrivalDate(first, date);
  if (second.scheduled_departure_time_est < first.scheduled_arrival_time_est) return [];
  if (!isOpenOn(first, date) || !isOpenOn(second, secondDate)) return [];
  // The first release shows the second flight as it is on the date of the first.
  const shown = context.release === 'tau1' ? date : secondDate;
  if (!Object.hasOwn(second.dates, shown)) throw new ToolFailure(pythonRepr(shown));
  return [
    [
      { ...foundFlight(first, first.dates[date]), date },
      { ...foundFlight(second, second.dates[shown]), date: secondDate },
    ],
  ];
}

/** Flights that arrive on the next day have "+1" in their time; the day is not padded and knows no other month. */
function arrivalDate({ scheduled_arrival_time_est: arrival }: Flight, date: string): string {
  if (!arrival.includes('+1')) return date;
  const day = [...date].slice(-2).join('');
  const number = pythonInt(day);
  if (number === undefined) throw new ToolFailure(`invalid literal for int() with base 10: ${pythonRepr(day)}`);
  return `2024-05-${number + 1}`;
}

function isOpenOn({ dates }: Flight, date: string): boolean {
  return Object.hasOwn(dates, date) && isOpen(dates[date]);
}

function foundFlight({ dates: _, ...flight }: Flight, onDate: FlightDate): object {
  return { ...flight, ...onDate };
}

const getFlightStatus: AirlineTool = {
  writes: false,
  only: 'tau2',
  run: ({ flight_number, date }: { flight_number: string; date: string }, context) =>
    flightDateOf(context, flight_number, date).status,
};

const cancelReservation: AirlineTool = {
  writes: true,
  run({ reservation_id }: { reservation_id: string }, context) {
    const reservation = reservationOf(context, reservation_id);
    const refunds = reservation.payment_history.map(({ payment_id, amount }) => ({ payment_id, amount: 0 - amount }));
    // Neither gift cards nor seats get back what the refunds say.
    reservation.payment_history.push(...refunds);
    reservation.status = 'cancelled';
    return answer(reservation, RESERVATION, context);
  },
};

const sendCertificate: AirlineTool = {
  writes: true,
  run({ user_id, amount }: { user_id: string; amount: number }, context) {
    const user = userOf(context, user_id);
    const id = NEW_CERTIFICATES.find((certificate) => !Object.hasOwn(user.payment_methods, certificate));
    // The first release then answers nothing at all, which its agents see as null.
    if (id === undefined) return context.release === 'tau1' ? 'null' : refuse(context, 'too many certificates');
    user.payment_methods[id] = { source: 'certificate', amount, id };
    return `Certificate ${id} added to user ${user_id} with amount ${pythonNumber(amount)}.`;
  },
};

const updateReservationPassengers: AirlineTool = {
  writes: true,
  run({ reservation_id, passengers }: { reservation_id: string; passengers: unknown[] }, context) {
    const reservation = reservationOf(context, reservation_id);
    if (passengers.length !== reservation.passengers.length) refuse(context, 'number of passengers does not match');
    reservation.passengers = passengers.map((passenger) => keep(passenger, Object.keys(PASSENGER.fields), context));
    return answer(reservation, RESERVATION, context);
  },
};

export const AIRLINE_TOOLS: Readonly<Record<string, AirlineTool>> = {
  book_reservation: bookReservation,
  calculate: calculator,
  cancel_reservation: cancelReservation,
  get_flight_status: getFlightStatus,
  get_reservation_details: getReservationDetails,
  get_user_details: getUserDetails,
  list_all_airports: listAllAirports,
  search_direct_flight: searchDirectFlight,
  search_onestop_flight: searchOnestopFlight,
  send_certificate: sendCertificate,
  think,
  transfer_to_human_agents: handOver,
  update_reservation_baggages: updateReservationBaggages,
  update_reservation_flights: updateReservationFlights,
  update_reservation_passengers: updateReservationPassengers,
};
