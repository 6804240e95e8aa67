// The bulk path of rng.ts: Philox4x32-10 four blocks at a time and normal quantiles by PPND7, in WebAssembly SIMD.
// The module is assembled here from its instructions, so that its source is this file and not a blob.
// It answers exactly the bits of the scalar code in rng.ts, which stays the definition; a test compares them.

/** Words one call can make; a multiple of 16. */
export const KERNEL_WORDS = 4096;

export interface RngKernel {
  /** Where `fillWords` writes: [KERNEL_WORDS]. */
  readonly words: Uint32Array;
  /** Where `quantiles` writes: [KERNEL_WORDS]. */
  readonly doubles: Float64Array;
  /** The same, rounded. */
  readonly singles: Float32Array;
  /** Philox words of blocks (low, high) .. (low + 4 * groups - 1, high) under a key; the low counter must not overflow. */
  fillWords(key0: number, key1: number, low: number, high: number, groups: number): void;
  /** Normal quantiles of the first 2 * pairs words. */
  quantiles(pairs: number): void;
}

// Node's own types leave WebAssembly to the DOM's.
declare namespace WebAssembly {
  function validate(bytes: Uint8Array): boolean;
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module);
    readonly exports: Record<string, unknown>;
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
}

/** The kernel, or undefined on a machine whose WebAssembly has no SIMD. */
export function makeRngKernel(): RngKernel | undefined {
  const bytes = assemble();
  if (!WebAssembly.validate(bytes)) return undefined;
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes));
  const memory = exports['memory'] as WebAssembly.Memory;
  return {
    words: new Uint32Array(memory.buffer, 0, KERNEL_WORDS),
    doubles: new Float64Array(memory.buffer, DOUBLES_OFFSET, KERNEL_WORDS),
    singles: new Float32Array(memory.buffer, SINGLES_OFFSET, KERNEL_WORDS),
    fillWords: exports['fillWords'] as RngKernel['fillWords'],
    quantiles: exports['quantiles'] as RngKernel['quantiles'],
  };
}

type Code = readonly number[];

const SINGLES_OFFSET = KERNEL_WORDS * 4;
const DOUBLES_OFFSET = KERNEL_WORDS * 8;
const I32 = 0x7f;
const V128 = 0x7b;

const get = (local: number): Code => [0x20, ...uleb(local)];
const set = (local: number): Code => [0x21, ...uleb(local)];
const tee = (local: number): Code => [0x22, ...uleb(local)];
const i32 = (value: number): Code => [0x41, ...sleb(value)];
const i32Add: Code = [0x6a];
const i32Sub: Code = [0x6b];
const simd = (op: number): Code => [0xfd, ...uleb(op)];
const store = (offset: number): Code => [...simd(11), 4, ...uleb(offset)];
const loadPair: Code = [...simd(93), 3, 0];
const splatI32 = simd(17);
const xor = simd(81);
const or = simd(80);
const addI32x4 = simd(174);
const mulLowLanes = simd(222);
const mulHighLanes = simd(223);
const greater = simd(0x4a);
const abs = simd(236);
const [add, sub, mul, div] = [simd(240), simd(241), simd(242), simd(243)];
const [negate, squareRoot] = [simd(237), simd(239)];
const wordsToDoubles = simd(255);
const integersToDoubles = simd(254);
const toSingles = simd(94);
const storeLowHalf = (offset: number): Code => [...simd(91), 3, ...uleb(offset), 0];
const and = simd(78);
const pick = simd(82);
const anyTrue = simd(83);
const [addI64, subI64, shiftRight, lessI64, atLeastI64] = [simd(206), simd(209), simd(205), simd(216), simd(219)];

/** Picks four 32-bit lanes out of the eight of two vectors. */
const shuffle = (...lanes: number[]): Code => [
  ...simd(13),
  ...lanes.flatMap((lane) => [0, 1, 2, 3].map((b) => lane * 4 + b)),
];
const lanes = (...values: number[]): Code => [...simd(12), ...new Uint8Array(Uint32Array.from(values).buffer)];
const doubles = (value: number): Code => [...simd(12), ...new Uint8Array(Float64Array.of(value, value).buffer)];
const highWords = (value: number): Code => lanes(0, value, 0, value);
const splatted = (word: number): Code => lanes(word, word, word, word);

/** Runs `body` while the counter in `local` is not zero after subtracting one. */
function countdown(local: number, body: Code): Code {
  return [0x03, 0x40, ...body, ...get(local), ...i32(1), ...i32Sub, ...tee(local), 0x0d, 0, 0x0b];
}

/** Locals: 0 key0, 1 key1, 2 low, 3 high, 4 groups, 5 address, 6 counter lanes, 7..10 c0..c3, 11 k0, 12 k1, 13..16 products. */
function fillWordsCode(): Code {
  const round: Code = [
    ...[...splatted(0xd2511f53), ...get(7), ...mulLowLanes, ...set(13)],
    ...[...splatted(0xd2511f53), ...get(7), ...mulHighLanes, ...set(14)],
    ...[...splatted(0xcd9e8d57), ...get(9), ...mulLowLanes, ...set(15)],
    ...[...splatted(0xcd9e8d57), ...get(9), ...mulHighLanes, ...set(16)],
    ...[...get(15), ...get(16), ...shuffle(1, 3, 5, 7), ...get(8), ...xor, ...get(11), ...xor, ...set(7)],
    ...[...get(15), ...get(16), ...shuffle(0, 2, 4, 6), ...set(8)],
    ...[...get(13), ...get(14), ...shuffle(1, 3, 5, 7), ...get(10), ...xor, ...get(12), ...xor, ...set(9)],
    ...[...get(13), ...get(14), ...shuffle(0, 2, 4, 6), ...set(10)],
    ...[...get(11), ...splatted(0x9e3779b9), ...addI32x4, ...set(11)],
    ...[...get(12), ...splatted(0xbb67ae85), ...addI32x4, ...set(12)],
  ];
  const start: Code = [
    ...[...get(6), ...set(7), ...get(3), ...splatI32, ...set(8)],
    ...[...splatted(0), ...set(9), ...splatted(0), ...set(10)],
    ...[...get(0), ...splatI32, ...set(11), ...get(1), ...splatI32, ...set(12)],
  ];
  const transposeAndStore: Code = [
    ...[
      ...get(7),
      ...get(8),
      ...shuffle(0, 4, 1, 5),
      ...set(13),
      ...get(7),
      ...get(8),
      ...shuffle(2, 6, 3, 7),
      ...set(14),
    ],
    ...[
      ...get(9),
      ...get(10),
      ...shuffle(0, 4, 1, 5),
      ...set(15),
      ...get(9),
      ...get(10),
      ...shuffle(2, 6, 3, 7),
      ...set(16),
    ],
    ...[...get(5), ...get(13), ...get(15), ...shuffle(0, 1, 4, 5), ...store(0)],
    ...[...get(5), ...get(13), ...get(15), ...shuffle(2, 3, 6, 7), ...store(16)],
    ...[...get(5), ...get(14), ...get(16), ...shuffle(0, 1, 4, 5), ...store(32)],
    ...[...get(5), ...get(14), ...get(16), ...shuffle(2, 3, 6, 7), ...store(48)],
  ];
  const advance: Code = [
    ...get(5),
    ...i32(64),
    ...i32Add,
    ...set(5),
    ...get(6),
    ...splatted(4),
    ...addI32x4,
    ...set(6),
  ];
  const tenRounds = Array.from({ length: 10 }, () => round).flat();
  return [
    ...[...get(2), ...splatI32, ...lanes(0, 1, 2, 3), ...addI32x4, ...set(6)],
    ...countdown(4, [...start, ...tenRounds, ...transposeAndStore, ...advance]),
  ];
}

/** `first` r^n + ... + the last coefficient, r in `local`. */
const polynomial = (local: number, first: number, ...rest: number[]): Code => [
  ...doubles(first),
  ...rest.flatMap((coefficient) => [...get(local), ...mul, ...doubles(coefficient), ...add]),
];

/**
 * Locals: 0 pairs, 1 word address, 2 value address, 3 q, 4 r, 5 quantile, 6 where q is in a tail, 7.. of the logarithm.
 * Coefficients: Wichura 1988, AS 241, PPND7; no word lies so far out that its second tail would be needed.
 */
function quantilesCode(): Code {
  const central: Code = [
    ...[...doubles(0.180625), ...get(3), ...get(3), ...mul, ...sub, ...set(4)],
    ...[...get(3), ...polynomial(4, 59.10937472, 159.29113202, 50.434271938, 3.3871327179), ...mul],
    ...[...polynomial(4, 67.1875636, 78.757757664, 17.895169469, 1), ...div, ...set(5)],
  ];
  const tail: Code = [
    ...[...doubles(0.5), ...get(3), ...abs, ...sub, ...set(7), ...logarithmCode()],
    ...[...negate, ...squareRoot, ...doubles(1.6), ...sub, ...set(4)],
    ...polynomial(4, 0.17023821103, 1.3067284816, 2.75681539, 1.4234372777),
    ...[...polynomial(4, 0.12021132975, 0.7370016425, 1), ...div],
    ...[...get(3), ...highWords(0x80000000), ...and, ...or],
    ...[...get(5), ...get(6), ...pick, ...set(5)],
  ];
  return countdown(0, [
    ...[...get(1), ...loadPair, ...wordsToDoubles, ...doubles(0.5), ...add, ...doubles(2 ** -32), ...mul],
    ...[...doubles(0.5), ...sub, ...set(3)],
    ...central,
    ...[...get(3), ...abs, ...doubles(0.425), ...greater, ...set(6)],
    ...[...get(6), ...anyTrue, 0x04, 0x40, ...tail, 0x0b],
    ...[...get(2), ...get(5), ...store(DOUBLES_OFFSET)],
    ...[...get(1), ...get(5), ...toSingles, ...storeLowHalf(SINGLES_OFFSET)],
    ...[...get(1), ...i32(8), ...i32Add, ...set(1), ...get(2), ...i32(16), ...i32Add, ...set(2)],
  ]);
}

/**
 * naturalLog (rng-log.ts) of local 7, its three cases computed side by side. Further locals: 8 mantissa, 9 carry, 10 k,
 * 11 f, 12 s, 13 z, 14 w, 15 R, 16 f^2 / 2, 17 k * LN2_LOW.
 */
function logarithmCode(): Code {
  const [l1, l2, l3, l4, l5, l6, l7] = LOG_COEFFICIENTS;
  const mantissaIsBelow = (high: number): Code => [...get(8), ...highWords(high), ...lessI64];
  const mantissaIsFrom = (high: number): Code => [...get(8), ...highWords(high), ...atLeastI64];
  const usual: Code = [...get(12), ...get(11), ...get(15), ...sub, ...mul, ...get(17), ...sub];
  const large: Code = [...get(16), ...get(12), ...get(16), ...get(15), ...add, ...mul, ...get(17), ...add, ...sub];
  const nearOne: Code = [
    ...[...get(11), ...get(11), ...mul, ...doubles(0.5), ...doubles(0.3333333333333333), ...get(11), ...mul],
    ...[...sub, ...mul, ...get(17), ...sub],
  ];
  return [
    ...[...get(7), ...lanes(0xffffffff, 0xfffff, 0xffffffff, 0xfffff), ...and, ...set(8)],
    ...[...get(8), ...highWords(0x95f64), ...addI64, ...highWords(0x100000), ...and, ...set(9)],
    ...[...get(7), ...i32(52), ...shiftRight, ...get(9), ...i32(52), ...shiftRight, ...addI64],
    ...[...lanes(1023, 0, 1023, 0), ...subI64, ...set(10)],
    ...[...get(10), ...get(10), ...shuffle(0, 2, 0, 2), ...integersToDoubles, ...set(10)],
    ...[...get(8), ...get(9), ...highWords(0x3ff00000), ...xor, ...or, ...doubles(1), ...sub, ...set(11)],
    ...[...get(11), ...doubles(2), ...get(11), ...add, ...div, ...set(12)],
    ...[...get(12), ...get(12), ...mul, ...set(13), ...get(13), ...get(13), ...mul, ...set(14)],
    ...[...get(13), ...polynomial(14, l7, l5, l3, l1), ...mul],
    ...[...get(14), ...polynomial(14, l6, l4, l2), ...mul, ...add, ...set(15)],
    ...[...doubles(0.5), ...get(11), ...mul, ...get(11), ...mul, ...set(16)],
    ...[...get(10), ...doubles(LN2_LOW), ...mul, ...set(17)],
    ...[...get(10), ...doubles(LN2_HIGH), ...mul],
    ...[...nearOne, ...large, ...usual],
    ...[...mantissaIsFrom(0x6147a), ...mantissaIsBelow(0x6b852), ...and, ...pick],
    ...[...mantissaIsBelow(1), ...mantissaIsFrom(0xffffe), ...or, ...pick],
    ...[...get(11), ...sub, ...sub],
  ];
}

function assemble(): Uint8Array<ArrayBuffer> {
  const pages = Math.ceil((DOUBLES_OFFSET + KERNEL_WORDS * 8) / 65536);
  const body = (locals: Code[], code: Code): Code => sized([...vector(locals), ...code, 0x0b]);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [
      [0x60, 5, I32, I32, I32, I32, I32, 0],
      [0x60, 1, I32, 0],
    ]),
    ...section(3, [[0], [1]]),
    ...section(5, [[0, pages]]),
    ...section(7, [
      [...text('memory'), 2, 0],
      [...text('fillWords'), 0, 0],
      [...text('quantiles'), 0, 1],
    ]),
    ...section(10, [
      body(
        [
          [1, I32],
          [11, V128],
        ],
        fillWordsCode(),
      ),
      body(
        [
          [2, I32],
          [15, V128],
        ],
        quantilesCode(),
      ),
    ]),
  ]);
}

const sized = (code: Code): Code => [...uleb(code.length), ...code];
const vector = (items: Code[]): Code => [...uleb(items.length), ...items.flat()];
const section = (id: number, items: Code[]): Code => [id, ...sized(vector(items))];
const text = (name: string): Code => sized([...name].map((letter) => letter.charCodeAt(0)));

function uleb(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...uleb(value >>> 7)];
}

function sleb(value: number): number[] {
  const fits = value >= -64 && value < 64;
  return fits ? [value & 127] : [(value & 127) | 128, ...sleb(value >> 7)];
}

// Natural logarithm of the random generator, fixed to the bit on every machine: `Math.log` may round differently elsewhere.
// fdlibm's e_log.c (Sun Microsystems, 1993), for positive normal numbers. The kernel has the same in SIMD.

/** ln 2 in two parts, the first with trailing zeros so that k * LN2_HIGH is exact. */
const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;
/** Of R(z) in log(1 + f) = 2s + s R(s^2), s = f / (2 + f), lowest power first. */
const LOG_COEFFICIENTS: readonly number[] = [
  0.6666666666666735, 0.3999999999940942, 0.2857142874366239, 0.22222198432149784, 0.1818357216161805,
  0.15313837699209373, 0.14798198605116586,
];
const [L1, L2, L3, L4, L5, L6, L7] = LOG_COEFFICIENTS;

const double = new Float64Array(1);
const halves = new Int32Array(double.buffer);

/** log(x) for a positive, finite, normal x. */
export function naturalLog(x: number): number {
  double[0] = x;
  const mantissa = halves[1] & 0xfffff;
  const carry = (mantissa + 0x95f64) & 0x100000;
  const k = (halves[1] >> 20) - 1023 + (carry >> 20);
  halves[1] = mantissa | (carry ^ 0x3ff00000);
  const f = double[0] - 1;
  if (((2 + mantissa) & 0xfffff) < 3) {
    const r = f * f * (0.5 - 0.3333333333333333 * f);
    return k * LN2_HIGH - (r - k * LN2_LOW - f);
  }
  const s = f / (2 + f);
  const z = s * s;
  const w = z * z;
  const r = z * (L1 + w * (L3 + w * (L5 + w * L7))) + w * (L2 + w * (L4 + w * L6));
  if (mantissa < 0x6147a || mantissa > 0x6b851) return k * LN2_HIGH - (s * (f - r) - k * LN2_LOW - f);
  const half = 0.5 * f * f;
  return k * LN2_HIGH - (half - (s * (half + r) + k * LN2_LOW) - f);
}
