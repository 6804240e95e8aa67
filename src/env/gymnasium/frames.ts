// What goes between this process and a Python process of environments: the binary frames that clients/gymnasium/environments.py
// describes. Nothing else of this folder knows their bytes.

import type { Answer, Failed, Moved, Request } from '../replayed/place.js';

/** How an observation is on the wire: images are bytes there. */
export interface ObservationForm {
  readonly size: number;
  readonly dtype: 'uint8' | 'float32';
}

const VERBS = { reset: 1, step: 2, replay: 3, close: 4 } as const;
const REQUEST_BYTES = 9;
const ANSWER_BYTES = 18;
const FAILURE_BYTES = 5;
const MOVED = 0;
const CLOSED = 2;
const TERMINATED = 1;
const TRUNCATED = 2;

/** A batch of requests, its length before it. */
export function frameOf(requests: readonly { readonly slot: number; readonly request: Request }[]): Buffer {
  const parts = requests.flatMap(({ slot, request }) => {
    const body = bodyOf(request);
    const head = Buffer.alloc(REQUEST_BYTES);
    head.writeUInt32LE(slot, 0);
    head.writeUInt8(VERBS[request.verb], 4);
    head.writeUInt32LE(body.length, 5);
    return [head, body];
  });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(parts.reduce((bytes, part) => bytes + part.length, 0));
  return Buffer.concat([length, ...parts]);
}

/** The answers of a frame, in the order of its requests. */
export function answersIn(frame: Buffer, form: ObservationForm): Answer[] {
  const answers: Answer[] = [];
  let at = 0;
  while (at < frame.length) {
    const [answer, bytes] = answerAt(frame, at, form);
    answers.push(answer);
    at += bytes;
  }
  return answers;
}

function bodyOf(request: Request): Buffer {
  switch (request.verb) {
    case 'reset':
      return double(request.seed);
    case 'step':
      return bytesOf(request.action);
    case 'replay': {
      const { seed, actions, reseeds } = request.lived;
      const again = reseeds.flatMap((reseed) => [uint32(reseed.steps), double(reseed.seed)]);
      return Buffer.concat([double(seed), uint32(reseeds.length), ...again, ...actions.map(bytesOf)]);
    }
    case 'close':
      return Buffer.alloc(0);
  }
}

function answerAt(frame: Buffer, at: number, form: ObservationForm): [Answer, number] {
  if (frame[at] === CLOSED) return [undefined, FAILURE_BYTES];
  return frame[at] === MOVED ? movedAt(frame, at, form) : failedAt(frame, at);
}

function movedAt(frame: Buffer, at: number, { size, dtype }: ObservationForm): [Moved, number] {
  const flags = frame.readUInt8(at + 1);
  const infoBytes = frame.readUInt32LE(at + 14);
  const seen = at + ANSWER_BYTES;
  const told = seen + size * (dtype === 'uint8' ? 1 : 4);
  const moved = {
    observation: dtype === 'uint8' ? new Float32Array(frame.subarray(seen, told)) : floats(frame, seen, told),
    reward: frame.readDoubleLE(at + 2),
    terminated: (flags & TERMINATED) !== 0,
    truncated: (flags & TRUNCATED) !== 0,
    steps: frame.readUInt32LE(at + 10),
    info: infoBytes === 0 ? {} : JSON.parse(frame.toString('utf8', told, told + infoBytes)),
  };
  return [moved, told + infoBytes - at];
}

function failedAt(frame: Buffer, at: number): [Failed, number] {
  const bytes = frame.readUInt32LE(at + 1);
  const text = frame.toString('utf8', at + FAILURE_BYTES, at + FAILURE_BYTES + bytes);
  return [{ failed: JSON.parse(text) }, FAILURE_BYTES + bytes];
}

/** A copy, as a view of float32 must lie on a multiple of four bytes. */
function floats(frame: Buffer, from: number, to: number): Float32Array {
  const copy = new Uint8Array(to - from);
  copy.set(frame.subarray(from, to));
  return new Float32Array(copy.buffer);
}

function bytesOf(row: Float32Array): Buffer {
  return Buffer.from(row.buffer, row.byteOffset, row.byteLength);
}

function double(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
