import { describe, expect, it } from 'vitest';
import { listenAddress, urlOf } from '../../../src/serve/http/port.js';

describe('an address to listen on', () => {
  // The last three are other ways to write 127.0.0.1 and 0.0.0.0 that resolvers take.
  it.each([
    ['127.0.0.1', true],
    ['localhost', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['::ffff:192.168.1.7', false],
    ['::ffff:0.0.0.0', false],
    ['2130706433', true],
    ['0x7f.1', true],
  ])('%s is known for what it reaches', async (host, isLoopback) => {
    expect((await listenAddress(host, 80)).isLoopback).toBe(isLoopback);
  });

  it('must be one', async () => {
    await expect(listenAddress('nowhere.invalid', 80)).rejects.toMatchObject({ code: 'ADDRESS_UNUSABLE' });
  });

  it('has a URL that this machine can open', () => {
    expect([urlOf('0.0.0.0', 1), urlOf('::', 1), urlOf('::1', 1), urlOf('10.0.0.7', 1)]).toEqual([
      'http://127.0.0.1:1',
      'http://[::1]:1',
      'http://[::1]:1',
      'http://10.0.0.7:1',
    ]);
  });
});
