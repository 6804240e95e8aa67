// A step of the engine (one random elite a row, noise, grouping, checks) against onnxruntime-node used directly with the
// same weights, one thread each. The baseline does the same arithmetic in one untiled run: one graph whose batched MatMul
// gives each elite a fifth of the rows, then the same noise from the same generator, added in a plain loop.
// B = 1 is a bare run of a random elite's model: always the same one would stay in cache, which a different elite a step does not.

import * as ort from 'onnxruntime-node';
import { Rng } from '../src/core/rng.js';
import { Graph, type Value } from '../src/nn/graph.js';
import { add, linear, matMul, mul, sigmoid, slice, sqrt, swish } from '../src/nn/ops.js';
import { memberShapeOf } from '../src/worldmodel/ensemble/contents.js';
import type { EnsembleModel } from '../src/worldmodel/ensemble/ensemble-model.js';
import { type FoldedMember, foldNormaliser, memberLayout } from '../src/worldmodel/ensemble/members.js';
import type { BenchmarkContext, BenchmarkModule, Measurement } from './benchmark.js';
import { ACTION_DIM, ELITES, HIDDEN, makeEnsemble, nativeOf, OBS_DIM, randomTransitions } from './ensemble-fixture.js';
import { measurePaired, type PairedRates, ratioInterval } from './measure.js';

const INPUT = OBS_DIM + ACTION_DIM;
const OUTPUT = OBS_DIM + 1;
const OPTIONS = { intraOpNumThreads: 1, interOpNumThreads: 1, graphOptimizationLevel: 'all' } as const;

type Step = (rows: number, inputs: Float32Array, obs: Float32Array, rng: Rng) => Promise<Float32Array>;

export const onRuntime: BenchmarkModule = {
  async run(context) {
    const model = await makeEnsemble();
    const found = await againstOrt(context, model, model);
    await model.close();
    return found;
  },
};

/** By vector code, one thread: the same noise, grouping and checks. */
export const native: BenchmarkModule = {
  async run(context) {
    const model = await makeEnsemble();
    const stepped = await nativeOf(model);
    const found = await againstOrt(context, model, stepped);
    await Promise.all([stepped.close(), model.close()]);
    return found;
  },
};

/** Steps of `stepped` beside those of onnxruntime-node with the weights of `model`: one row, a thousand, and the largest batch. */
async function againstOrt(
  { quick, log }: BenchmarkContext,
  model: EnsembleModel,
  stepped: EnsembleModel,
): Promise<Measurement> {
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
  const results = {
    b1: await measure(1, quick ? 100 : 5000, sessions.bare),
    b1000: await measure(1000, quick ? 3 : 100, sessions.batched),
    b100000: await measure(quick ? 5000 : 100_000, quick ? 1 : 3, sessions.batched),
  };
  await sessions.release();
  const ratios = Object.fromEntries(Object.entries(results).map(([key, rates]) => [key, ratioInterval(rates)]));
  for (const [key, { value, low, high }] of Object.entries(ratios)) log(`${key}: ${value} (${low} to ${high})`);
  const raw = { rowsPerSecond: results, ratios };
  return { ...ratios['b100000'], n: rounds, raw, versions: { 'onnxruntime-node': ort.env.versions.node ?? '1.30.0' } };
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
  const batchedSession = await create(batchedGraph(elites));
  const own = await Promise.all(elites.map((elite) => create(singleGraph(elite))));
  const bare: Step = async (rows, inputs, obs, rng) => {
    const answer = await own[rng.int(ELITES)].run({ input: new ort.Tensor('float32', inputs, [rows, INPUT]) });
    return sampled([answer], rows, obs, rng);
  };
  const batched = batchedStep(batchedSession);
  const release = () => Promise.all([batchedSession, ...own].map((session) => session.release()));
  return { bare, batched, release };
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
