// A sequence model on disk: a decoder's folder, and beside it what it was trained to be shown, how its
// probabilities are calibrated, and how right it was on held-out steps.
//
//   model.safetensors, decoder.json   the decoder
//   sequence.json                     the rest, sealed; names the decoder by its hash

import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { canonicalJson, type Json, sha256 } from '../../core/canonical-json.js';
import { NO_COST } from '../../core/cost.js';
import { recoverFolder, sealedText } from '../../core/files.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { Decoder } from '../../nn/decoder/decoder.js';
import { loadDecoder, saveDecoder } from '../../nn/decoder/folder.js';
import type { Tokenizer } from '../../nn/decoder/tokenizer.js';
import {
  type Calibration,
  calibrationSchema,
  confidenceOf,
  type JudgedStep,
  modelFolder,
  readSealed,
} from '../from-records.js';
import { folderInvalid } from '../model-folder.js';
import {
  type BackendFitReport,
  type BackendModel,
  type Declined,
  fitReportSchema,
  type PredictOptions,
  type RawProposal,
} from '../tools/backend-model.js';
import { goalOf, type RecordedStep, worldOf } from './recorded-steps.js';
import { ScriptCodec } from './script.js';
import { type Asked, type ObjectTypes, type StepAnswer, StepForm } from './step-form.js';

const FILE = 'sequence.json';
const HINT = 'Give a run of `reverie fit` with a sequence model, or restore its folder from a copy.';

const contentsSchema = z.strictObject({
  format: z.literal('reverie-sequence'),
  formatVersion: z.literal(3),
  /** The domain it learned in. */
  domain: z.string(),
  decoder: z.string(),
  form: z.strictObject({ constant: z.array(z.string()), sole: z.array(z.string()) }),
  calibration: calibrationSchema,
  report: fitReportSchema,
});

/** A model whole. */
export interface SequenceContents {
  readonly decoder: Decoder;
  readonly tokenizer: Tokenizer;
  readonly form: ObjectTypes;
  readonly calibration: Calibration;
  readonly report: BackendFitReport;
  readonly domain: string;
}

/** Changes whenever an answer could: weights, tokens, form and calibration. */
export function versionOf({ decoder, tokenizer, form, calibration }: SequenceContents): string {
  const rest = canonicalJson({ form, calibration } as unknown as Json);
  return `sequence:${sha256(`${decoderHash(decoder, tokenizer)} ${rest}`).slice(0, 16)}`;
}

/** Writes (or atomically replaces) the folder; the same model gives the same bytes. @throws STORAGE_FULL, STORAGE_FAILED */
export async function saveSequence(folder: string, contents: SequenceContents): Promise<void> {
  const { decoder, tokenizer, form, calibration, report, domain } = contents;
  const about = { domain, decoder: decoderHash(decoder, tokenizer), form, calibration, report };
  const text = sealedText({ format: 'reverie-sequence', formatVersion: 3, ...about });
  await saveDecoder(folder, decoder, tokenizer, { [FILE]: text });
}

/** @throws MODEL_FILE_INVALID for what is missing, damaged or does not belong together */
export async function loadSequence(given: string): Promise<SequenceContents> {
  for (const folder of [join(given, 'model'), given]) await recoverFolder(folder);
  const folder = modelFolder(given, FILE);
  const read = await readSealed(folder, FILE, { schema: contentsSchema, hint: HINT });
  const { format: _format, formatVersion: _version, decoder: hash, ...about } = read;
  const { decoder, tokenizer } = await loadDecoder(folder);
  if (decoderHash(decoder, tokenizer) !== hash)
    throw folderInvalid(folder, `its ${FILE} was written for other weights or another tokenizer.`, HINT);
  return { decoder, tokenizer, ...about };
}

function decoderHash({ theta, config }: Decoder, tokenizer: Tokenizer): string {
  const weights = sha256(new Uint8Array(theta.buffer, theta.byteOffset, theta.byteLength));
  return sha256(`${weights} ${canonicalJson(config as unknown as Json)} ${tokenizer.toJson()}`);
}

interface Answered {
  /** What is answered, or why that cannot be understood. */
  readonly answer: StepAnswer | string;
  /** Of all that counts: done or not, changes and text, in nats. What is claimed of the end does not count. */
  readonly logProb: number;
}

interface AskedTokens {
  readonly asked: Asked;
  readonly tokens: readonly number[];
}

/** The tokens of a question; undefined where they leave no room for an answer. */
function tokensOf(asked: Asked, codec: ScriptCodec, contextLength: number): number[] | undefined {
  const tokens = [codec.tokenizer.special.begin, ...codec.encode(asked.pieces)];
  return tokens.length < contextLength ? tokens : undefined;
}

/** Answers do not depend on what is asked beside them. */
async function answersOf(
  decoder: Decoder,
  codec: ScriptCodec,
  form: StepForm,
  questions: readonly AskedTokens[],
): Promise<Answered[]> {
  const { end } = codec.tokenizer.special;
  const generated = await decoder.generate(
    questions.map(({ tokens }) => tokens),
    { maxTokens: decoder.config.contextLength, stop: [end] },
  );
  const closing = [codec.idOf('goes-on'), codec.idOf('ends')];
  return generated.map(({ tokens, logProbs }, i) => {
    const { asked } = questions[i];
    const counted = tokens.findIndex((token) => closing.includes(token));
    const own = tokens.at(-1) === end ? tokens.slice(0, -1) : tokens;
    return {
      answer: form.read(codec.decode(own), asked),
      logProb: logProbs.slice(0, counted < 0 ? undefined : counted).reduce((sum, one) => sum + one, 0),
    };
  });
}

export interface JudgedAnswer extends JudgedStep {
  readonly logProb: number;
  /** Whether there is an answer at all: the question fitted the context, and the answer could be read. */
  readonly isAnswered: boolean;
}

/** Most questions answered side by side. */
const BATCH = 64;

export async function judgeSteps(
  decoder: Decoder,
  codec: ScriptCodec,
  form: StepForm,
  steps: readonly RecordedStep[],
  options: { readonly signal?: AbortSignal; readonly onProgress?: (done: number) => void } = {},
): Promise<JudgedAnswer[]> {
  const judged: JudgedAnswer[] = new Array(steps.length);
  const asked = steps.map(({ question }): AskedTokens | undefined => {
    const words = form.ask(question);
    const tokens = tokensOf(words, codec, decoder.config.contextLength);
    return tokens && { asked: words, tokens };
  });
  // Rows of similar length are read together.
  const order = [...steps.keys()].sort((a, b) => (asked[a]?.tokens.length ?? 0) - (asked[b]?.tokens.length ?? 0));
  for (let start = 0; start < order.length; start += BATCH) {
    options.signal?.throwIfAborted();
    const batch = order.slice(start, start + BATCH);
    const questions = batch.flatMap((i) => asked[i] ?? []);
    const answers = await answersOf(decoder, codec, form, questions);
    for (const i of batch) {
      const at = questions.indexOf(asked[i]!);
      judged[i] = judgedStep(steps[i].answer, at < 0 ? undefined : answers[at]);
    }
    options.onProgress?.(start + batch.length);
  }
  return judged;
}

function judgedStep(truth: StepAnswer, answered: Answered | undefined): JudgedAnswer {
  const { answer: said, logProb = Number.NEGATIVE_INFINITY } = answered ?? {};
  const answer = typeof said === 'string' ? undefined : said;
  return {
    changes: changesIn(truth).length,
    isStateExact:
      answer !== undefined &&
      answer.isError === truth.isError &&
      isDeepStrictEqual(changesIn(answer), changesIn(truth)),
    isTextExact: answer?.observation === truth.observation,
    isEndExact: answer !== undefined && answer.ends === truth.ends,
    logProb,
    isAnswered: answer !== undefined,
  };
}

/** In an order of their own; tables of facts that are made on the way are no change. */
function changesIn({ operations }: StepAnswer): string[] {
  return operations
    .filter((one) => !(one.op === 'add' && /^\/facts\/[^/]+$/.test(one.path)))
    .map((one) => canonicalJson(one))
    .sort();
}

interface Waiting {
  readonly question: AskedTokens;
  readonly resolve: (answer: Answered) => void;
  readonly reject: (reason: unknown) => void;
}

export class SequenceModel implements BackendModel {
  readonly version: string;
  private readonly form: StepForm;
  private readonly codec: ScriptCodec;
  private waiting: Waiting[] = [];
  private isBusy = false;

  constructor(private readonly contents: SequenceContents) {
    this.version = versionOf(contents);
    this.form = new StepForm(contents.form);
    this.codec = new ScriptCodec(contents.tokenizer);
  }

  async predict(query: CallQuery, { signal }: PredictOptions): Promise<RawProposal | Declined> {
    signal?.throwIfAborted();
    const { calibration } = this.contents;
    const { contextLength } = this.contents.decoder.config;
    const world = worldOf(query.domain, query.state);
    const asked = this.form.ask({ call: query.call, goal: goalOf(query.task), world });
    const tokens = tokensOf(asked, this.codec, contextLength);
    if (tokens === undefined) return { declined: `the question does not fit its ${contextLength} tokens` };
    const { answer, logProb } = await this.answered({ asked, tokens });
    if (typeof answer === 'string') return { declined: `its answer cannot be read: ${answer}` };
    const { operations, observation, isError, ends } = answer;
    const claimed = { reward: ends ?? null, terminated: ends !== undefined };
    return { operations, observation, isError, confidence: confidenceOf(calibration, logProb), claimed, cost: NO_COST };
  }

  private answered(question: AskedTokens): Promise<Answered> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ question, resolve, reject });
      if (!this.isBusy) {
        this.isBusy = true;
        // Calls of one turn of the event loop are answered together.
        setImmediate(() => this.answerAll());
      }
    });
  }

  private async answerAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, BATCH);
      this.waiting = this.waiting.slice(BATCH);
      const questions = batch.map(({ question }) => question);
      try {
        const answers = await answersOf(this.contents.decoder, this.codec, this.form, questions);
        batch.forEach(({ resolve }, i) => {
          resolve(answers[i]);
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.isBusy = false;
  }
}
