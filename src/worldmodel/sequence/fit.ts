// Steps as documents that a decoder learns from. A question that occurs again is one document; forms of steps that are rare (heating,
// among a thousand looks around) come more often than they did, as the square root of their number.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, sha256 } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import { resumeTraining, saveTraining } from '../../nn/decoder/folder.js';
import { type Tokenizer, trainTokenizer } from '../../nn/decoder/tokenizer.js';
import { DecoderTrainer, PackedCorpus, type TrainingDocument } from '../../nn/decoder/trainer.js';
import { calibrate, confidenceOf, isExact, reportOf } from '../from-records.js';
import type { BackendFitNote } from '../tools/backend-model.js';
import { type LearnedEpisode, type RecordedStep, recordedSteps } from './recorded-steps.js';
import { isMark, type Piece, SCRIPT_TOKENS, ScriptCodec } from './script.js';
import { type JudgedAnswer, judgeSteps, type SequenceContents } from './sequence-model.js';
import type { SequenceSettings } from './settings.js';
import { factsOf, objectTypes, StepForm } from './step-form.js';

export interface SequenceFitRequest {
  readonly domain: ToolsDomain;
  readonly episodes: readonly LearnedEpisode[];
  readonly settings: SequenceSettings;
  readonly rng: Rng;
  /** Folder of checkpoints; absent: none are kept. What lies there of the same fit is gone on from. */
  readonly work?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (note: BackendFitNote) => void;
}

/** @throws DATA_MISMATCH for records that nothing can be learned from; the signal's reason, after a checkpoint */
export async function fitSequence(request: SequenceFitRequest): Promise<SequenceContents> {
  const { domain, settings, signal, onProgress } = request;
  const { form, codec, documents, steps, forCalibration, forJudging } = prepared(request);
  const { tokenizer } = codec;
  const trainer = await trained(request, tokenizer, documents.documents);
  try {
    const decoder = trainer.decoder();
    const judged = (own: readonly RecordedStep[], phase: string) => {
      const onDone = (done: number) => onProgress?.({ phase, unit: 'steps', done, total: own.length });
      return judgeSteps(decoder, codec, form, own, { signal, onProgress: onDone });
    };
    // Calibrated on answers alone.
    const answered = (await judged(forCalibration, 'calibrate')).filter(({ isAnswered }) => isAnswered);
    const calibration = calibrate(answered.map((one) => ({ logProb: one.logProb, isRight: isExact(one) })));
    const isSure = ({ logProb, isAnswered }: JudgedAnswer) =>
      isAnswered && confidenceOf(calibration, logProb) >= settings.minConfidence;
    const { distinct, tooLong } = documents;
    const report = reportOf(await judged(forJudging, 'judge'), isSure, { learnedFrom: steps, distinct, tooLong });
    return { decoder, tokenizer, form: form.types, calibration, report, domain: domain.id };
  } finally {
    await trainer.release();
  }
}

interface WrittenStep {
  readonly question: readonly Piece[];
  readonly answer: readonly Piece[];
}

/** Records in words: what is learned from, and what is held out. */
function prepared({ domain, episodes, settings: { fit }, rng }: SequenceFitRequest) {
  const parts = splitByTask(episodes, domain, fit.heldOut, rng.split('held-out'));
  const form = new StepForm(objectTypes(worldsOf(recordedSteps(parts.train, domain))));
  const written: WrittenStep[] = [];
  for (const { question, answer } of recordedSteps(parts.train, domain)) {
    const asked = form.ask(question);
    const told = form.answer(answer, asked);
    // What its form has no words for is left out.
    if (told !== undefined) written.push({ question: asked.pieces, answer: told });
  }
  const tokenizer = trainTokenizer(textsOf(written), { size: fit.vocabulary, specials: SCRIPT_TOKENS });
  const codec = new ScriptCodec(tokenizer);
  const documents = documentsOf(written, codec, fit);
  const [forCalibration, forJudging] = [parts.calibrate, parts.judge].map((own) =>
    spaced([...recordedSteps(own, domain)], fit.heldOutSteps),
  );
  if (documents.documents.length === 0 || forJudging.length === 0) {
    const counts = `${documents.documents.length} steps to learn from and ${forJudging.length} to judge by`;
    throw reverieError('DATA_MISMATCH', {
      problem: `A world model cannot be fitted to this data: ${episodes.length} episodes leave ${counts}.`,
      hint: 'Collect episodes of more tasks, or raise model.sequence.fit.length where steps are too long.',
    });
  }
  return { form, codec, documents, steps: written.length, forCalibration, forJudging };
}

/** Tasks apart, so that no game is learned from that is judged by. Two at least are held out: one to calibrate, one to judge. */
function splitByTask(episodes: readonly LearnedEpisode[], domain: ToolsDomain, share: number, rng: Rng) {
  const known = new Set(domain.tasks.map(({ id }) => id));
  const tasks = [...new Set(episodes.map(({ task }) => task))].filter((task) => known.has(task)).sort();
  const drawn = [...rng.permutation(tasks.length)].map((i) => tasks[i]);
  const held = Math.min(tasks.length, Math.max(2, Math.round(tasks.length * share)));
  const calibration = new Set(drawn.slice(0, Math.floor(held / 2)));
  const judge = new Set(drawn.slice(Math.floor(held / 2), held));
  const of = (isOwn: (task: string) => boolean) => episodes.filter(({ task }) => isOwn(task));
  return {
    train: of((task) => !calibration.has(task) && !judge.has(task)),
    calibrate: of((task) => calibration.has(task)),
    judge: of((task) => judge.has(task)),
  };
}

function* worldsOf(steps: Iterable<RecordedStep>) {
  for (const { question } of steps) yield { scene: question.world.scene!, facts: factsOf(question.world) };
}

/** All texts between slots and marks. */
function* textsOf(steps: readonly WrittenStep[]): Generator<string> {
  for (const { question, answer } of steps) {
    for (const piece of [...question, ...answer]) if ('text' in piece) yield piece.text;
  }
}

/** Most times that a step of a rare form is repeated. */
const MOST_COPIES = 16;

/** Also how many steps differ; and of these, how many are left out, as they, or their answers, are too long. */
function documentsOf(
  steps: readonly WrittenStep[],
  codec: ScriptCodec,
  { length, auxiliary }: SequenceSettings['fit'],
): { readonly documents: readonly TrainingDocument[]; readonly distinct: number; readonly tooLong: number } {
  const { begin, end } = codec.tokenizer.special;
  const forms = new Map<string, TrainingDocument[]>();
  const seen = new Set<string>();
  let tooLong = 0;
  for (const { question, answer } of steps) {
    const asked = [begin, ...codec.encode(question)];
    const tokens = [...asked, ...codec.encode(answer), end];
    const key = tokens.join();
    if (seen.has(key)) continue;
    seen.add(key);
    if (tokens.length > length) {
      tooLong += 1;
      continue;
    }
    const weights = tokens.map((_, i) => (i < asked.length ? auxiliary : 1));
    const form = formOf(question, answer);
    forms.set(form, [...(forms.get(form) ?? []), { tokens, weights }]);
  }
  const largest = Math.max(0, ...[...forms.values()].map((own) => own.length));
  const documents = [...forms.keys()].sort().flatMap((form) => {
    const own = forms.get(form)!;
    const copies = Math.min(MOST_COPIES, Math.round(Math.sqrt(largest / own.length)));
    return Array.from({ length: copies }, () => own).flat();
  });
  return { documents, distinct: seen.size, tooLong };
}

/** What a step is but for the things it is about: the words of the call, and what changes. */
function formOf(question: readonly Piece[], answer: readonly Piece[]): string {
  const afterCall = question.findIndex((piece, i) => i > 0 && 'mark' in piece && piece.mark !== 'glue');
  const says = answer.findIndex((piece) => isMark(piece, 'says'));
  const pieces = [...question.slice(0, afterCall), ...answer.slice(0, says)];
  return canonicalJson(pieces.map((piece) => ('slot' in piece ? { slot: 0 } : piece)));
}

function spaced<T>(list: readonly T[], count: number): readonly T[] {
  if (list.length <= count) return list;
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)]);
}

/** Gradient steps of one run of the graph. */
const CHUNK = 5;

async function trained(
  { settings: { fit }, rng, work, signal, onProgress }: SequenceFitRequest,
  tokenizer: Tokenizer,
  documents: readonly TrainingDocument[],
): Promise<DecoderTrainer> {
  const { rows, length, steps, learningRate, hidden, layers, heads, kvHeads } = fit;
  const config = {
    vocabSize: tokenizer.size,
    hiddenSize: hidden,
    intermediateSize: Math.round((hidden * 8) / 3 / 16) * 16,
    ...{ layers, heads, kvHeads, headDim: Math.floor(hidden / heads), contextLength: length },
  };
  const course = { rows, length, steps, learningRate, warmupSteps: Math.min(50, Math.ceil(steps / 10)) };
  const trainer = await DecoderTrainer.create(config, course, rng.split('weights'));
  // A checkpoint belongs to these very documents.
  const learned = canonicalJson([tokenizer.toJson(), documents.map(({ tokens }) => Array.from(tokens))]);
  const folder = work && join(work, `training-${sha256(learned).slice(0, 16)}`);
  if (folder !== undefined && existsSync(folder)) await resumeTraining(folder, trainer);
  const corpus = new PackedCorpus(documents, trainer.shape, rng.split('batches'));
  let savedAt = performance.now();
  while (trainer.step < steps) {
    const count = Math.min(CHUNK, steps - trainer.step);
    const { loss } = await trainer.train(Array.from({ length: count }, (_, i) => corpus.batch(trainer.step + i)));
    const note = `loss ${loss[loss.length - 1].toFixed(3)}`;
    onProgress?.({ phase: 'train', unit: 'steps', done: trainer.step, total: steps, note });
    const isDue = performance.now() - savedAt >= fit.checkpointSeconds * 1000;
    if (folder !== undefined && (isDue || signal?.aborted)) {
      await saveTraining(folder, trainer);
      savedAt = performance.now();
    }
    signal?.throwIfAborted();
  }
  if (folder !== undefined) await saveTraining(folder, trainer);
  return trainer;
}
