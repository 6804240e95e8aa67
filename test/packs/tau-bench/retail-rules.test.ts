import { describe, expect, test } from 'vitest';
import type { TauRelease } from '../../../packs/tau-bench/src/tool-kit.js';
import { tauBench } from './fixture.js';

const RELEASES: TauRelease[] = ['tau1', 'tau2'];

describe.each(RELEASES)('retail, %s', (release) => {
  const isFirst = release === 'tau1';
  const words = (text: string) => `Error: ${isFirst ? text : text[0].toUpperCase() + text.slice(1)}`;

  test('cancelling refunds each payment, to a gift card at once', async () => {
    const bench = await tauBench('retail', release);
    const cancel = (order_id: string, reason = 'no longer needed') =>
      bench.call('cancel_pending_order', { order_id, reason });
    expect(cancel('#W9')).toBe(words('order not found'));
    expect(cancel('#W3')).toBe(words('non-pending order cannot be cancelled'));
    expect(cancel('#W1', 'bored')).toBe(words('invalid reason'));
    cancel('#W1');
    expect(bench.state.users.bo_ray_1.payment_methods.gift_card_1.balance).toBe(40.2);
    expect(bench.state.orders['#W1']).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'no longer needed',
      payment_history: [{ transaction_type: 'payment' }, { transaction_type: 'refund', amount: 20.2 }],
    });
  });

  const exchange = { order_id: '#W2', item_ids: ['1000000003', '9000000001'], payment_method_id: 'gift_card_1' };

  test('exchanging notes sorted items and the difference; money moves later', async () => {
    const bench = await tauBench('retail', release);
    const text = bench.call('exchange_delivered_order_items', {
      ...exchange,
      new_item_ids: ['9000000001', '1000000003'],
    });
    expect(bench.state.orders['#W2']).toMatchObject({
      status: 'exchange requested',
      exchange_items: ['1000000003', '9000000001'],
      exchange_new_items: ['1000000003', '9000000001'],
      exchange_price_difference: 0,
    });
    expect(text).toContain('"exchange_price_difference": 0.0');
    expect(bench.state.users).toBe((bench.domain.initialState as { users: object }).users);
  });

  test.each([
    [{ item_ids: ['9000000001', '9000000001'] }, '9000000001 not found', 'Number of 9000000001 not found.'],
    [
      { new_item_ids: ['1000000002'] },
      'the number of items to be exchanged should match',
      'The number of items to be exchanged should match.',
    ],
    [{ new_item_ids: ['1', '1'] }, 'new item 1 not found or available', 'Variant not found'],
    [
      { new_item_ids: ['1000000001', '1000000002'] },
      'new item 1000000001 not found or available',
      'New item 1000000001 not found or available',
    ],
    [
      { new_item_ids: ['1000000002', '1000000002'] },
      'insufficient gift card balance to pay for the price difference',
      'Insufficient gift card balance to pay for the price difference',
    ],
    [{ payment_method_id: 'paypal_9' }, 'payment method not found', 'Payment method not found'],
    [{ order_id: '#W1' }, 'non-delivered order cannot be exchanged', 'Non-delivered order cannot be exchanged'],
  ])('an exchange with %j is refused', async (changes, first, successor) => {
    const bench = await tauBench('retail', release);
    const args = { ...exchange, new_item_ids: ['1000000003', '1000000003'], ...changes };
    expect(bench.call('exchange_delivered_order_items', args)).toBe(`Error: ${isFirst ? first : successor}`);
    expect(bench.state).toBe(bench.domain.initialState);
  });

  test('the successor gives every modified item price and options of the last new one', async () => {
    const bench = await tauBench('retail', release);
    const text = bench.call('modify_pending_order_items', {
      order_id: '#W4',
      item_ids: ['9000000001', '1000000003'],
      new_item_ids: ['1000000002', '9000000001'],
      payment_method_id: 'credit_card_1',
    });
    const items = bench.state.orders['#W4'].items.map((item: { item_id: string; price: number; options: object }) => [
      item.item_id,
      item.price,
      item.options,
    ]);
    expect(items).toEqual([
      ['1000000002', ...(isFirst ? [30.3, { color: 'pink' }] : [10.1, { color: 'red' }])],
      ['9000000001', 10.1, { color: 'red' }],
    ]);
    // The difference is paid as it was added up, not rounded.
    expect(text).toContain('{"transaction_type": "payment", "amount": 18.900000000000002, "payment_method_id"');
    expect(bench.state.orders['#W4'].status).toBe('pending (item modified)');
  });

  test('one of two equal items is modified; what is cheaper is refunded to the gift card', async () => {
    const bench = await tauBench('retail', release);
    const modify = (new_item_ids: string[]) =>
      bench.call('modify_pending_order_items', {
        order_id: '#W1',
        item_ids: ['9000000001'],
        new_item_ids,
        payment_method_id: 'gift_card_1',
      });
    expect(modify(['1000000002'])).toBe(words('insufficient gift card balance to pay for the new item'));
    modify(['1000000003']);
    expect(bench.state.users.bo_ray_1.payment_methods.gift_card_1.balance).toBe(18.1);
    expect(bench.state.orders['#W1'].items.map((item: { item_id: string }) => item.item_id)).toEqual([
      '1000000003',
      '9000000001',
    ]);
    expect(modify(['1000000002'])).toBe(words('non-pending order cannot be modified'));
  });

  test('an item may stay what it is only in the first release', async () => {
    const bench = await tauBench('retail', release);
    const text = bench.call('modify_pending_order_items', {
      order_id: '#W1',
      item_ids: ['9000000001'],
      new_item_ids: ['9000000001'],
      payment_method_id: 'paypal_1',
    });
    if (isFirst)
      expect(bench.state.orders['#W1'].payment_history[1]).toMatchObject({ transaction_type: 'refund', amount: 0 });
    else expect(text).toBe('Error: The new item id should be different from the old item id');
  });

  test('address and payment can be changed after items were modified only in the successor', async () => {
    const bench = await tauBench('retail', release);
    bench.call('modify_pending_order_items', {
      order_id: '#W4',
      item_ids: ['9000000001'],
      new_item_ids: ['1000000003'],
      payment_method_id: 'paypal_1',
    });
    const address = { address1: '2 Oak', address2: '', city: 'Oz', state: 'KS', country: 'USA', zip: '1' };
    const text = bench.call('modify_pending_order_address', { order_id: '#W4', ...address });
    if (isFirst) expect(text).toBe('Error: non-pending order cannot be modified');
    else
      expect(text).toContain(
        '"address": {"address1": "2 Oak", "address2": "", "city": "Oz", "country": "USA", "state"',
      );
    const paid = bench.call('modify_pending_order_payment', { order_id: '#W4', payment_method_id: 'paypal_1' });
    expect(paid).toBe(
      isFirst
        ? 'Error: non-pending order cannot be modified'
        : 'Error: There should be exactly one payment for a pending order',
    );
  });

  test('changing the payment pays anew and refunds the old', async () => {
    const bench = await tauBench('retail', release);
    const pay = (order_id: string, payment_method_id: string) =>
      bench.call('modify_pending_order_payment', { order_id, payment_method_id });
    expect(pay('#W4', 'credit_card_1')).toBe(words('the new payment method should be different from the current one'));
    expect(pay('#W4', 'gift_card_1')).toBe(words('insufficient gift card balance to pay for the order'));
    pay('#W1', 'paypal_1');
    expect(bench.state.users.bo_ray_1.payment_methods.gift_card_1.balance).toBe(40.2);
    expect(
      bench.state.orders['#W1'].payment_history.map(
        (payment: { transaction_type: string }) => payment.transaction_type,
      ),
    ).toEqual(['payment', 'payment', 'refund']);
    expect(pay('#W1', 'credit_card_1')).toBe(words('there should be exactly one payment for a pending order'));
  });

  test('returns go to the original payment or a gift card', async () => {
    const bench = await tauBench('retail', release);
    const give = (item_ids: string[], payment_method_id: string) =>
      bench.call('return_delivered_order_items', { order_id: '#W2', item_ids, payment_method_id });
    expect(give(['9000000001'], 'credit_card_1')).toBe(
      isFirst
        ? 'Error: payment method should be either the original payment method or a gift card'
        : 'Error: Payment method should be the original payment method',
    );
    expect(give(['1000000002'], 'paypal_1')).toBe(words('some item not found'));
    give(['9000000001', '1000000003'], 'gift_card_1');
    expect(bench.state.orders['#W2']).toMatchObject({
      status: 'return requested',
      return_items: ['1000000003', '9000000001'],
      return_payment_method_id: 'gift_card_1',
    });
    expect(give(['9000000001'], 'gift_card_1')).toBe(words('non-delivered order cannot be returned'));
  });

  test('a product lists its variants in the order of the file', async () => {
    const bench = await tauBench('retail', release);
    const text = bench.call('get_product_details', { product_id: '8000000001' });
    expect([...text.matchAll(/"(\d+)": \{/g)].map(([, id]) => id)).toEqual([
      '9000000001',
      '1000000003',
      '1000000001',
      '1000000002',
    ]);
    expect(text).toContain('"options": {"color": "blue"}, "available": true, "price": 12.0}');
  });

  test('users are found by email or by name and zip, whatever the case', async () => {
    const bench = await tauBench('retail', release);
    expect(bench.call('find_user_id_by_email', { email: 'bo.ray@EXAMPLE.com' })).toBe('bo_ray_1');
    expect(bench.call('find_user_id_by_name_zip', { first_name: 'bo', last_name: 'RAY', zip: '12345' })).toBe(
      'bo_ray_1',
    );
    expect(bench.call('find_user_id_by_name_zip', { first_name: 'bo', last_name: 'RAY', zip: '1' })).toBe(
      words('user not found'),
    );
    expect(bench.call('list_all_product_types', {})).toBe('{"Cup": "8000000001"}');
  });
});

test('the successor writes null for what an order has not', async () => {
  const bench = await tauBench('retail', 'tau2');
  expect(bench.call('get_order_details', { order_id: '#W3' })).toMatch(
    /"payment_history": \[\{"transaction_type": "payment", "amount": 12.0, "payment_method_id": "paypal_1"\}\], "cancel_reason": null, "exchange_items": null, .*"return_payment_method_id": null\}$/,
  );
  expect(bench.call('get_item_details', { item_id: '1000000001' })).toBe(
    '{"item_id": "1000000001", "options": {"color": "gray"}, "available": false, "price": 9.99}',
  );
  expect(bench.call('get_item_details', { item_id: '7' })).toBe('Error: Item not found');
});
