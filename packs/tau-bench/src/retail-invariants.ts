// What never happens to the shop's data, whoever answers: products stay, orders go from one status to the next, histories
// only grow, and a gift card gains and loses exactly what was refunded to it and paid with it.

import { appended, type Change, changedField, changesOf, isSame, sameMoney } from './changes.js';
import type { Order, OrderPayment, RetailDatabase, RetailPaymentMethod, RetailUser } from './retail-database.js';

export function retailInvariants(before: RetailDatabase, after: RetailDatabase): string[] {
  const orders = changesOf(before.orders, after.orders);
  return [
    ...changesOf(before.products, after.products).map(({ id }) => `product ${id} may not change`),
    ...orders.flatMap((change) => orderFaults(change, after)),
    ...changesOf(before.users, after.users).flatMap(userFaults),
    ...moneyFaults(before, after, orders),
  ];
}

const MODIFIED = 'pending (item modified)';

const NEXT_STATUS: Readonly<Record<string, readonly string[]>> = {
  pending: ['cancelled', MODIFIED],
  delivered: ['exchange requested', 'return requested'],
};

const ORDER_MAY_CHANGE: Readonly<Record<string, readonly string[]>> = {
  pending: ['address', 'payment_history'],
  cancelled: ['cancel_reason', 'payment_history'],
  [MODIFIED]: ['address', 'items', 'payment_history'],
  'exchange requested': [
    'exchange_items',
    'exchange_new_items',
    'exchange_payment_method_id',
    'exchange_price_difference',
  ],
  'return requested': ['return_items', 'return_payment_method_id'],
};

function orderFaults({ id, before, after }: Change<Order>, db: RetailDatabase): string[] {
  if (before === undefined || after === undefined) return [`order ${id} may be neither added nor removed`];
  const isNext = before.status !== after.status;
  if (isNext && !NEXT_STATUS[before.status]?.includes(after.status)) {
    return [`order ${id} may not go from "${before.status}" to "${after.status}"`];
  }
  const isChangeable = isNext || after.status.includes('pending');
  const field = changedField(before, after, isChangeable ? ['status', ...(ORDER_MAY_CHANGE[after.status] ?? [])] : []);
  if (field !== undefined) return [`${field} of order ${id} may not change while it is "${after.status}"`];
  const booked = appended(before.payment_history, after.payment_history);
  if (booked === undefined) return [`payment_history of order ${id} may only grow`];
  if (isNext && after.status === 'cancelled') return refundFaults(id, before, booked);
  if (isNext && after.status === MODIFIED) return itemFaults(id, before, after, booked, db);
  if (!isSame(before.items, after.items)) return [`items of order ${id} may be modified only once`];
  const isEven = sameMoney(balance(booked), 0);
  return isEven ? [] : [`what is paid and refunded for order ${id} must be equal`];
}

function refundFaults(id: string, before: Order, booked: readonly OrderPayment[]): string[] {
  const due = before.payment_history.map((payment) => ({ ...payment, transaction_type: 'refund' }));
  return isSame(due, booked) ? [] : [`cancelling order ${id} must refund each of its payments`];
}

function itemFaults(
  id: string,
  before: Order,
  after: Order,
  booked: readonly OrderPayment[],
  { products }: RetailDatabase,
): string[] {
  if (before.items.length !== after.items.length) return [`the number of items of order ${id} may not change`];
  let due = 0;
  for (const [i, item] of after.items.entries()) {
    const old = before.items[i];
    if (item.item_id === old.item_id) continue;
    const variant = products[old.product_id]?.variants[item.item_id];
    if (item.product_id !== old.product_id || variant?.available !== true) {
      return [`item ${item.item_id} is no available variant of product ${old.product_id}`];
    }
    due += variant.price - old.price;
  }
  const paid = -balance(booked);
  return sameMoney(paid, due)
    ? []
    : [`the new items of order ${id} cost ${due.toFixed(2)} more, not ${paid.toFixed(2)}`];
}

function userFaults({ id, before, after }: Change<RetailUser>): string[] {
  if (before === undefined || after === undefined) return [`user ${id} may be neither added nor removed`];
  const field = changedField(before, after, ['address', 'payment_methods']);
  if (field !== undefined) return [`${field} of user ${id} may not change`];
  return changesOf(before.payment_methods, after.payment_methods).flatMap(methodFaults);
}

function methodFaults({ id, before, after }: Change<RetailPaymentMethod>): string[] {
  if (before?.source !== 'gift_card' || after?.source !== 'gift_card' || changedField(before, after, ['balance'])) {
    return [`payment method ${id} may not change`];
  }
  return after.balance < 0 ? [`gift card ${id} may not go below 0`] : [];
}

/** What each gift card gained against what orders refunded to it. */
function moneyFaults(before: RetailDatabase, after: RetailDatabase, changes: readonly Change<Order>[]): string[] {
  const gained = new Map<string, number>();
  for (const { before: old, after: now } of changes) {
    if (old === undefined || now === undefined) continue;
    for (const payment of now.payment_history.slice(old.payment_history.length)) {
      const key = `${now.user_id} ${payment.payment_method_id}`;
      gained.set(key, (gained.get(key) ?? 0) + balance([payment]));
    }
  }
  const users = new Set([
    ...changesOf(before.users, after.users).map(({ id }) => id),
    ...[...gained.keys()].map((key) => key.split(' ')[0]),
  ]);
  return [...users].flatMap((user) =>
    Object.entries(before.users[user]?.payment_methods ?? {}).flatMap(([id, method]) => {
      const now = after.users[user]?.payment_methods[id];
      if (method.source !== 'gift_card' || now?.source !== 'gift_card') return [];
      const due = method.balance + (gained.get(`${user} ${id}`) ?? 0);
      const isRight = sameMoney(now.balance, due);
      return isRight ? [] : [`gift card ${id} must hold ${due.toFixed(2)}, not ${now.balance.toFixed(2)}`];
    }),
  );
}

/** What is refunded less what is paid. */
function balance(payments: readonly OrderPayment[]): number {
  return payments.reduce((sum, { transaction_type: type, amount }) => sum + (type === 'refund' ? amount : -amount), 0);
}
