// Types of the airline's data, as its tools read and change them (a draft when they change it).

export type Cabin = 'business' | 'economy' | 'basic_economy';

export interface OpenFlightDate {
  status: 'available';
  available_seats: Record<string, number>;
  prices: Record<string, number>;
}

export type FlightDate = OpenFlightDate | { status: 'landed' | 'cancelled' | 'delayed' | 'flying' | 'on time' };

export interface Flight {
  flight_number: string;
  origin: string;
  destination: string;
  scheduled_departure_time_est: string;
  scheduled_arrival_time_est: string;
  dates: Record<string, FlightDate>;
}

export interface Payment {
  payment_id: string;
  /** Dollars; negative: paid back. */
  amount: number;
}

export interface BookedFlight {
  flight_number: string;
  origin: string;
  destination: string;
  date: string;
  /** Dollars for one passenger. */
  price: number;
}

export interface Reservation {
  reservation_id: string;
  user_id: string;
  origin: string;
  destination: string;
  flight_type: string;
  cabin: string;
  flights: BookedFlight[];
  passengers: unknown[];
  payment_history: Payment[];
  created_at: string;
  total_baggages: number;
  nonfree_baggages: number;
  insurance: string;
  status?: 'cancelled';
}

export type AirlinePaymentMethod =
  | { source: 'credit_card'; id: string; brand: string; last_four: string }
  | { source: 'gift_card' | 'certificate'; id: string; amount: number };

export interface AirlineUser {
  payment_methods: Record<string, AirlinePaymentMethod>;
  reservations: string[];
}

export interface AirlineDatabase {
  flights: Record<string, Flight>;
  reservations: Record<string, Reservation>;
  users: Record<string, AirlineUser>;
}
