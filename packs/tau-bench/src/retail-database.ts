// Types of the shop's data, as its tools read and change them (a draft when they change it).

export interface Variant {
  item_id: string;
  options: Record<string, string>;
  available: boolean;
  price: number;
}

export interface Product {
  name: string;
  product_id: string;
  variants: Record<string, Variant>;
}

export type RetailPaymentMethod =
  | { source: 'credit_card'; id: string; brand: string; last_four: string }
  | { source: 'paypal'; id: string }
  | { source: 'gift_card'; id: string; balance: number };

export interface Address {
  address1: string;
  address2: string;
  city: string;
  country: string;
  state: string;
  zip: string;
}

export interface RetailUser {
  name: { first_name: string; last_name: string };
  address: Address;
  email: string;
  payment_methods: Record<string, RetailPaymentMethod>;
}

export interface OrderItem {
  name: string;
  product_id: string;
  item_id: string;
  price: number;
  options: Record<string, string>;
}

export interface OrderPayment {
  transaction_type: 'payment' | 'refund';
  amount: number;
  payment_method_id: string;
}

export interface Order {
  order_id: string;
  user_id: string;
  address: Address;
  items: OrderItem[];
  status: string;
  payment_history: OrderPayment[];
  cancel_reason?: string;
  exchange_items?: string[];
  exchange_new_items?: string[];
  exchange_payment_method_id?: string;
  exchange_price_difference?: number;
  return_items?: string[];
  return_payment_method_id?: string;
}

export interface RetailDatabase {
  products: Record<string, Product>;
  users: Record<string, RetailUser>;
  orders: Record<string, Order>;
}
