// The data of τ-bench's airline: flights by number and date, reservations, users with their payment methods.

import { type DataModel, decimal, integer, listOf, mapOf, oneOf, record, text, unionBy } from './data-model.js';

export const FLIGHT_TYPE = oneOf('round_trip', 'one_way');
export const CABIN = oneOf('business', 'economy', 'basic_economy');
export const INSURANCE = oneOf('yes', 'no');

export const PASSENGER = record({
  first_name: text("Passenger's first name"),
  last_name: text("Passenger's last name"),
  dob: text('Date of birth in YYYY-MM-DD format'),
});

export const PAYMENT = record({
  payment_id: text('Unique identifier for the payment'),
  amount: integer('Payment amount in dollars'),
});

export const FLIGHT_INFO = record({
  flight_number: text("Flight number, such as 'HAT001'."),
  date: text("The date for the flight in the format 'YYYY-MM-DD', such as '2024-05-01'."),
});

const PER_CABIN = mapOf(integer());

const FLIGHT_DATE = unionBy('status', {
  available: record({ status: oneOf('available'), available_seats: PER_CABIN, prices: PER_CABIN }),
  landed: record({ status: oneOf('landed'), actual_departure_time_est: text(), actual_arrival_time_est: text() }),
  cancelled: record({ status: oneOf('cancelled') }),
  delayed: record({
    status: oneOf('delayed'),
    estimated_departure_time_est: text(),
    estimated_arrival_time_est: text(),
  }),
  flying: record({ status: oneOf('flying'), actual_departure_time_est: text(), estimated_arrival_time_est: text() }),
  'on time': record({
    status: oneOf('on time'),
    estimated_departure_time_est: text(),
    estimated_arrival_time_est: text(),
  }),
});

const ROUTE = { flight_number: text(), origin: text(), destination: text() };

const FLIGHT = record({
  ...ROUTE,
  scheduled_departure_time_est: text(),
  scheduled_arrival_time_est: text(),
  dates: mapOf(FLIGHT_DATE),
});

/** A hit of a search, as the successor writes it. */
export const FOUND_FLIGHT: DataModel = {
  kind: 'record',
  fields: {
    ...ROUTE,
    status: oneOf('available'),
    scheduled_departure_time_est: text(),
    scheduled_arrival_time_est: text(),
    date: text(),
    available_seats: PER_CABIN,
    prices: PER_CABIN,
  },
  optional: ['date'],
};

export const RESERVATION = record(
  {
    reservation_id: text(),
    user_id: text(),
    origin: text(),
    destination: text(),
    flight_type: FLIGHT_TYPE,
    cabin: CABIN,
    flights: listOf(record({ ...ROUTE, date: text(), price: integer() })),
    passengers: listOf(PASSENGER),
    payment_history: listOf(PAYMENT),
    created_at: text(),
    total_baggages: integer(),
    nonfree_baggages: integer(),
    insurance: INSURANCE,
  },
  { status: oneOf('cancelled') },
);

const PAYMENT_METHOD = unionBy('source', {
  credit_card: record({ source: oneOf('credit_card'), id: text(), brand: text(), last_four: text() }),
  gift_card: record({ source: oneOf('gift_card'), id: text(), amount: decimal() }),
  certificate: record({ source: oneOf('certificate'), id: text(), amount: decimal() }),
});

const ADDRESS = record({
  address1: text(),
  address2: text(),
  city: text(),
  country: text(),
  state: text(),
  zip: text(),
});

export const AIRLINE_USER: DataModel = {
  kind: 'record',
  fields: {
    user_id: text(),
    name: record({ first_name: text(), last_name: text() }),
    address: ADDRESS,
    email: text(),
    dob: text(),
    payment_methods: mapOf(PAYMENT_METHOD),
    saved_passengers: listOf(PASSENGER),
    membership: oneOf('gold', 'silver', 'regular'),
    reservations: listOf(text()),
  },
  // The first release keeps it as the key only.
  optional: ['user_id'],
};

export const AIRLINE_DATABASE = record({
  flights: mapOf(FLIGHT),
  users: mapOf(AIRLINE_USER),
  reservations: mapOf(RESERVATION),
});
