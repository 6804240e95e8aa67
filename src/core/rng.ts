// The only source of randomness: a counter-based, splittable generator (Philox4x32-10, Salmon et al., SC 2011).
// A draw is a pure function of (key, position), so any stream can be split, saved, skipped or reproduced on a GPU.

import { KERNEL_WORDS, makeRngKernel, naturalLog, type RngKernel } from './rng-kernel.js';

const M0 = 0xd2511f53;
const M1 = 0xcd9e8d57;
const W0 = 0x9e3779b9;
const W1 = 0xbb67ae85;

/** A generator's whole state; JSON-safe. `position` counts the 32-bit words drawn so far. */
export interface RngState {
  readonly key: readonly [number, number];
  readonly position: number;
}

export class Rng {
  private readonly key0: number;
  private readonly key1: number;
  private position: number;
  private readonly block = new Uint32Array(4);
  private blockIndex = -1;

  private constructor(key0: number, key1: number, position: number) {
    this.key0 = key0 >>> 0;
    this.key1 = key1 >>> 0;
    this.position = position;
  }

  /** The root stream of a seed: any safe integer. */
  static fromSeed(seed: number): Rng {
    return new Rng(seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, 0);
  }

  static fromState(state: RngState): Rng {
    return new Rng(state.key[0], state.key[1], state.position);
  }

  state(): RngState {
    return { key: [this.key0, this.key1], position: this.position };
  }

  /** An independent child stream named by a path such as `('worker', 3)`; does not advance this one. */
  split(...path: (string | number)[]): Rng {
    let key0 = this.key0;
    let key1 = this.key1;
    const out = new Uint32Array(4);
    for (const part of path) {
      const [h0, h1] = hashLabel(part);
      philox(key0, key1, h0, h1, 0x5eed, 0xffffffff, out);
      key0 = out[0];
      key1 = out[1];
    }
    return new Rng(key0, key1, 0);
  }

  /** Leaves out the next `words` draws: a uniform or normal takes one word each. */
  skip(words: number): void {
    this.position += words;
  }

  /** Uniform over all 32-bit unsigned integers. */
  uint32(): number {
    const index = Math.floor(this.position / 4);
    if (index !== this.blockIndex) {
      philox(this.key0, this.key1, index >>> 0, Math.floor(index / 2 ** 32) >>> 0, 0, 0, this.block);
      this.blockIndex = index;
    }
    return this.block[this.position++ & 3];
  }

  /** Uniform in the open interval (0, 1), 32 bits of resolution. */
  uniform(): number {
    return (this.uint32() + 0.5) / 4294967296;
  }

  /** Uniform integer in [0, n), n up to 2^32; unbiased to within n / 2^32 (multiply-shift). */
  int(n: number): number {
    return Math.floor((this.uint32() / 4294967296) * n);
  }

  /** Standard normal by inverse transform (one word per draw; see `normalQuantile`). */
  normal(): number {
    return normalQuantile(this.uniform());
  }

  fillUint32(out: Uint32Array): Uint32Array {
    let i = 0;
    while (i < out.length && (this.position & 3) !== 0) out[i++] = this.uint32();
    i = this.fillInBulk(out, i);
    const block = this.block;
    for (; i + 4 <= out.length; i += 4) {
      const index = this.position / 4;
      philox(this.key0, this.key1, index >>> 0, Math.floor(index / 2 ** 32) >>> 0, 0, 0, block);
      out[i] = block[0];
      out[i + 1] = block[1];
      out[i + 2] = block[2];
      out[i + 3] = block[3];
      this.position += 4;
    }
    this.blockIndex = -1;
    while (i < out.length) out[i++] = this.uint32();
    return out;
  }

  /** Whole groups of four blocks by the SIMD kernel, from `out[start]` on; answers where it stopped. */
  private fillInBulk(out: Uint32Array, start: number): number {
    let at = start;
    while (out.length - at >= BULK_WORDS) {
      const bulk = this.nextBulk(out.length - at);
      if (!bulk) break;
      out.set(bulk.kernel.words.subarray(0, bulk.words), at);
      at += bulk.words;
    }
    return at;
  }

  /** Draws up to `wanted` words into the kernel's memory: a multiple of 16, from a block boundary; undefined where it cannot. */
  private nextBulk(wanted: number): { kernel: RngKernel; words: number } | undefined {
    const kernel = bulkKernel();
    const words = Math.min(wanted & ~15, KERNEL_WORDS);
    const index = this.position / 4;
    const low = index % 2 ** 32;
    if (!kernel || words === 0 || (this.position & 3) !== 0 || low + words / 4 > 2 ** 32) return undefined;
    kernel.fillWords(this.key0, this.key1, low, Math.floor(index / 2 ** 32), words / 16);
    this.position += words;
    return { kernel, words };
  }

  /** Fills with uniforms in (low, high). */
  fillUniform<T extends Float32Array | Float64Array>(out: T, low = 0, high = 1): T {
    const words = this.fillUint32(scratchWords(out.length));
    const scale = (high - low) / 4294967296;
    for (let i = 0; i < out.length; i++) out[i] = low + (words[i] + 0.5) * scale;
    return out;
  }

  /** Fills with standard normals. */
  fillNormal<T extends Float32Array | Float64Array>(out: T): T {
    let i = 0;
    while (i < out.length && (this.position & 3) !== 0) out[i++] = this.normal();
    while (out.length - i >= BULK_WORDS) {
      const bulk = this.nextBulk(out.length - i);
      if (!bulk) break;
      bulk.kernel.quantiles(bulk.words / 2);
      const { singles, doubles } = bulk.kernel;
      out.set((out instanceof Float32Array ? singles : doubles).subarray(0, bulk.words), i);
      i += bulk.words;
    }
    while (i < out.length) out[i++] = this.normal();
    return out;
  }

  /** A random permutation of 0..n-1 (Fisher–Yates). */
  permutation(n: number): Uint32Array {
    const out = Uint32Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = this.int(i + 1);
      const swap = out[i];
      out[i] = out[j];
      out[j] = swap;
    }
    return out;
  }
}

/** Fewer words than this are not worth a call into the kernel. */
const BULK_WORDS = 32;

let kernel: RngKernel | undefined | null = null;
function bulkKernel(): RngKernel | undefined {
  if (kernel === null) kernel = makeRngKernel();
  return kernel;
}

let scratch = new Uint32Array(1024);
function scratchWords(length: number): Uint32Array {
  if (scratch.length < length) scratch = new Uint32Array(length);
  return scratch.subarray(0, length);
}

/**
 * Inverse of the standard normal distribution function to about seven decimal digits, for 0 < p < 1
 * (PPND7, Wichura 1988, Applied Statistics algorithm AS 241).
 */
export function normalQuantile(p: number): number {
  const q = p - 0.5;
  if (q <= 0.425 && q >= -0.425) {
    const r = 0.180625 - q * q;
    return (
      (q * (((59.10937472 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179)) /
      (((67.1875636 * r + 78.757757664) * r + 17.895169469) * r + 1)
    );
  }
  let r = Math.sqrt(-naturalLog(q < 0 ? p : 1 - p));
  let x: number;
  if (r <= 5) {
    r -= 1.6;
    x =
      (((0.17023821103 * r + 1.3067284816) * r + 2.75681539) * r + 1.4234372777) /
      ((0.12021132975 * r + 0.7370016425) * r + 1);
  } else {
    r -= 5;
    x =
      (((0.017337203997 * r + 0.42868294337) * r + 3.081226386) * r + 6.657905115) /
      ((0.012258202635 * r + 0.24197894225) * r + 1);
  }
  return q < 0 ? -x : x;
}

/** One block of Philox4x32-10: counter (c0, c1, c2, c3) under a key, to four words in `out`. */
export function philox(
  key0: number,
  key1: number,
  c0: number,
  c1: number,
  c2: number,
  c3: number,
  out: Uint32Array,
): void {
  let k0 = key0;
  let k1 = key1;
  for (let round = 0; round < 10; round++) {
    const low0 = Math.imul(M0, c0);
    const low1 = Math.imul(M1, c2);
    const high0 = mulHigh(M0, c0);
    const high1 = mulHigh(M1, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + W0) | 0;
    k1 = (k1 + W1) | 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** High 32 bits of the unsigned 32 × 32 product. */
function mulHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  // Every partial product fits 32 unsigned bits, so integer arithmetic is exact.
  const middle = (Math.imul(aHigh, bLow) + (Math.imul(aLow, bLow) >>> 16)) >>> 0;
  const cross = (Math.imul(aLow, bHigh) + (middle & 0xffff)) >>> 0;
  return (Math.imul(aHigh, bHigh) + (middle >>> 16) + (cross >>> 16)) | 0;
}

/** Two 32-bit words from a label: FNV-1a and a murmur finaliser of it. Numbers and strings never collide by type. */
function hashLabel(label: string | number): [number, number] {
  const text = typeof label === 'number' ? `#${label}` : `$${label}`;
  let h = 0x811c9dc5;
  let g = 0x9747b28c;
  for (let i = 0; i < text.length; i++) {
    h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
    g = Math.imul(g ^ text.charCodeAt(i), 0x5bd1e995);
    g ^= g >>> 15;
  }
  return [h >>> 0, g >>> 0];
}
