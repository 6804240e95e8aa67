// A network policy frozen for other threads.

import type { PolicySnapshot } from '../env/index.js';
import { compiledUrl } from '../worker-url.js';
import { weightsVersion } from './network-policy.js';
import type { PolicyNet } from './policy-net.js';

export interface NetworkPayload {
  readonly kind: 'network';
  readonly net: PolicyNet;
  readonly theta: Float32Array;
}

/** Copies `theta`; structured-clonable. */
export function networkSnapshot(net: PolicyNet, theta: Float32Array): PolicySnapshot {
  const payload: NetworkPayload = { kind: 'network', net, theta: theta.slice() };
  return {
    version: weightsVersion(net, theta),
    loader: compiledUrl(import.meta.url, './load-policy.js'),
    payload,
  };
}
