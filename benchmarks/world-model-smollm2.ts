// Trains a small world model. SmolLM2-135M-Instruct is asked for the next state of calls on held-out tasks, as it is and
// after TRL's SFT on the export `world-model`, served as OpenAI's API both times and asked by the backend `llm`, whose own checks
// decide. Half of the calls change something. Each domain and seed is a case of a study: REVERIE_BENCH_SEEDS and
// REVERIE_BENCH_DOMAINS choose what this sitting measures, REVERIE_BENCH_THREADS how many threads torch takes (1).

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalJson, type Json, sha256 } from '../src/core/canonical-json.js';
import { applyOperations } from '../src/env/state/operations.js';
import { stateHash } from '../src/env/state/state.js';
import { makeDomain } from '../src/env/tools/domains.js';
import type { Prediction } from '../src/env/tools/prediction.js';
import { makeLanguageModel } from '../src/llm/served-model.js';
import { readEpisodes } from '../src/run/pipeline/tools/gates.js';
import { loadToolsScenario } from '../src/run/scenario.js';
import { answeredCalls } from '../src/synth/export/episodes/world-model.js';
import { LlmStepModel, type LlmStepOptions } from '../src/worldmodel/llm/step-model.js';
import { checkProposal, comparableObservation } from '../src/worldmodel/tools/checks.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { runCommand } from './command-line.js';
import { PythonPeer } from './python-peer.js';
import { pointsBetween } from './smollm2-arms.js';
import { REQUIREMENTS } from './smollm2-rig.js';
import { type CaseName, chosen, studyOf } from './study-cases.js';

/** The result of one held-out call. */
interface Asked {
  readonly tool: string;
  readonly changes: boolean;
  /** The state after it, and whether it succeeds, are what they are by the exact rules; the text, too. */
  readonly state: boolean;
  readonly observation: boolean;
  /** Why the answer was refused; absent if it was accepted. */
  readonly problem?: string;
}

interface WorldCase extends CaseName {
  readonly asked: readonly Asked[];
  /** Number of training rows. */
  readonly rows: number;
  readonly seconds: Readonly<Record<'training' | 'asking', number>>;
  readonly log: readonly object[];
}

interface Sizes {
  readonly episodes: number;
  readonly rows: number;
  readonly calls: number;
  /** Tokens of a row, prompt and reply. */
  readonly longest: number;
  /** Tokens of a reply that is learned, and that may be written. */
  readonly reply: number;
  readonly written: number;
  /** Of TRL's SFTConfig. */
  readonly training: object;
}

const ID = 'world-model.smollm2';
/** Characters of operations and observation of a call that is asked about. */
const LONGEST_ANSWER = 400;
const SEEDS = ['1', '2', '3'];
const CURVE = { lr_scheduler_type: 'linear', warmup_steps: 2, weight_decay: 0 };
const FULL: Sizes = {
  ...{ episodes: 64, rows: 32, calls: 12, longest: 900, reply: 200, written: 200 },
  training: { max_steps: 32, per_device_train_batch_size: 1, learning_rate: 1e-3, ...CURVE },
};
const QUICK: Sizes = {
  ...{ episodes: 64, rows: 2, calls: 2, longest: 900, reply: 200, written: 4 },
  training: { ...FULL.training, max_steps: 1, per_device_train_batch_size: 1 },
};

/** Prompt settings: short, since the model is small and trained on the domain. */
const SHOWN = [
  ...['model.llm.instructions=short', 'model.llm.retrieval.k=0', 'model.llm.stateTokens=80'],
  'model.llm.historyTokens=60',
];
const FILTERS = ['quality.decontaminate.words=false', 'quality.nearDuplicates=false', 'synth.export=[world-model]'];
const DOMAINS: Readonly<Record<string, readonly string[]>> = {
  helpdesk: ['agent.kind=scripted', 'synth.splits=[train, test]'],
  alfworld: ['domain.splits=[train, valid_seen]', 'domain.games=120', 'synth.splits=[train, validation]'],
};
/** Few of ALFWorld's calls are short. */
const TIMES_EPISODES: Readonly<Record<string, number>> = { alfworld: 4 };

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const { quick, root, log } = context;
  const sizes = quick ? QUICK : FULL;
  const seeds = (quick ? SEEDS.slice(0, 1) : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const domains = chosen(Object.keys(DOMAINS), 'REVERIE_BENCH_DOMAINS');
  const study = await studyOf<WorldCase>(root, ID, quick);
  const temporary = await mkdtemp(join(tmpdir(), 'reverie-world-model-'));
  const folder = quick ? temporary : join(root, 'runs', 'bench', ID);
  const found: WorldCase[] = [];
  let rig: Rig | undefined;
  try {
    for (const body of domains) {
      const hash = sha256(canonicalJson({ sizes, set: settingsOf(body, sizes) } as unknown as Json));
      for (const seed of [0, ...seeds]) {
        const name = { body, arm: seed === 0 ? 'untrained' : 'trained', seed, hash };
        let one = study.find(name);
        if (one === undefined) {
          rig ??= await startRig(context, folder);
          one = { ...name, ...(await measured(rig, body, seed, sizes)) };
          await study.keep(one);
          log(
            `${body}, ${one.arm}, seed ${seed}: ${JSON.stringify(rateOf(one.asked))}, ${JSON.stringify(one.seconds)} s`,
          );
        }
        found.push(one);
      }
    }
    const of = (body: string, seed: number) => found.find((one) => one.body === body && one.seed === seed)!;
    const rewards = (seed: number, bodies = domains) => ({
      rewards: bodies.flatMap((body) => of(body, seed).asked.map(({ state }) => Number(state))),
    });
    const gain = (bodies: readonly string[]) =>
      pointsBetween(seeds.map((seed) => [rewards(seed, bodies), rewards(0, bodies)]));
    const rates = found.map(({ body, arm, seed, asked, seconds, rows }) => ({
      body,
      arm,
      seed,
      rows,
      ...rateOf(asked),
      seconds,
    }));
    const byDomain = Object.fromEntries(domains.map((body) => [body, gain([body])]));
    return {
      ...gain(domains),
      n: seeds.length,
      raw: { sizes, seeds, byDomain, rates, cases: found },
      versions: rig?.versions,
    };
  } finally {
    await rig?.peer.close();
    await rm(temporary, { recursive: true, force: true });
  }
}

function settingsOf(body: string, { episodes }: Sizes): readonly string[] {
  return [...SHOWN, ...FILTERS, ...DOMAINS[body], `synth.episodes=${episodes * (TIMES_EPISODES[body] ?? 1)}`];
}

function rateOf(asked: readonly Asked[]) {
  const share = (list: readonly Asked[], is: (one: Asked) => boolean) => `${list.filter(is).length} of ${list.length}`;
  return {
    state: share(asked, ({ state }) => state),
    changed: share(
      asked.filter(({ changes }) => changes),
      ({ state }) => state,
    ),
    observation: share(asked, ({ observation }) => observation),
  };
}

interface Rig {
  readonly root: string;
  readonly folder: string;
  readonly peer: PythonPeer;
  /** Folder of weights and tokenizer. */
  readonly base: string;
  readonly versions: Readonly<Record<string, string>>;
  /** Folders of runs by domain. */
  readonly runs: Map<string, string>;
}

async function startRig({ root, log }: BenchmarkContext, folder: string): Promise<Rig> {
  const threads = Number(process.env['REVERIE_BENCH_THREADS'] ?? 1);
  const peer = await PythonPeer.start({
    ...{ name: 'smollm2-trl', requirements: REQUIREMENTS, script: 'smollm2_world.py', root, log },
    environment: { OMP_NUM_THREADS: String(threads) },
  });
  const base = join(root, 'benchmarks', '.cache', 'smollm2-135m-instruct');
  return { root, folder, peer, base, versions: await peer.call('setup', { folder: base, threads }), runs: new Map() };
}

async function measured(rig: Rig, body: string, seed: number, sizes: Sizes) {
  const { peer, base, runs } = rig;
  const episodes = runs.get(body) ?? (await episodesOf(rig, body, sizes));
  runs.set(body, episodes);
  const began = performance.now();
  const adapter = join(rig.folder, body, `seed-${seed}`);
  const data = join(episodes, 'datasets', 'world-model', 'data', 'prompt_completion', 'train-00000-of-00001.jsonl');
  const { rows, longest, reply, training: settings } = sizes;
  const trained =
    seed === 0
      ? { rows: 0, log: [] }
      : await peer.call<{ rows: number; log: object[] }>('train', {
          ...{ base, data, out: adapter, seed, count: rows, longest, reply, settings },
        });
  const trainedAt = performance.now();
  const url = await peer.call<string>('start', { base, ...(seed > 0 && { adapter }) });
  const asked = await askedOf(body, episodes, url, sizes);
  const seconds = (from: number, to: number) => Math.round(to - from) / 1000;
  return {
    ...{ asked, ...trained },
    seconds: { training: seconds(began, trainedAt), asking: seconds(trainedAt, performance.now()) },
  };
}

/** A run with the export, of tasks to train on and of others. */
async function episodesOf({ root, folder }: Rig, body: string, sizes: Sizes): Promise<string> {
  const out = join(folder, body, 'episodes');
  await rm(out, { recursive: true, force: true });
  const set = settingsOf(body, sizes).flatMap((setting) => ['--set', setting]);
  const args = ['synth', body, '--seed', '1', '--workers', '0', '--out', out, ...set];
  const { code, stderr } = await runCommand(root, args, root);
  if (code !== 0) throw new Error(`reverie synth ended with ${code}: ${stderr}`);
  return out;
}

/** Calls on held-out tasks, each sent once to the backend `llm`, without retries. */
async function askedOf(body: string, episodes: string, url: string, sizes: Sizes): Promise<Asked[]> {
  const { config, folder } = await loadToolsScenario(body, { set: [...settingsOf(body, sizes)] });
  const domain = await makeDomain(config.domain, { folder });
  const model = await makeLanguageModel({
    url,
    model: 'smollm2',
    structured: 'json_schema',
    timeoutSeconds: 3000,
    deadlineSeconds: 3600,
  });
  try {
    const settings = { ...config.model.llm, maxTokens: sizes.written } as unknown as LlmStepOptions;
    const world = new LlmStepModel(model, settings);
    return await Promise.all(
      (await heldOut(domain, join(episodes, 'data'), sizes.calls)).map(async ({ query, prediction: truth }) => {
        const proposal = await world.predict(query, {});
        const head = { tool: query.call.name, changes: truth.operations.length > 0 };
        if ('declined' in proposal || 'problems' in proposal)
          return { ...head, state: false, observation: false, problem: JSON.stringify(proposal).slice(0, 300) };
        const checked = checkProposal({ ...query, proposal, check: config.model.check });
        if (checked.problems !== undefined)
          return { ...head, state: false, observation: false, problem: checked.problems.join(' ').slice(0, 300) };
        const isSame = stateHash(checked.after) === stateHash(applyOperations(query.state, truth.operations));
        return {
          ...head,
          state: isSame && proposal.isError === truth.isError,
          observation: comparableObservation(checked.observation) === comparableObservation(truth.observation),
        };
      }),
    );
  } finally {
    await model.close();
    domain.close();
  }
}

/** Longer answers are not written in the tokens that a reply has here. */
function isShort({ operations, observation }: Prediction): boolean {
  return JSON.stringify([operations, observation]).length <= LONGEST_ANSWER;
}

/** As many calls that change something as calls that do not, evenly spaced over the held-out episodes. */
async function heldOut(domain: Awaited<ReturnType<typeof makeDomain>>, data: string, count: number) {
  const byId = new Map(domain.tasks.map((task) => [task.id, task]));
  const calls = [];
  for await (const record of readEpisodes(data)) {
    if (record.split === 'train') continue;
    for (const { query, prediction } of answeredCalls(record, domain, byId.get(record.task)!))
      if (query !== undefined && prediction.backend !== 'schema' && isShort(prediction))
        calls.push({ query, prediction });
  }
  if (calls.length < count) throw new Error(`only ${calls.length} held-out calls of ${count}`);
  const evenly = <T>(list: readonly T[], some: number) =>
    Array.from(
      { length: Math.min(some, list.length) },
      (_, i) => list[Math.floor((i * list.length) / Math.min(some, list.length))],
    );
  const changing = calls.filter(({ prediction }) => prediction.operations.length > 0);
  const reading = calls.filter(({ prediction }) => prediction.operations.length === 0);
  return [...evenly(changing, count / 2), ...evenly(reading, count / 2)];
}
