// What queues are made of, apart from their engines: names, addresses, parcels.

import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openQueue, parseQueueUrl } from '../../../src/synth/queue/open-queue.js';
import { openParcel, packParcel, rolloutId } from '../../../src/synth/queue/rollout-queue.js';
import { freePort } from './brokers.js';

describe('the id of a rollout', () => {
  const identity = { job: 'a'.repeat(64), task: 'refund', seed: 1, row: 2, attempt: 0 };

  it('is the same for the same try of the same row, and no other', () => {
    expect(rolloutId(identity)).toMatch(/^[0-9a-f]{64}$/);
    expect(rolloutId({ ...identity })).toBe(rolloutId(identity));
    const others = [
      { job: 'b'.repeat(64) },
      { task: 'refunds' },
      { seed: 12, row: 2 },
      { seed: 1, row: 22 },
      { attempt: 1 },
    ].map((change) => rolloutId({ ...identity, ...change }));
    expect(new Set([rolloutId(identity), ...others]).size).toBe(others.length + 1);
  });
});

describe('the URL of a queue', () => {
  it('says place and name', () => {
    expect(parseQueueUrl('redis://box:7000/desk', {})).toMatchObject({ name: 'desk', host: 'box', port: 7000 });
    expect(parseQueueUrl('redis://box', {})).toMatchObject({ port: 6379, name: 'reverie', tls: false });
    expect(parseQueueUrl('rediss://[::1]/x', {})).toMatchObject({ host: '::1', tls: true, name: 'x' });
  });

  it('takes user and password from the environment alone', () => {
    const env = { REVERIE_QUEUE_USER: 'me', REVERIE_QUEUE_PASSWORD: 'hush' };
    expect(parseQueueUrl('redis://box/x', env)).toMatchObject({ user: 'me', password: 'hush' });
    const refused = () => parseQueueUrl('redis://me:hush@box/x', {});
    expect(refused).toThrow(expect.objectContaining({ code: 'QUEUE_REFUSED' }));
    expect(refused).not.toThrow(/hush/);
  });

  it.each([
    'http://box/x',
    'box:6379',
    'redis:///x',
    'redis://box/a/b',
    'redis://box/a.b',
    'nats://box/x',
    'in-process:',
    'redis://box/x?db=2',
  ])('is refused where it is none: %s', (url) => {
    expect(() => parseQueueUrl(url, {})).toThrow(expect.objectContaining({ code: 'QUEUE_REFUSED' }));
  });

  it('is refused where nobody answers', async () => {
    const url = `redis://127.0.0.1:${await freePort()}/x`;
    await expect(openQueue(url, { leaseMs: 1000 })).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
  });
});

describe('a parcel', () => {
  const schema = z.object({ a: z.number(), b: z.string() });

  it('brings what was packed, keys in their order, the same bytes each time', async () => {
    const value = { z: [1, null, { y: 0.1, x: 'ü' }], b: 'text', a: 1 };
    const bytes = await packParcel(value);
    expect(JSON.stringify(await openParcel(bytes, schema, 'it'))).toBe(JSON.stringify(value));
    expect(Buffer.from(await packParcel(value)).equals(Buffer.from(bytes))).toBe(true);
  });

  it.each([
    ['no JSON', gzipSync('{"a":')],
    ['not compressed', Buffer.from('{"a":1,"b":"x"}')],
    ['of another shape', gzipSync('{"a":"1","b":"x"}')],
    ['larger than anything is', gzipSync(Buffer.alloc(300 << 20, 32))],
  ])('is refused if it is %s', async (_, bytes) => {
    await expect(openParcel(bytes, schema, 'it')).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
  });
});
