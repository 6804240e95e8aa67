// Finds users, orders, products and payment methods of the shop, or refuses in the words of the release.

import { roundToCents } from './python-text.js';
import type {
  Order,
  OrderItem,
  Product,
  RetailDatabase,
  RetailPaymentMethod,
  RetailUser,
  Variant,
} from './retail-database.js';
import { refuse, type ToolContext } from './tool-kit.js';

export type RetailContext = ToolContext<RetailDatabase>;

export function userOf(context: RetailContext, id: string): RetailUser {
  return Object.hasOwn(context.db.users, id) ? context.db.users[id] : refuse(context, 'user not found');
}

export function orderOf(context: RetailContext, id: string): Order {
  return Object.hasOwn(context.db.orders, id) ? context.db.orders[id] : refuse(context, 'order not found');
}

export function productOf(context: RetailContext, id: string): Product {
  return Object.hasOwn(context.db.products, id) ? context.db.products[id] : refuse(context, 'product not found');
}

/** What a customer may get for an item: a variant of the same product that is in stock. */
export function availableVariantOf(context: RetailContext, productId: string, itemId: string): Variant {
  const { variants } = productOf(context, productId);
  const variant = Object.hasOwn(variants, itemId) ? variants[itemId] : undefined;
  if (variant?.available === true) return variant;
  const isUnknown = variant === undefined && context.release === 'tau2';
  return refuse(context, isUnknown ? 'variant not found' : `new item ${itemId} not found or available`);
}

export function paymentMethodOf(context: RetailContext, userId: string, id: string): RetailPaymentMethod {
  const { payment_methods: methods } = userOf(context, userId);
  return Object.hasOwn(methods, id) ? methods[id] : refuse(context, 'payment method not found');
}

/** The order, where the customer may still change it; in the successor also after items were modified. */
export function changeableOrderOf(context: RetailContext, id: string): Order {
  const order = orderOf(context, id);
  const isChangeable = context.release === 'tau2' ? order.status.includes('pending') : order.status === 'pending';
  return isChangeable ? order : refuse(context, 'non-pending order cannot be modified');
}

/** The first of the ids that is named more often than the order has it. */
export function excessItem({ items }: Order, ids: readonly string[]): string | undefined {
  const count = (list: readonly string[], id: string) => list.filter((other) => other === id).length;
  const ordered = items.map((item) => item.item_id);
  return ids.find((id) => count(ids, id) > count(ordered, id));
}

export function itemOf(context: RetailContext, { items }: Order, id: string): OrderItem {
  return items.find((item) => item.item_id === id) ?? refuse(context, `item ${id} not found`);
}

/** Takes from a gift card, or (a negative amount) gives back to it; other methods keep no balance. */
export function charge(method: RetailPaymentMethod, amount: number): void {
  if (method.source === 'gift_card') method.balance = roundToCents(method.balance - amount);
}

export function cannotPay(method: RetailPaymentMethod, amount: number): boolean {
  return method.source === 'gift_card' && method.balance < amount;
}
