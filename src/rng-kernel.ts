// The bulk path of rng.ts: Philox4x32-10 four blocks at a time and the central branch of PPND7, in WebAssembly SIMD.
// The module is assembled here from its instructions, so that its source is this file and not a blob.
// It answers exactly the bits of the scalar code in rng.ts, which stays the definition; a test compares them.

/** Words one call can make; a multiple of 16. */
export const KERNEL_WORDS = 4096;

export interface RngKernel {
  /** Where `fillWords` writes: [KERNEL_WORDS]. */
  readonly words: Uint32Array;
  /** Where `quantiles` writes: [KERNEL_WORDS]. */
  readonly normals: Float64Array;
  /** Philox words of blocks (low, high) .. (low + 4 * groups - 1, high) under a key; the low counter must not overflow. */
  fillWords(key0: number, key1: number, low: number, high: number, groups: number): void;
  /** Normal quantiles of the first 2 * pairs words; NaN where |p - 0.5| > 0.425, which the caller computes. */
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
    normals: new Float64Array(memory.buffer, NORMALS_OFFSET, KERNEL_WORDS),
    fillWords: exports['fillWords'] as RngKernel['fillWords'],
    quantiles: exports['quantiles'] as RngKernel['quantiles'],
  };
}

type Code = readonly number[];

const NORMALS_OFFSET = KERNEL_WORDS * 4;
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
const wordsToDoubles = simd(255);

/** Picks four 32-bit lanes out of the eight of two vectors. */
const shuffle = (...lanes: number[]): Code => [
  ...simd(13),
  ...lanes.flatMap((lane) => [0, 1, 2, 3].map((b) => lane * 4 + b)),
];
const lanes = (...values: number[]): Code => [...simd(12), ...new Uint8Array(Uint32Array.from(values).buffer)];
const doubles = (value: number): Code => [...simd(12), ...new Uint8Array(Float64Array.of(value, value).buffer)];
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

/** Locals: 0 pairs, 1 word address, 2 value address, 3 q, 4 r. Coefficients: Wichura 1988, AS 241, PPND7. */
function quantilesCode(): Code {
  const polynomial = (first: number, ...rest: number[]): Code => [
    ...doubles(first),
    ...rest.flatMap((coefficient) => [...get(4), ...mul, ...doubles(coefficient), ...add]),
  ];
  return countdown(0, [
    ...[...get(1), ...loadPair, ...wordsToDoubles, ...doubles(0.5), ...add, ...doubles(2 ** -32), ...mul],
    ...[...doubles(0.5), ...sub, ...set(3)],
    ...[...doubles(0.180625), ...get(3), ...get(3), ...mul, ...sub, ...set(4)],
    ...get(2),
    ...[...get(3), ...polynomial(59.10937472, 159.29113202, 50.434271938, 3.3871327179), ...mul],
    ...[...polynomial(67.1875636, 78.757757664, 17.895169469, 1), ...div],
    ...[...get(3), ...abs, ...doubles(0.425), ...greater, ...or],
    ...store(NORMALS_OFFSET),
    ...[...get(1), ...i32(8), ...i32Add, ...set(1), ...get(2), ...i32(16), ...i32Add, ...set(2)],
  ]);
}

function assemble(): Uint8Array<ArrayBuffer> {
  const pages = Math.ceil((NORMALS_OFFSET + KERNEL_WORDS * 8) / 65536);
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
          [2, V128],
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
