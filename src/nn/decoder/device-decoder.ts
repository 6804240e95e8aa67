// A decoder on a device: keys and values stay there, and tokens are drawn there, many at a launch. Requests with a constraint are
// held to it here, a token at a time. Tokens are those of `Decoder`, up to rounding: each is drawn by the same word of its request's
// stream.

import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { writeStream } from '../brief-step.js';
import { type DeviceTarget, deviceError, KERNELS_FILE, loadAddon, requireDevice } from '../cuda.js';
import type { Addon, AddonDecoder, DecoderWeights, DeviceFit, GpuDescription } from '../cuda-addon.js';
import type { DecoderConfig } from './config.js';
import type { Decoder } from './decoder.js';
import {
  beginRow,
  extendRow,
  type Generated,
  type GenerateOptions,
  type GenerateRequest,
  generatedOf,
  type Row,
  requireTokens,
  type TokenGenerator,
} from './generation.js';
import { huggingFaceTensors } from './parameters.js';

/** Tokens a launch: what it takes for its start to be nothing, and few enough that a signal is soon heard. */
const STEPS = 32;
/** Sequences that have a place on the device, unless said; fewer where its memory does not hold so many. */
const SEQUENCES = 64;
/** Below this (and above 0) weights of tokens are not drawn from on a device. */
const COLDEST = 1e-4;

const BACKEND = 'decoder';

/** Decoders are computed in bfloat16 where that is asked for, else in float32: never more coarsely than asked. */
export function decoderPrecision({ precision }: Pick<DeviceTarget, 'precision'>): 'fp32' | 'bf16' {
  return precision === 'bf16' ? 'bf16' : 'fp32';
}

/** Whether and how a device runs a decoder of these sizes. Throws CUDA_UNAVAILABLE. */
export async function decoderFit(target: DeviceTarget, config: DecoderConfig): Promise<DeviceFit> {
  const precision = decoderPrecision(target);
  if (target.kind === 'native') return { precision, problem: 'there is no vector code for decoders' };
  const where = { kind: target.kind, ordinal: target.ordinal ?? 0 };
  const options = { precision, context: config.contextLength + 1, sequences: 1 };
  const problem = await loadAddon().decoderFit(where, config, options).catch(deviceError(target.kind, BACKEND));
  const reason = 'decoders are computed in fp32 or bf16';
  return { precision, reason, ...(problem !== '' && { problem }) };
}

export class DeviceDecoder implements TokenGenerator {
  private last: Promise<unknown> = Promise.resolve();
  private isClosed = false;

  private constructor(
    readonly config: DecoderConfig,
    private readonly resident: AddonDecoder,
  ) {}

  /**
   * Uploads the weights.
   * @param most sequences that are to have a place at once; more are generated one after another
   * @throws CUDA_UNAVAILABLE, CUDA_OUT_OF_MEMORY where not one sequence fits, CUDA_FAILED, DEVICE_UNSUPPORTED
   */
  static async open(
    target: DeviceTarget,
    { config, theta }: Pick<Decoder, 'config' | 'theta'>,
    most = SEQUENCES,
  ): Promise<DeviceDecoder> {
    await requireDevice(target);
    const { kind, ordinal = 0 } = target;
    const { problem } = await decoderFit(target, config);
    if (problem !== undefined || kind === 'native')
      throw reverieError('DEVICE_UNSUPPORTED', { backend: BACKEND, device: kind, problem });
    const where = { kind, ordinal, fatbin: KERNELS_FILE };
    // The last token of an answer needs no place of its own among keys and values.
    const options = { precision: decoderPrecision(target), context: config.contextLength + 1, sequences: most };
    const weights = weightsOf(config, theta);
    const resident = await loadAddon().makeDecoder(where, weights, options).catch(deviceError(kind, BACKEND));
    return new DeviceDecoder(config, resident);
  }

  /** The GPU it lies on. */
  get device(): GpuDescription {
    return this.resident.device;
  }

  /** Bytes of the device's memory that it holds. */
  get bytes(): number {
    return this.resident.bytes;
  }

  /** Sequences that have a place at once. */
  get sequences(): number {
    return this.resident.sequences;
  }

  /**
   * As `Decoder.generate`, except that of tokens that are as likely as the last of `topK`, all are kept.
   * @throws as `Decoder.generate`; NON_FINITE_VALUE for broken weights, SESSION_RELEASED, CUDA_OUT_OF_MEMORY, CUDA_FAILED
   */
  async generate(requests: readonly GenerateRequest[], options: GenerateOptions): Promise<Generated[]> {
    for (const { prompt } of requests) requireTokens(this.config, 'A prompt', prompt, 1, 0);
    const rows = requests.map((request) => beginRow(request, options));
    const open = rows.filter((row) => row.end === undefined);
    const isDrawnHere = (row: Row) => row.request.constraint === undefined && isSampledAlike(options);
    await this.inTurn(async () => {
      await this.draw(open.filter(isDrawnHere), options);
      const held = open.filter((row) => !isDrawnHere(row));
      for (let start = 0; start < held.length; start += this.sequences)
        await this.choose(held.slice(start, start + this.sequences), options);
    });
    return rows.map(generatedOf);
  }

  /** Logits [prompts, vocabSize] of what follows each. @throws as `generate` */
  async logits(prompts: readonly GenerateRequest['prompt'][]): Promise<Float32Array[]> {
    for (const prompt of prompts) requireTokens(this.config, 'A prompt', prompt, 1, 0);
    const { vocabSize } = this.config;
    const answers: Float32Array[] = [];
    await this.inTurn(async (addon) => {
      for (let start = 0; start < prompts.length; start += this.sequences) {
        const own = prompts.slice(start, start + this.sequences);
        const rng = Rng.fromSeed(0);
        const requests = own.map((prompt) => ({ prompt, rng }));
        const slots = await this.take(addon, requests, { maxTokens: 1 });
        await this.withSlots(new Map(slots.map((slot) => [slot, undefined])), async () => {
          const rows = await addon.slotLogits(this.resident.decoder, { slots: Int32Array.from(slots) });
          own.forEach((_, i) => {
            answers.push(rows.subarray(i * vocabSize, (i + 1) * vocabSize));
          });
        });
      }
    });
    return answers;
  }

  /** Frees the device's memory once what is under way is done. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.last.catch(() => {});
    await loadAddon().closeDecoder(this.resident.decoder);
  }

  /** Rows whose tokens the device draws; places that become free are taken by those that wait. */
  private async draw(rows: readonly Row[], options: GenerateOptions): Promise<void> {
    const { decoder } = this.resident;
    const bySlot = new Map<number, Row>();
    let next = 0;
    const addon = loadAddon();
    await this.withSlots(bySlot, async () => {
      while (next < rows.length || bySlot.size > 0) {
        options.signal?.throwIfAborted();
        const taken = rows.slice(next, next + this.sequences - bySlot.size);
        const slots = taken.length === 0 ? [] : await this.take(addon, taken.map(requestOf), options);
        slots.forEach((slot, i) => {
          bySlot.set(slot, taken[i]);
        });
        next += taken.length;
        const steps = Math.min(STEPS, options.maxTokens);
        const ended = await addon.advanceSlots(decoder, { steps, slots: Int32Array.from(bySlot.keys()) });
        for (const { slot, tokens, logProbs, end } of ended) {
          const row = bySlot.get(slot)!;
          bySlot.delete(slot);
          if (end === 'broken') throw notFinite(row.request.prompt.length + tokens.length);
          row.tokens.push(...tokens);
          row.logProbs.push(...logProbs);
          row.end = end;
          if (options.temperature !== 0) row.request.rng.skip(tokens.length);
        }
      }
    });
  }

  /** Rows whose tokens are chosen here, as their constraints are; no more than have a place. */
  private async choose(rows: readonly Row[], options: GenerateOptions): Promise<void> {
    const { decoder } = this.resident;
    const { vocabSize } = this.config;
    const addon = loadAddon();
    const bySlot = new Map<number, Row>();
    await this.withSlots(bySlot, async () => {
      options.signal?.throwIfAborted();
      // Where a text ends is seen here.
      const taken = await this.take(addon, rows.map(requestOf), { maxTokens: this.config.contextLength + 1 });
      taken.forEach((slot, i) => {
        bySlot.set(slot, rows[i]);
      });
      while (bySlot.size > 0) {
        options.signal?.throwIfAborted();
        const slots = Int32Array.from(bySlot.keys());
        const logits = await addon.slotLogits(decoder, { slots });
        slots.forEach((slot, i) => {
          const row = bySlot.get(slot)!;
          const own = logits.subarray(i * vocabSize, (i + 1) * vocabSize);
          extendRow(row, logProbsOf(own, row, options), this.config, options);
        });
        const ended = slots.filter((slot) => bySlot.get(slot)!.end !== undefined);
        await addon.freeSlots(decoder, { slots: ended });
        for (const slot of ended) bySlot.delete(slot);
        const tokens = Int32Array.from(bySlot.values(), (row) => row.tokens.at(-1)!);
        await addon.appendTokens(decoder, { slots: Int32Array.from(bySlot.keys()), tokens });
      }
    });
  }

  private async take(
    addon: Addon,
    requests: readonly GenerateRequest[],
    { maxTokens, stop = [], temperature = 1, topK = 0, topP = 1 }: GenerateOptions,
  ): Promise<number[]> {
    const streams = new Uint32Array(4 * requests.length);
    requests.forEach(({ rng }, i) => {
      writeStream(rng, streams, 4 * i);
    });
    const slots = await addon.takePrompts(this.resident.decoder, {
      tokens: Int32Array.from(requests.flatMap(({ prompt }) => Array.from(prompt))),
      lengths: Int32Array.from(requests, ({ prompt }) => prompt.length),
      stops: Int32Array.from(stop),
      ...{ maxTokens, temperature, topP, streams },
      topK: Math.min(topK, this.config.vocabSize),
    });
    return Array.from(slots);
  }

  /** Whatever becomes of `work`, none of these places stays taken. */
  private async withSlots(taken: ReadonlyMap<number, unknown>, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      const slots = Int32Array.from(taken.keys());
      if (slots.length > 0) await loadAddon().freeSlots(this.resident.decoder, { slots });
    }
  }

  private inTurn(work: (addon: Addon) => Promise<void>): Promise<void> {
    if (this.isClosed) throw reverieError('SESSION_RELEASED', { origin: 'decoder on a device' });
    const run = () => work(loadAddon()).catch(deviceError(this.device.name, BACKEND));
    const result = this.last.then(run, run);
    this.last = result;
    return result;
  }
}

const requestOf = ({ request }: Row) => request;

/** Whether a device draws as `chooseToken` does: it takes `topP` of what `topK` leaves, not of all. */
function isSampledAlike({ temperature = 1, topK, topP = 1 }: GenerateOptions): boolean {
  return (topK === undefined || topP === 1) && (temperature === 0 || temperature >= COLDEST);
}

/** Of all tokens, or with `choices` of those that the row's constraint allows, as `extendRow` takes them. */
function logProbsOf(logits: Float32Array, row: Row, { temperature = 1, choices }: GenerateOptions): Float32Array {
  const allowed = choices === undefined ? undefined : row.request.constraint?.allowed();
  const asked = allowed === undefined ? logits : Float32Array.from(allowed, (token) => logits[token]);
  const sharpness = temperature === 0 ? 1 : 1 / temperature;
  const peak = asked.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY);
  const mass = asked.reduce((sum, logit) => sum + Math.exp((logit - peak) * sharpness), 0);
  if (!Number.isFinite(mass)) throw notFinite(row.request.prompt.length + row.tokens.length);
  return asked.map((logit) => (logit - peak) * sharpness - Math.log(mass));
}

function notFinite(tokens: number): Error {
  const hint = 'Its weights are broken: take an earlier checkpoint, or train it again.';
  return reverieError('NON_FINITE_VALUE', {
    what: 'A logit of the decoder',
    value: 'NaN',
    where: `token ${tokens}`,
    hint,
  });
}

/** As checkpoints hold them: matrices [out, in]. */
function weightsOf(config: DecoderConfig, theta: Float32Array): DecoderWeights {
  const tensors = huggingFaceTensors(config, theta);
  const values = (name: string) => tensors[name].data as Float32Array;
  const layers = Array.from({ length: config.layers }, (_, i) => {
    const of = (name: string) => values(`model.layers.${i}.${name}.weight`);
    return {
      inputNorm: of('input_layernorm'),
      ffnNorm: of('post_attention_layernorm'),
      ...{ query: of('self_attn.q_proj'), key: of('self_attn.k_proj'), value: of('self_attn.v_proj') },
      ...{ out: of('self_attn.o_proj'), gate: of('mlp.gate_proj'), up: of('mlp.up_proj'), down: of('mlp.down_proj') },
    };
  });
  const head = config.tieEmbeddings ? {} : { head: values('lm_head.weight') };
  return {
    config,
    layers,
    embedding: values('model.embed_tokens.weight'),
    finalNorm: values('model.norm.weight'),
    ...head,
  };
}
