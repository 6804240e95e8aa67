// A step of the engine (one random elite a row, noise, grouping, checks) against onnxruntime-node used directly with the
// same weights, one thread each. The baseline does the same arithmetic in one untiled run: one graph whose batched MatMul
// gives each elite a fifth of the rows, then the same noise from the same generator, added in a plain loop.
// Kept beside it: one untiled run of each elite's own model over its fifth (`grouped`), and every elite over every row,
// from which one is selected (`all`). B = 1 is a bare run of a random elite's model: always the same one would stay in
// cache, which a different elite a step does not. Where two cores are free, `b100000TwoThreads` is two workers of ours with
// half the rows each against the batched run with two intra-op threads (spinning, ONNX Runtime's default).

import { availableParallelism } from 'node:os';
import * as ort from 'onnxruntime-node';
import { Rng } from '../src/core/rng.js';
import { Graph, type Value } from '../src/nn/graph.js';
import { add, linear, matMul, mul, sigmoid, slice, sqrt, swish } from '../src/nn/ops.js';
import { memberShapeOf } from '../src/worldmodel/ensemble/contents.js';
import type { EnsembleModel } from '../src/worldmodel/ensemble/ensemble-model.js';
import { type FoldedMember, foldNormaliser, memberLayout } from '../src/worldmodel/ensemble/members.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { ACTION_DIM, ELITES, HIDDEN, makeEnsemble, OBS_DIM, randomTransitions } from './ensemble-fixture.js';
import { measurePaired, type PairedRates, ratioInterval } from './measure.js';
import { StepWorkers } from './step-workers.js';

const INPUT = OBS_DIM + ACTION_DIM;
const OUTPUT = OBS_DIM + 1;
const OPTIONS = { intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel: 'all' } as const;

type Step = (rows: number, inputs: Float32Array, obs: Float32Array, rng: Rng) => Promise<Float32Array>;

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const { quick, log } = context;
  const model = await makeEnsemble();
  const { measure, sessions, rounds, large } = await againstOrt(context, model, model);
  const results = await headline(context, { measure, sessions, large });
  results['b100000VsGrouped'] = await measure(large, quick ? 1 : 3, sessions.grouped);
  results['b100000VsAll'] = await measure(large, 1, sessions.all);
  await sessions.release();
  if (availableParallelism() >= 2) {
    results['b100000TwoThreads'] = await measureTwoThreads(model, large, { rounds, steps: quick ? 1 : 3, log });
  }
  await model.close();
  return measurementOf(results, rounds, log);
}

interface Comparison {
  readonly measure: (rows: number, steps: number, baseline: Step) => Promise<PairedRates>;
  readonly sessions: Awaited<ReturnType<typeof openBaselines>>;
  readonly rounds: number;
  /** Rows of the largest batch. */
  readonly large: number;
}

/** Steps of `stepped` beside those of onnxruntime-node with the weights of `model`. */
export async function againstOrt(
  { quick, log }: BenchmarkContext,
  model: EnsembleModel,
  stepped: EnsembleModel,
): Promise<Comparison> {
  const rounds = quick ? 2 : 11;
  const sessions = await openBaselines(model);
  const measure = async (rows: number, steps: number, baseline: Step): Promise<PairedRates> => {
    const { obs, action } = randomTransitions(rows, Rng.fromSeed(1));
    const rng = Rng.fromSeed(2);
    const carry = stepped.begin(obs);
    const rate = async (step: () => Promise<unknown>) => {
      const start = performance.now();
      for (let i = 0; i < steps; i++) await step();
      return (rows * steps) / ((performance.now() - start) / 1000);
    };
    const inputs = sideBySide(obs, action, rows);
    return measurePaired({
      rounds,
      ours: () => rate(() => stepped.imagine(carry, action, rng)),
      baseline: () => rate(() => baseline(rows, inputs, obs, rng)),
      log,
    });
  };
  return { measure, sessions, rounds, large: quick ? 5000 : 100_000 };
}

/** One row, a thousand, and the largest batch. */
export async function headline(
  { quick }: BenchmarkContext,
  { measure, sessions, large }: Omit<Comparison, 'rounds'>,
): Promise<Record<string, PairedRates>> {
  return {
    b1: await measure(1, quick ? 100 : 5000, sessions.bare),
    b1000: await measure(1000, quick ? 3 : 100, sessions.batched),
    b100000: await measure(large, quick ? 1 : 3, sessions.batched),
  };
}

export function measurementOf(
  results: Readonly<Record<string, PairedRates>>,
  rounds: number,
  log: (line: string) => void,
): Measurement {
  const ratios = Object.fromEntries(Object.entries(results).map(([key, rates]) => [key, ratioInterval(rates)]));
  for (const [key, { value, low, high }] of Object.entries(ratios)) log(`${key}: ${value} (${low} to ${high})`);
  const raw = { rowsPerSecond: results, ratios };
  return { ...ratios['b100000'], n: rounds, raw, versions: { 'onnxruntime-node': ort.env.versions.node ?? '1.30.0' } };
}

interface Effort {
  readonly rounds: number;
  readonly steps: number;
  readonly log: (line: string) => void;
}

async function measureTwoThreads(model: EnsembleModel, rows: number, effort: Effort): Promise<PairedRates> {
  const { rounds, steps, log } = effort;
  const batch = randomTransitions(rows, Rng.fromSeed(1));
  const inputs = sideBySide(batch.obs, batch.action, rows);
  const workers = await StepWorkers.start(model, batch, 2);
  const session = await ort.InferenceSession.create(batchedGraph(elitesOf(model)), {
    ...OPTIONS,
    intraOpNumThreads: 2,
  });
  const rng = Rng.fromSeed(2);
  const rate = async (work: () => Promise<unknown>) => {
    const start = performance.now();
    await work();
    return (rows * steps) / ((performance.now() - start) / 1000);
  };
  const baseline = batchedStep(session);
  const rates = await measurePaired({
    rounds,
    ours: () => rate(() => workers.step(steps)),
    baseline: () =>
      rate(async () => {
        for (let i = 0; i < steps; i++) await baseline(rows, inputs, batch.obs, rng);
      }),
    log,
  });
  await Promise.all([workers.close(), session.release()]);
  return rates;
}

function batchedStep(session: ort.InferenceSession): Step {
  return async (rows, inputs, obs, rng) => {
    const answer = await session.run({ input: new ort.Tensor('float32', inputs, [ELITES, rows / ELITES, INPUT]) });
    return sampled([answer], rows, obs, rng);
  };
}

async function openBaselines(model: EnsembleModel) {
  const elites = elitesOf(model);
  const create = (graph: Uint8Array) => ort.InferenceSession.create(graph, OPTIONS);
  const [batchedSession, allSession] = [await create(batchedGraph(elites)), await create(allGraph(elites))];
  const own = await Promise.all(elites.map((elite) => create(singleGraph(elite))));
  const bare: Step = async (rows, inputs, obs, rng) => {
    const answer = await own[rng.int(ELITES)].run({ input: new ort.Tensor('float32', inputs, [rows, INPUT]) });
    return sampled([answer], rows, obs, rng);
  };
  const batched = batchedStep(batchedSession);
  const grouped: Step = async (rows, inputs, obs, rng) => {
    const share = rows / ELITES;
    const answers: ort.InferenceSession.OnnxValueMapType[] = [];
    for (let e = 0; e < ELITES; e++) {
      const part = inputs.subarray(e * share * INPUT, (e + 1) * share * INPUT);
      answers.push(await own[e].run({ input: new ort.Tensor('float32', part, [share, INPUT]) }));
    }
    return sampled(answers, rows, obs, rng);
  };
  const all: Step = async (rows, inputs, obs, rng) => {
    const feeds = { input: new ort.Tensor('float32', inputs, [rows, INPUT]) };
    const answer = await allSession.run(feeds);
    return sampled([{ mean: answer['mean0'], std: answer['std0'] }], rows, obs, rng);
  };
  const release = () => Promise.all([batchedSession, allSession, ...own].map((session) => session.release()));
  return { bare, batched, grouped, all, release };
}

/** obs + mean + std · noise for the observation, mean + std · noise for the reward: [rows, OUTPUT]. */
function sampled(
  answers: readonly ort.InferenceSession.OnnxValueMapType[],
  rows: number,
  obs: Float32Array,
  rng: Rng,
): Float32Array {
  const out = rng.fillNormal(new Float32Array(rows * OUTPUT));
  let row = 0;
  for (const answer of answers) {
    const mean = answer['mean'].data as Float32Array;
    const std = answer['std'].data as Float32Array;
    for (let at = 0; at < mean.length; row++) {
      for (let j = 0; j < OUTPUT; j++, at++) {
        const base = j < OBS_DIM ? obs[row * OBS_DIM + j] : 0;
        out[row * OUTPUT + j] = base + mean[at] + std[at] * out[row * OUTPUT + j];
      }
    }
  }
  return out;
}

function sideBySide(obs: Float32Array, action: Float32Array, rows: number): Float32Array {
  const inputs = new Float32Array(rows * INPUT);
  for (let row = 0; row < rows; row++) {
    inputs.set(obs.subarray(row * OBS_DIM, (row + 1) * OBS_DIM), row * INPUT);
    inputs.set(action.subarray(row * ACTION_DIM, (row + 1) * ACTION_DIM), row * INPUT + OBS_DIM);
  }
  return inputs;
}

function elitesOf(model: EnsembleModel): FoldedMember[] {
  const { config, normaliser, elites } = model.description;
  const shape = memberShapeOf(model.description, config);
  const layout = memberLayout(shape, config);
  return elites.map((member) => {
    const theta = model.parameters!.slice(member * layout.size, (member + 1) * layout.size);
    return foldNormaliser(theta, layout, shape, normaliser);
  });
}

/** One elite's network: mean and std [rows, OUTPUT]. */
function memberOf(graph: Graph, input: Value, elite: FoldedMember, name: string): { mean: Value; std: Value } {
  const sizes = [INPUT, ...HIDDEN, 2 * OUTPUT];
  let h = input;
  for (let layer = 0; layer <= HIDDEN.length; layer++) {
    const w = graph.initializer(`${name}w${layer}`, [sizes[layer], sizes[layer + 1]], elite.view(`net.w${layer}`));
    h = linear(h, w, graph.initializer(`${name}b${layer}`, [sizes[layer + 1]], elite.view(`net.b${layer}`)));
    if (layer < HIDDEN.length) h = swish(h);
  }
  return { mean: slice(h, 1, 0, OUTPUT), std: spread(graph, slice(h, 1, OUTPUT, 2 * OUTPUT), elite) };
}

function spread(graph: Graph, raw: Value, elite: FoldedMember): Value {
  const [low, range] = [elite.varianceMin, elite.varianceMax].map((v) => graph.constant(Array.from(v)));
  return sqrt(add(mul(sigmoid(raw), range), low));
}

function singleGraph(elite: FoldedMember): Uint8Array {
  const graph = new Graph('single');
  const { mean, std } = memberOf(graph, graph.input('input', 'float32', ['rows', INPUT]), elite, '');
  graph.output('mean', mean);
  graph.output('std', std);
  return graph.toModel();
}

function allGraph(elites: readonly FoldedMember[]): Uint8Array {
  const graph = new Graph('all');
  const input = graph.input('input', 'float32', ['rows', INPUT]);
  elites.forEach((elite, e) => {
    const { mean, std } = memberOf(graph, input, elite, `e${e}`);
    graph.output(`mean${e}`, mean);
    graph.output(`std${e}`, std);
  });
  return graph.toModel();
}

function batchedGraph(elites: readonly FoldedMember[]): Uint8Array {
  const graph = new Graph('batched');
  const sizes = [INPUT, ...HIDDEN, 2 * OUTPUT];
  const stacked = (name: string, shape: number[]) =>
    graph.initializer(name, shape, Float32Array.from(elites.flatMap((elite) => Array.from(elite.view(`net.${name}`)))));
  let h = graph.input('input', 'float32', [ELITES, 'rows', INPUT]);
  for (let layer = 0; layer <= HIDDEN.length; layer++) {
    const w = stacked(`w${layer}`, [ELITES, sizes[layer], sizes[layer + 1]]);
    h = add(matMul(h, w), stacked(`b${layer}`, [ELITES, 1, sizes[layer + 1]]));
    if (layer < HIDDEN.length) h = swish(h);
  }
  graph.output('mean', slice(h, 2, 0, OUTPUT));
  graph.output('std', spread(graph, slice(h, 2, OUTPUT, 2 * OUTPUT), elites[0]));
  return graph.toModel();
}
