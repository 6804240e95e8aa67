// A decoder as policy of text: a language model of the Llama architecture that writes its command token by token, held to the trie of
// the admissible ones or to the schema of what may be written. What it says of a command, its log-probability among these, is the same to the byte when it acts, when the
// reference is asked, and in training (nn/decoder/attention.ts).

import { resolve } from 'node:path';
import { reverieError } from '../../../core/errors.js';
import { sha256 } from '../../../core/hash.js';
import type { Rng } from '../../../core/rng.js';
import {
  Decoder,
  type DecoderConfig,
  DecoderSessions,
  DecoderTrainer,
  decoderConfig,
  loadDecoder,
  type OpenSession,
  ParamLayout,
  saveDecoder,
  Tokenizer,
  trainTokenizer,
} from '../../../nn/index.js';
import { withMoments } from '../../network-learner.js';
import type {
  TextChoice,
  TextDecision,
  TextLearner,
  TextLearnerState,
  TextLesson,
  TextObjective,
  TextPolicy,
  TextSituation,
  TextUpdateMetrics,
  TextUpdateOptions,
} from '../text-policy.js';
import { ActingDecoder } from './acting.js';
import { choicesOf, commandLogProbs, documentsOf, type LessonDocument, lessonBatches } from './documents.js';
import { criticHead, policyLoss } from './policy-loss.js';
import { type DecoderPolicySettings, policyDecoderConfig } from './settings.js';
import { Transcript, textsOf } from './transcript.js';
import { WrittenTexts } from './writing.js';

/** What a decoder was made of, kept with its settings so that a checkpoint needs nothing else. */
export interface MadeDecoder {
  readonly config: DecoderConfig;
  /** The content of tokenizer.json. */
  readonly tokenizer: string;
  readonly critic: boolean;
}

type Settings = DecoderPolicySettings & { readonly made?: MadeDecoder };

interface Weights {
  /** The decoder's, and a critic's behind them. */
  readonly theta: Float32Array;
  readonly m: Float32Array;
  readonly v: Float32Array;
}

/** Gradient steps in which the step size rises from nothing, as transformers need at first. */
const WARMUP = 20;

/**
 * @param rng draws the initial weights
 * @param place what `folder` is relative to
 * @param open runs its gradient steps; in the calling thread unless given
 * @throws DECODER_CONFIG_INVALID; DECODER_FOLDER_INVALID, TOKENIZER_INVALID for what `folder` names
 */
export async function makeDecoderLearner(
  settings: Settings,
  objective: TextObjective,
  rng: Rng,
  place = '.',
  open?: OpenSession,
): Promise<TextLearner> {
  const { folder, made } = settings;
  const learner = new DecoderLearner(settings, objective, rng, open);
  if (made !== undefined) learner.build(made.config, Tokenizer.fromJson(made.tokenizer, 'checkpoint'), made.critic);
  else if (folder !== undefined) {
    const { decoder, tokenizer } = await loadDecoder(resolve(place, folder));
    learner.build(decoder.config, tokenizer, learner.wantsCritic, decoder.theta);
  }
  return learner;
}

/** Some weights as they act. */
interface Acting {
  readonly theta: Float32Array;
  readonly decoder: ActingDecoder;
  readonly version: string;
}

/** All that exists once there is a tokenizer. */
interface Built extends MadeDecoder {
  readonly sessions: DecoderSessions;
  readonly layout: ParamLayout;
  readonly transcript: Transcript;
  /** What it writes, where it does. */
  readonly texts?: WrittenTexts;
  /** Most tokens that are left open at once: within a text of its own, all. */
  readonly choices: number;
}

class DecoderLearner implements TextLearner {
  readonly network = 'decoder';
  readonly policy: TextPolicy;
  private built: Built | undefined;
  private trained: Weights = withMoments(new Float32Array(0));
  private reference: Float32Array = new Float32Array(0);
  private steps = 0;
  private trainer: DecoderTrainer | undefined;
  /** The last of its policies that acted, each with what it remembers of prompts. */
  private acting: Acting | undefined;

  constructor(
    private readonly settings: Settings,
    private readonly objective: TextObjective,
    private readonly rng: Rng,
    private readonly open?: OpenSession,
  ) {
    // Sizes that do not fit are refused before anything is lived.
    decoderConfig(policyDecoderConfig(settings, settings.vocabulary));
    this.policy = this.policyBy(() => {
      this.made();
      if (this.acting?.theta !== this.trained.theta) this.acting = this.acts(this.trained.theta);
      return this.acting;
    });
  }

  get wantsCritic(): boolean {
    return (this.objective.valueCoefficient ?? 0) > 0;
  }

  get weights(): Float32Array {
    this.made();
    return this.trained.theta;
  }

  get parameters(): number {
    return this.trained.theta.length;
  }

  get gradientSteps(): number {
    return this.steps;
  }

  policyOf(weights: Float32Array): TextPolicy {
    let acting: Acting | undefined;
    return this.policyBy(() => {
      acting ??= this.acts(weights);
      return acting;
    });
  }

  async logProbs(choices: readonly TextChoice[]): Promise<number[]> {
    const { transcript, texts } = this.made();
    const { documents } = documentsOf(choices, transcript, texts);
    const scored = await this.scored(this.trained.theta, documents);
    return documents.flatMap((document, i) => commandLogProbs(document, scored[i]));
  }

  prepare(shown: readonly TextSituation[]): void {
    if (this.built !== undefined) return;
    const tokenizer = trainTokenizer(textsOf(shown), { size: this.settings.vocabulary });
    this.build(decoderConfig(policyDecoderConfig(this.settings, tokenizer.size)), tokenizer, this.wantsCritic);
  }

  /** @param given the decoder's weights; drawn unless given */
  build(config: DecoderConfig, tokenizer: Tokenizer, critic: boolean, given?: Float32Array): void {
    const sessions = new DecoderSessions(config);
    const layout = new ParamLayout([...sessions.layout.specs, ...(critic ? criticHead(config.hiddenSize) : [])]);
    const context = Math.min(this.settings.context, config.contextLength);
    const transcript = new Transcript(tokenizer, { ...this.settings, context });
    const theta = layout.init(this.rng);
    if (given !== undefined) theta.set(given);
    const { written } = this.settings;
    const texts = written === undefined ? {} : { texts: new WrittenTexts(transcript, written) };
    const choices = written === undefined ? this.settings.choices : tokenizer.size;
    this.built = { config, tokenizer: tokenizer.toJson(), critic, sessions, layout, transcript, ...texts, choices };
    this.trained = withMoments(theta);
    this.reference = theta;
  }

  async update(lessons: readonly TextLesson[], { lr, order }: TextUpdateOptions): Promise<TextUpdateMetrics> {
    if (this.built === undefined) this.prepare(lessons.map(({ situation }) => situation));
    const before = { trained: this.trained, steps: this.steps };
    try {
      return await this.pass(lessons, order ?? lessons.map((_, i) => i), lr);
    } catch (error) {
      Object.assign(this, before);
      throw error;
    }
  }

  anchor(): void {
    this.made();
    this.reference = this.trained.theta;
  }

  state(): TextLearnerState {
    const { config, tokenizer, critic } = this.made();
    const { theta, m, v } = this.trained;
    const arrays = { theta, m, v, reference: this.reference };
    const settings = { ...this.settings, made: { config, tokenizer, critic } };
    return {
      meta: { network: this.network, settings, gradientSteps: this.steps },
      arrays: Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, array.slice()])),
    };
  }

  restore({ meta, arrays }: TextLearnerState): void {
    const misfit = (problem: string) => reverieError('CHECKPOINT_CORRUPT', { path: 'policy of text', problem });
    if (meta.network !== this.network) throw misfit(`it holds a ${meta.network} network, not ${this.network}`);
    const made = (meta.settings as Settings).made;
    if (made === undefined) throw misfit('it does not say what its decoder is made of');
    const { config, tokenizer, critic } = made;
    const wanted = new DecoderSessions(config).layout.size + (critic ? config.hiddenSize + 1 : 0);
    for (const name of ['theta', 'm', 'v', 'reference']) {
      const size = arrays[name]?.length;
      if (size !== wanted) throw misfit(`array "${name}" has ${size ?? 'no'} elements where its decoder has ${wanted}`);
    }
    const isSame =
      this.built?.tokenizer === tokenizer &&
      String(Object.entries(this.built.config)) === String(Object.entries(config));
    if (!isSame || this.built?.critic !== critic) {
      this.trainer = undefined;
      this.build(config, Tokenizer.fromJson(tokenizer, 'checkpoint'), critic);
    }
    const { theta, m, v, reference } = arrays;
    this.trained = { theta: theta.slice(), m: m.slice(), v: v.slice() };
    this.reference = reference.slice();
    this.steps = meta.gradientSteps;
  }

  async export(folder: string): Promise<void> {
    const { transcript } = this.made();
    await saveDecoder(folder, this.decoderOf(this.trained.theta), transcript.tokenizer, { name: 'reverie policy' });
  }

  async close(): Promise<void> {
    await this.trainer?.release();
    await this.built?.sessions.release();
  }

  /** Of bytes alone where nobody said what is to be read. */
  private made(): Built {
    if (this.built === undefined) this.prepare([]);
    return this.built!;
  }

  private decoderOf(theta: Float32Array): Decoder {
    const { sessions } = this.made();
    return new Decoder(sessions, theta.subarray(0, sessions.layout.size));
  }

  private policyBy(acting: () => Acting): TextPolicy {
    return {
      get version() {
        return acting().version;
      },
      writes: this.settings.written !== undefined,
      decide: async (situations: readonly TextSituation[], draws?: readonly number[]): Promise<TextDecision[]> =>
        acting().decoder.decide(situations, draws),
    };
  }

  private acts(theta: Float32Array): Acting {
    const { transcript, layout, critic, texts, choices } = this.made();
    const bytes = new Uint8Array(theta.buffer, theta.byteOffset, theta.byteLength);
    const view = (name: string) => layout.view(theta, name);
    const values = critic ? { w: view('critic.w'), b: view('critic.b')[0] } : undefined;
    const options = { choices, ...(values && { critic: values }), ...(texts && { texts }) };
    const decoder = new ActingDecoder(this.decoderOf(theta), transcript, options);
    return { theta, decoder, version: `decoder-${sha256(bytes).slice(0, 16)}` };
  }

  private async pass(lessons: readonly TextLesson[], order: ArrayLike<number>, lr: number): Promise<TextUpdateMetrics> {
    const { transcript, critic, texts, choices } = this.made();
    const { documents, owners } = documentsOf(lessons, transcript, texts);
    const trainer = await this.trainerNow();
    const batches = lessonBatches(documents, {
      shape: trainer.shape,
      choices,
      // A document is taken where its first lesson is.
      order: [...new Set(Array.from(order, (i) => owners[i]))],
      reference: await this.referenceOf(documents),
      hasCritic: critic,
    });
    const sums: Record<string, number> = { loss: 0, entropy: 0, kl: 0, clipFraction: 0 };
    for (const { batch, lessons: count } of batches) {
      const metrics = await trainer.train([batch], lr * Math.min(1, (this.steps + 1) / WARMUP));
      this.trained = trainer.state().arrays;
      this.steps = trainer.step;
      for (const [name, [value]] of Object.entries(metrics)) sums[name] = (sums[name] ?? 0) + value * count;
    }
    const means = Object.entries(sums).map(([name, sum]) => [name, sum / Math.max(lessons.length, 1)]);
    return { ...Object.fromEntries(means), gradientSteps: batches.length } as TextUpdateMetrics;
  }

  /** The trainer, in the state of the moment. */
  private async trainerNow(): Promise<DecoderTrainer> {
    const { config, sessions, critic, transcript, choices } = this.made();
    const { rows } = this.settings;
    this.trainer ??= await DecoderTrainer.create({
      ...{ config, sessions, start: { theta: this.trained.theta }, open: this.open },
      training: { rows, length: transcript.context, steps: 1 },
      loss: policyLoss(this.objective, { choices, hiddenSize: config.hiddenSize, hasCritic: critic }),
    });
    this.trainer.restore({ step: this.steps, arrays: this.trained });
    return this.trainer;
  }

  /** Log-probabilities of the documents' tokens under the reference; not worked out where they count for nothing. */
  private async referenceOf(documents: readonly LessonDocument[]): Promise<Float32Array[] | undefined> {
    if (this.objective.klCoefficient === 0) return undefined;
    return this.scored(this.reference, documents);
  }

  /** Log-probabilities of the documents' tokens but the first. */
  private scored(theta: Float32Array, documents: readonly LessonDocument[]): Promise<Float32Array[]> {
    const { choices } = this.made();
    return this.decoderOf(theta).score(
      documents.map(({ tokens }) => tokens),
      { choices, choicesOf: (document) => choicesOf(documents[document]) },
    );
  }
}
