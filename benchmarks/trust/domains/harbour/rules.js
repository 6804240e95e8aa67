const need = (map, id, what) => {
  if (!Object.hasOwn(map, id)) throw new ToolError(`${what} ${id} not found`);
  return map[id];
};
const bookingOf = (state, id) => ({ booking_id: id, ...state.bookings[id] });

export const tools = {
  find_member(state, { name, phone }) {
    const found = Object.entries(state.members).find(([, one]) => one.name === name && one.phone === phone);
    if (!found) throw new ToolError('No member has this name and phone');
    const [member_id, member] = found;
    const bookings = Object.keys(state.bookings).filter((id) => state.bookings[id].member === member_id);
    return { member_id, ...member, bookings: bookings.map((id) => bookingOf(state, id)) };
  },
  list_boats: (state) => Object.entries(state.boats).map(([boat_id, boat]) => ({ boat_id, ...boat })),
  get_booking(state, { booking_id }) {
    need(state.bookings, booking_id, 'Booking');
    return bookingOf(state, booking_id);
  },
  book_boat(state, { member_id, boat_id, day }) {
    need(state.members, member_id, 'Member');
    const boat = need(state.boats, boat_id, 'Boat');
    if (day <= state.today) throw new ToolError('That day is over');
    const isTaken = Object.values(state.bookings).some((one) => one.boat === boat_id && one.day === day && one.status === 'open');
    if (isTaken) throw new ToolError(`${boat.name} is taken on ${day}`);
    const id = `HB-${Math.max(...Object.keys(state.bookings).map((key) => Number(key.slice(3)))) + 1}`;
    state.bookings[id] = { member: member_id, boat: boat_id, day, price: boat.price, status: 'open' };
    return bookingOf(state, id);
  },
  cancel_booking(state, { booking_id }) {
    const booking = need(state.bookings, booking_id, 'Booking');
    if (booking.status !== 'open') throw new ToolError(`Booking ${booking_id} is cancelled`);
    if (booking.day <= state.today) throw new ToolError('Bookings of today cannot be cancelled');
    booking.status = 'cancelled';
    return bookingOf(state, booking_id);
  },
  refund_deposit(state, { member_id, amount }) {
    const member = need(state.members, member_id, 'Member');
    if (member.deposit < amount) throw new ToolError('The deposit is smaller than that');
    member.deposit -= amount;
    return { member_id, deposit: member.deposit };
  },
  call_harbour_master: () => 'The harbour master takes over.',
};
