// The shop's tools that change orders.

import { roundToCents } from './python-text.js';
import type { Address, Order, OrderPayment, RetailDatabase, Variant } from './retail-database.js';
import {
  availableVariantOf,
  cannotPay,
  changeableOrderOf,
  charge,
  excessItem,
  itemOf,
  orderOf,
  paymentMethodOf,
  type RetailContext,
} from './retail-lookups.js';
import { ORDER } from './retail-model.js';
import { answer, refuse, type TauTool, ToolFailure } from './tool-kit.js';

type RetailTool = TauTool<RetailDatabase>;

const REASONS = ['no longer needed', 'ordered by mistake'];

export const cancelPendingOrder: RetailTool = {
  writes: true,
  run({ order_id, reason }: { order_id: string; reason: string }, context) {
    const order = orderOf(context, order_id);
    if (order.status !== 'pending') refuse(context, 'non-pending order cannot be cancelled');
    if (!REASONS.includes(reason)) refuse(context, 'invalid reason');
    const refunds = order.payment_history.map(({ amount, payment_method_id }): OrderPayment => {
      charge(paymentMethodOf(context, order.user_id, payment_method_id), -amount);
      return { transaction_type: 'refund', amount, payment_method_id };
    });
    order.status = 'cancelled';
    order.cancel_reason = reason;
    order.payment_history.push(...refunds);
    return answer(order, ORDER, context);
  },
};

interface ItemSwap {
  order_id: string;
  item_ids: string[];
  new_item_ids: string[];
  payment_method_id: string;
}

export const exchangeDeliveredOrderItems: RetailTool = {
  writes: true,
  run(args: ItemSwap, context) {
    const order = orderOf(context, args.order_id);
    if (order.status !== 'delivered') refuse(context, 'non-delivered order cannot be exchanged');
    const isFirst = context.release === 'tau1';
    const excess = excessItem(order, args.item_ids);
    if (excess !== undefined) refuse(context, isFirst ? `${excess} not found` : `number of ${excess} not found.`);
    if (args.item_ids.length !== args.new_item_ids.length) {
      refuse(context, `the number of items to be exchanged should match${isFirst ? '' : '.'}`);
    }
    const difference = roundToCents(sum(priceDifferences(order, newVariants(args, order, context))));
    if (cannotPay(paymentMethodOf(context, order.user_id, args.payment_method_id), difference)) {
      refuse(context, 'insufficient gift card balance to pay for the price difference');
    }
    order.status = 'exchange requested';
    order.exchange_items = [...args.item_ids].sort();
    order.exchange_new_items = [...args.new_item_ids].sort();
    order.exchange_payment_method_id = args.payment_method_id;
    order.exchange_price_difference = difference;
    return answer(order, ORDER, context);
  },
};

interface Swap {
  readonly itemId: string;
  readonly variant: Variant;
}

function newVariants({ item_ids, new_item_ids }: ItemSwap, order: Order, context: RetailContext): Swap[] {
  return item_ids.map((itemId, i) => {
    const { product_id: productId } = itemOf(context, order, itemId);
    return { itemId, variant: availableVariantOf(context, productId, new_item_ids[i]) };
  });
}

function priceDifferences(order: Order, swaps: readonly Swap[]): number[] {
  return swaps.map(({ itemId, variant }) => {
    const old = order.items.find((item) => item.item_id === itemId);
    return variant.price - (old?.price ?? 0);
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export const modifyPendingOrderItems: RetailTool = {
  writes: true,
  run(args: ItemSwap, context) {
    const order = orderOf(context, args.order_id);
    if (order.status !== 'pending') refuse(context, 'non-pending order cannot be modified');
    const excess = excessItem(order, args.item_ids);
    // No sentence of either release: it begins with the id, as that was given.
    if (excess !== undefined) throw new ToolFailure(`${excess} not found`);
    if (args.item_ids.length !== args.new_item_ids.length) {
      refuse(context, 'the number of items to be exchanged should match');
    }
    const swaps = differentVariants(args, order, context);
    const difference = sum(priceDifferences(order, swaps));
    const method = paymentMethodOf(context, order.user_id, args.payment_method_id);
    if (cannotPay(method, difference)) refuse(context, 'insufficient gift card balance to pay for the new item');
    order.payment_history.push({
      transaction_type: difference > 0 ? 'payment' : 'refund',
      amount: Math.abs(difference),
      payment_method_id: args.payment_method_id,
    });
    charge(method, difference);
    swapItems(order, swaps, context);
    order.status = 'pending (item modified)';
    return answer(order, ORDER, context);
  },
};

function differentVariants(args: ItemSwap, order: Order, context: RetailContext): Swap[] {
  const same = args.item_ids.findIndex((id, i) => id === args.new_item_ids[i]);
  if (context.release === 'tau1' || same < 0) return newVariants(args, order, context);
  const before = { item_ids: args.item_ids.slice(0, same), new_item_ids: args.new_item_ids.slice(0, same) };
  newVariants({ ...args, ...before }, order, context);
  return refuse(context, 'the new item id should be different from the old item id');
}

function swapItems(order: Order, swaps: readonly Swap[], context: RetailContext): void {
  for (const { itemId, variant } of swaps) {
    const item = itemOf(context, order, itemId);
    item.item_id = variant.item_id;
    // The successor gives every swapped item price and options of the last variant: a slip, kept as it is.
    const { price, options } = context.release === 'tau2' ? swaps[swaps.length - 1].variant : variant;
    item.price = price;
    item.options = { ...options };
  }
}

export const modifyPendingOrderAddress: RetailTool = {
  writes: true,
  run({ order_id, ...address }: Address & { order_id: string }, context) {
    const order = changeableOrderOf(context, order_id);
    order.address = addressOf(address);
    return answer(order, ORDER, context);
  },
};

/** In the order in which τ-bench writes it anew. */
export function addressOf({ address1, address2, city, state, country, zip }: Address): Address {
  return { address1, address2, city, state, country, zip };
}

export const modifyPendingOrderPayment: RetailTool = {
  writes: true,
  run({ order_id, payment_method_id }: { order_id: string; payment_method_id: string }, context) {
    const order = changeableOrderOf(context, order_id);
    const method = paymentMethodOf(context, order.user_id, payment_method_id);
    const [paid, ...more] = order.payment_history;
    if (more.length > 0 || paid?.transaction_type !== 'payment') {
      refuse(context, 'there should be exactly one payment for a pending order');
    }
    if (paid.payment_method_id === payment_method_id) {
      refuse(context, 'the new payment method should be different from the current one');
    }
    const { amount } = paid;
    if (cannotPay(method, amount)) refuse(context, 'insufficient gift card balance to pay for the order');
    order.payment_history.push(
      { transaction_type: 'payment', amount, payment_method_id },
      { transaction_type: 'refund', amount, payment_method_id: paid.payment_method_id },
    );
    charge(method, amount);
    charge(paymentMethodOf(context, order.user_id, paid.payment_method_id), -amount);
    return answer(order, ORDER, context);
  },
};

interface Return {
  order_id: string;
  item_ids: string[];
  payment_method_id: string;
}

export const returnDeliveredOrderItems: RetailTool = {
  writes: true,
  run({ order_id, item_ids, payment_method_id }: Return, context) {
    const order = orderOf(context, order_id);
    if (order.status !== 'delivered') refuse(context, 'non-delivered order cannot be returned');
    const method = paymentMethodOf(context, order.user_id, payment_method_id);
    if (method.source !== 'gift_card' && payment_method_id !== order.payment_history[0]?.payment_method_id) {
      const isFirst = context.release === 'tau1';
      refuse(
        context,
        `payment method should be ${isFirst ? 'either the original payment method or a gift card' : 'the original payment method'}`,
      );
    }
    if (excessItem(order, item_ids) !== undefined) refuse(context, 'some item not found');
    order.status = 'return requested';
    order.return_items = [...item_ids].sort();
    order.return_payment_method_id = payment_method_id;
    return answer(order, ORDER, context);
  },
};
