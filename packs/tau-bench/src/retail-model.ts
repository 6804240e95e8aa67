// The data of τ-bench's shop: products with their variants, users with their payment methods, orders.

import { decimal, listOf, mapOf, oneOf, record, text, unionBy } from './data-model.js';

const OPTIONS = mapOf(text());

const ADDRESS = record({
  address1: text(),
  address2: text(),
  city: text(),
  country: text(),
  state: text(),
  zip: text(),
});

export const VARIANT = record({ item_id: text(), options: OPTIONS, available: { kind: 'flag' }, price: decimal() });

export const PRODUCT = record({ name: text(), product_id: text(), variants: mapOf(VARIANT) });

const PAYMENT_METHOD = unionBy('source', {
  credit_card: record({ source: oneOf('credit_card'), id: text(), brand: text(), last_four: text() }),
  gift_card: record({ source: oneOf('gift_card'), id: text(), balance: decimal() }),
  paypal: record({ source: oneOf('paypal'), id: text() }),
});

export const RETAIL_USER = record({
  user_id: text(),
  name: record({ first_name: text(), last_name: text() }),
  address: ADDRESS,
  email: text(),
  payment_methods: mapOf(PAYMENT_METHOD),
  orders: listOf(text()),
});

const ITEM = record({ name: text(), product_id: text(), item_id: text(), price: decimal(), options: OPTIONS });

export const ORDER = record(
  {
    order_id: text(),
    user_id: text(),
    address: ADDRESS,
    items: listOf(ITEM),
    status: oneOf(
      'processed',
      'pending',
      'pending (item modified)',
      'delivered',
      'cancelled',
      'exchange requested',
      'return requested',
    ),
    fulfillments: listOf(record({ tracking_id: listOf(text()), item_ids: listOf(text()) })),
    payment_history: listOf(
      record({ transaction_type: oneOf('payment', 'refund'), amount: decimal(), payment_method_id: text() }),
    ),
  },
  {
    cancel_reason: oneOf('no longer needed', 'ordered by mistake'),
    exchange_items: listOf(text()),
    exchange_new_items: listOf(text()),
    exchange_payment_method_id: text(),
    exchange_price_difference: decimal(),
    return_items: listOf(text()),
    return_payment_method_id: text(),
  },
);

export const RETAIL_DATABASE = record({ products: mapOf(PRODUCT), users: mapOf(RETAIL_USER), orders: mapOf(ORDER) });
