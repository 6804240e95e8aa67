// Steps as documents that a decoder learns from. A question that occurs again is one document; forms of steps that are rare (heating,
// among a thousand looks around) come more often than they did, as the square root of their number.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, sha256 } from '../../core/canonical-json.js';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { DecoderConfigInput } from '../../nn/decoder/config.js';
import { resumeTraining, saveTraining } from '../../nn/decoder/folder.js';
import { type Tokenizer, trainTokenizer } from '../../nn/decoder/tokenizer.js';
import { DecoderTrainer, PackedCorpus, type TrainingDocument } from '../../nn/decoder/trainer.js';
import { calibrate, confidenceOf, isExact, reportOf } from '../from-records.js';
import type { BackendFitNote } from '../tools/backend-model.js';
import { type LearnedEpisode, type RecordedStep, recordedSteps, worldKindOf } from './recorded-steps.js';
import { isMark, type Piece, SCRIPT_TOKENS, ScriptCodec } from './script.js';
import { type JudgedAnswer, judgeSteps, type SequenceContents } from './sequence-model.js';
import type { SequenceFitSettings, SequenceSettings } from './settings.js';
import { StepForm } from './step-form.js';
import { factsOf, objectTypes, sharedValues } from './worlds.js';

interface WrittenStep {
  readonly question: readonly Piece[];
  readonly answer: readonly Piece[];
}

/** Steps in words; what its form has no words for is left out. */
function writtenSteps(steps: Iterable<RecordedStep>, form: StepForm): WrittenStep[] {
  const written: WrittenStep[] = [];
  for (const { question, answer } of steps) {
    const asked = form.ask(question);
    const told = form.answer(answer, asked);
    if (told !== undefined) written.push({ question: asked.pieces, answer: told });
  }
  return written;
}

/** All texts between slots and marks. */
function* textsOf(steps: readonly WrittenStep[]): Generator<string> {
  for (const { question, answer } of steps) {
    for (const piece of [...question, ...answer]) if ('text' in piece) yield piece.text;
  }
}

interface Documents {
  readonly documents: readonly TrainingDocument[];
  /** Steps that differ; and of these, how many are left out, as they, or their answers, are too long. */
  readonly distinct: number;
  readonly tooLong: number;
}

/** Most times that a step of a rare form is repeated. */
const MOST_COPIES = 16;

function documentsOf(
  steps: readonly WrittenStep[],
  codec: ScriptCodec,
  { length, auxiliary }: Pick<SequenceFitSettings, 'length' | 'auxiliary'>,
): Documents {
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
  const call = question.slice(0, afterCall(question));
  const says = answer.findIndex((piece) => isMark(piece, 'says'));
  return canonicalJson([...call, ...answer.slice(0, says)].map((piece) => ('slot' in piece ? { slot: 0 } : piece)));
}

/** Where the section after the call begins. */
function afterCall(question: readonly Piece[]): number {
  return question.findIndex((piece, i) => i > 0 && 'mark' in piece && piece.mark !== 'glue');
}

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

/** Gradient steps of one run of the graph. */
const CHUNK = 5;

/** @throws DATA_MISMATCH for records that nothing can be learned from; the signal's reason, after a checkpoint */
export async function fitSequence(request: SequenceFitRequest): Promise<SequenceContents> {
  const material = prepared(request);
  const { form, codec, documents } = material;
  const trainer = await trained(request, codec.tokenizer, documents);
  try {
    const decoder = trainer.decoder();
    const judged = (steps: readonly RecordedStep[], phase: string) => {
      const onProgress = (done: number) => request.onProgress?.({ phase, unit: 'steps', done, total: steps.length });
      return judgeSteps(decoder, codec, form, steps, { signal: request.signal, onProgress });
    };
    // Calibrated on answers alone.
    const answered = (await judged(material.forCalibration, 'calibrate')).filter(({ isAnswered }) => isAnswered);
    const calibration = calibrate(answered.map((one) => ({ logProb: one.logProb, isRight: isExact(one) })));
    const isSure = ({ logProb, isAnswered }: JudgedAnswer) =>
      isAnswered && confidenceOf(calibration, logProb) >= request.settings.minConfidence;
    const { distinct, tooLong } = documents;
    const from = { learnedFrom: material.steps, distinct, tooLong };
    const report = reportOf(await judged(material.forJudging, 'judge'), isSure, from);
    const { tokenizer } = codec;
    return { decoder, tokenizer, form: form.settings, calibration, report, domain: request.domain.id };
  } finally {
    await trainer.release();
  }
}

interface Material {
  readonly form: StepForm;
  readonly codec: ScriptCodec;
  readonly documents: Documents;
  /** Recorded steps that documents were made of. */
  readonly steps: number;
  readonly forCalibration: readonly RecordedStep[];
  readonly forJudging: readonly RecordedStep[];
}

/** Records in words: what is learned from, and what is held out. */
function prepared({ domain, episodes, settings: { fit }, rng }: SequenceFitRequest): Material {
  const parts = splitByTask(episodes, domain, fit.heldOut, rng.split('held-out'));
  const stepsOf = (own: readonly LearnedEpisode[]) => recordedSteps(own, domain);
  const world = worldKindOf(domain);
  const form = new StepForm({
    world,
    types: objectTypes(world === 'facts' ? factsIn(stepsOf(parts.train)) : []),
    shared: world === 'values' ? sharedValues(valuesIn(stepsOf(parts.train))) : [],
  });
  const written = writtenSteps(stepsOf(parts.train), form);
  const tokenizer = trainTokenizer(textsOf(written), { size: fit.vocabulary, specials: SCRIPT_TOKENS });
  const codec = ScriptCodec.of(tokenizer)!;
  const documents = documentsOf(written, codec, fit);
  const [forCalibration, forJudging] = [parts.calibrate, parts.judge].map((own) =>
    spaced([...stepsOf(own)], fit.heldOutSteps),
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

async function trained(
  { settings: { fit }, rng, work, signal, onProgress }: SequenceFitRequest,
  tokenizer: Tokenizer,
  { documents }: Documents,
): Promise<DecoderTrainer> {
  const config = fittedSizes(fit, tokenizer.size);
  const { rows, length, steps, learningRate } = fit;
  const trainer = await DecoderTrainer.create({
    config,
    training: { rows, length, steps, learningRate, warmupSteps: Math.min(50, Math.ceil(steps / 10)) },
    start: { rng: rng.split('weights') },
  });
  // A checkpoint belongs to these very documents.
  const name = sha256(canonicalJson([tokenizer.toJson(), documents.map(({ tokens }) => Array.from(tokens))])).slice(
    0,
    16,
  );
  const folder = work && join(work, `training-${name}`);
  if (folder !== undefined && existsSync(folder)) await resumeTraining(folder, trainer);
  const corpus = new PackedCorpus(documents, trainer.shape, rng.split('batches'));
  let savedAt = performance.now();
  while (trainer.step < steps) {
    const batches = Array.from({ length: Math.min(CHUNK, steps - trainer.step) }, (_, i) =>
      corpus.batch(trainer.step + i),
    );
    const { loss } = await trainer.train(batches);
    onProgress?.({
      phase: 'train',
      unit: 'steps',
      done: trainer.step,
      total: steps,
      note: `loss ${loss[loss.length - 1].toFixed(3)}`,
    });
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

interface Parts {
  readonly train: readonly LearnedEpisode[];
  readonly calibrate: readonly LearnedEpisode[];
  readonly judge: readonly LearnedEpisode[];
}

/** Tasks apart, so that no game is learned from that is judged by. Two at least are held out: one to calibrate, one to judge. */
function splitByTask(episodes: readonly LearnedEpisode[], domain: ToolsDomain, share: number, rng: Rng): Parts {
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

function* factsIn(steps: Iterable<RecordedStep>) {
  for (const { question } of steps) {
    const { scene } = question.world;
    if (scene !== undefined) yield { scene, facts: factsOf(question.world) };
  }
}

function* valuesIn(steps: Iterable<RecordedStep>) {
  for (const { question } of steps) yield question.world.values;
}

function spaced<T>(list: readonly T[], count: number): readonly T[] {
  if (list.length <= count) return list;
  return Array.from({ length: count }, (_, i) => list[Math.floor((i * list.length) / count)]);
}

/** What a decoder that is fitted is made of. */
export function fittedSizes(fit: SequenceSettings['fit'], vocabSize: number): DecoderConfigInput {
  return {
    vocabSize,
    hiddenSize: fit.hidden,
    intermediateSize: Math.round((fit.hidden * 8) / 3 / 16) * 16,
    layers: fit.layers,
    heads: fit.heads,
    kvHeads: fit.kvHeads,
    headDim: Math.floor(fit.hidden / fit.heads),
    contextLength: fit.length,
  };
}
