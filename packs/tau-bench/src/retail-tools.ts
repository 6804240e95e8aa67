// The tools of τ-bench's shop, by name.

import { calculator, handOver, think } from './common-tools.js';
import { renderSorted } from './render.js';
import type { Address, RetailDatabase, Variant } from './retail-database.js';
import { orderOf, productOf, userOf } from './retail-lookups.js';
import { ORDER, PRODUCT, RETAIL_USER, VARIANT } from './retail-model.js';
import {
  addressOf,
  cancelPendingOrder,
  exchangeDeliveredOrderItems,
  modifyPendingOrderAddress,
  modifyPendingOrderItems,
  modifyPendingOrderPayment,
  returnDeliveredOrderItems,
} from './retail-orders.js';
import { answer, refuse, type TauTool } from './tool-kit.js';

type RetailTool = TauTool<RetailDatabase>;

const findUserIdByEmail: RetailTool = {
  writes: false,
  run({ email }: { email: string }, context) {
    const found = Object.entries(context.db.users).find(([, user]) => user.email.toLowerCase() === email.toLowerCase());
    return found?.[0] ?? refuse(context, 'user not found');
  },
};

const findUserIdByNameZip: RetailTool = {
  writes: false,
  run({ first_name, last_name, zip }: { first_name: string; last_name: string; zip: string }, context) {
    const found = Object.entries(context.db.users).find(
      ([, { name, address }]) =>
        name.first_name.toLowerCase() === first_name.toLowerCase() &&
        name.last_name.toLowerCase() === last_name.toLowerCase() &&
        address.zip === zip,
    );
    return found?.[0] ?? refuse(context, 'user not found');
  },
};

const getOrderDetails: RetailTool = {
  writes: false,
  run: ({ order_id }: { order_id: string }, context) => answer(orderOf(context, order_id), ORDER, context),
};

const getProductDetails: RetailTool = {
  writes: false,
  run: ({ product_id }: { product_id: string }, context) => answer(productOf(context, product_id), PRODUCT, context),
};

const getUserDetails: RetailTool = {
  writes: false,
  run: ({ user_id }: { user_id: string }, context) => answer(userOf(context, user_id), RETAIL_USER, context),
};

const getItemDetails: RetailTool = {
  writes: false,
  only: 'tau2',
  run({ item_id }: { item_id: string }, context) {
    const product = Object.values(context.db.products).find(({ variants }) => Object.hasOwn(variants, item_id));
    const item: Variant = product?.variants[item_id] ?? refuse(context, 'item not found');
    return answer(item, VARIANT, context);
  },
};

const listAllProductTypes: RetailTool = {
  writes: false,
  run: (_args, { db }) =>
    renderSorted(new Map(Object.values(db.products).map(({ name, product_id }) => [name, product_id]))),
};

const modifyUserAddress: RetailTool = {
  writes: true,
  run({ user_id, ...address }: Address & { user_id: string }, context) {
    const user = userOf(context, user_id);
    user.address = addressOf(address);
    return answer(user, RETAIL_USER, context);
  },
};

export const RETAIL_TOOLS: Readonly<Record<string, RetailTool>> = {
  calculate: calculator,
  cancel_pending_order: cancelPendingOrder,
  exchange_delivered_order_items: exchangeDeliveredOrderItems,
  find_user_id_by_email: findUserIdByEmail,
  find_user_id_by_name_zip: findUserIdByNameZip,
  get_item_details: getItemDetails,
  get_order_details: getOrderDetails,
  get_product_details: getProductDetails,
  get_user_details: getUserDetails,
  list_all_product_types: listAllProductTypes,
  modify_pending_order_address: modifyPendingOrderAddress,
  modify_pending_order_items: modifyPendingOrderItems,
  modify_pending_order_payment: modifyPendingOrderPayment,
  modify_user_address: modifyUserAddress,
  return_delivered_order_items: returnDeliveredOrderItems,
  think,
  transfer_to_human_agents: handOver,
};
