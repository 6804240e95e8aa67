// How many calls does a small model take over from the language model that it learned from? Of each seed: a language model answers the
// calls of the service desk in episodes of its training tasks; `reverie fit` makes a small model of these records; then the two together,
// the small one first, are asked the calls of episodes of other families of tasks, held against the service desk's own rules. The
// language model is one whose error is known, so that both can be judged: a share of its answers is wrong, in the records, too.
//
// The value is the share of calls that the small model answers; beside it stands what that does to the share of exact states. Kept case by
// case (study-cases.ts); REVERIE_BENCH_SEEDS (comma-separated) chooses what this sitting measures.

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalJson } from '../src/core/canonical-json.js';
import { sha256 } from '../src/core/hash.js';
import type { Estimate, FidelityReport } from '../src/fidelity/index.js';
import { loadAnyScenario } from '../src/run/index.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { controlledName } from './controlled-name.js';
import { startControlledServer } from './controlled-server.js';
import { judge, runJob } from './fidelity-runs.js';
import { bootstrap, mean } from './measure.js';
import { type CaseName, chosen, studyOf } from './study-cases.js';

const ID = 'distill.share';
const SCENARIO = 'helpdesk';
const SEEDS = ['31', '32', '33', '34', '35'];
/** Share of the language model's answers that are wrong. */
const TEACHER_ERROR = 0.02;
const ALONE = 'language model alone';

interface Sizes {
  /** Episodes that the language model answers, and those that are asked about. */
  readonly episodes: number;
  readonly asked: number;
  /** Gradient steps of the fit. */
  readonly steps: number;
  readonly questions: number;
}

const FULL: Sizes = { episodes: 600, asked: 120, steps: 1500, questions: 500 };
const QUICK: Sizes = { episodes: 30, asked: 6, steps: 5, questions: 10 };

interface Share {
  readonly value: number;
  readonly n: number;
}

interface DistilledCase extends CaseName {
  /** Of all calls, those that the small model answered. */
  readonly takenOver: Share;
  /** Exact next states: of the two together, and of the language model asked everything. */
  readonly stateExact: { readonly together: number; readonly alone: number };
  /** Words, changes and refusal all right: of the two together, of what the small model answered, and of the language model alone. */
  readonly allRight: { readonly together: number; readonly taken: number | null; readonly alone: number };
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const sizes = quick ? QUICK : FULL;
  const seeds = (quick ? SEEDS.slice(0, 1) : chosen(SEEDS, 'REVERIE_BENCH_SEEDS')).map(Number);
  const study = await studyOf<DistilledCase>(root, ID, quick);
  const server = await startControlledServer(SCENARIO, join(root, 'packs', SCENARIO));
  const folder = await mkdtemp(join(tmpdir(), 'reverie-distill-'));
  const cases: DistilledCase[] = [];
  try {
    for (const seed of seeds) {
      const name = { body: SCENARIO, arm: 'small model first', seed, hash: await hashOf(sizes) };
      let found = study.find(name);
      if (found === undefined) {
        found = { ...name, ...(await distilled(join(folder, String(seed)), server.url, seed, sizes, quick)) };
        await study.keep(found);
      }
      const { takenOver, stateExact, allRight } = found;
      log(`seed ${seed}: ${JSON.stringify({ takenOver, stateExact, allRight })}`);
      cases.push(found);
    }
  } finally {
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
  const lost = bootstrap(
    cases.map(({ stateExact: { together, alone } }) => alone - together),
    mean,
  );
  const value = bootstrap(
    cases.map(({ takenOver }) => takenOver.value),
    mean,
  );
  return { ...value, n: cases.length, raw: { sizes, teacherError: TEACHER_ERROR, stateExactnessLost: lost, cases } };
}

async function hashOf(sizes: Sizes): Promise<string> {
  return sha256(canonicalJson([(await loadAnyScenario(SCENARIO)).hash, { ...sizes }, TEACHER_ERROR]));
}

async function distilled(folder: string, url: string, seed: number, sizes: Sizes, quick: boolean) {
  await mkdir(folder, { recursive: true });
  const model = controlledName({ seed, transitionError: TEACHER_ERROR, rewardError: 0 });
  const teacher = ['llm.provider=openai-compatible', `llm.url=${url}`, `llm.model=${JSON.stringify(model)}`];
  const records = (split: string, episodes: number) => [
    ...[`synth.splits=[${split}]`, `synth.episodes=${episodes}`, 'synth.export=[]', 'experience.logs=[]'],
  ];
  const lived = await runJob({
    ...{ job: 'synth', scenario: SCENARIO, seed, out: join(folder, 'lived') },
    set: [...teacher, ...records('train', sizes.episodes), 'model.backends=[llm]'],
  });
  const small = await runJob({
    ...{ job: 'fit', scenario: SCENARIO, seed, inputs: { data: lived }, out: join(folder, 'small') },
    set: [`model.sequence.fit.steps=${sizes.steps}`],
  });
  const truth = await runJob({
    ...{ job: 'collect', scenario: SCENARIO, seed: seed + 1000, out: join(folder, 'truth') },
    set: records('test', sizes.asked),
  });
  const report = await judge({
    ...{ scenario: SCENARIO, seed, inputs: { heldOut: join(truth, 'logs') }, out: join(folder, 'judged') },
    set: [
      ...[...teacher, 'experience.logs=[]', 'model.backends=[sequence, llm]', `model.sequence.model=${small}`],
      ...(quick ? ['model.sequence.minExactness=0'] : []),
      `fidelity.subjects=[{name: ${ALONE}, model: {backends: [llm]}}]`,
      ...['fidelity.truth=recorded', 'fidelity.sections=[one-step]', `fidelity.questions=${sizes.questions}`],
    ],
  });
  return sharesOf(report);
}

function sharesOf(report: FidelityReport) {
  const estimate = (subject: number, key: string): Partial<Estimate> =>
    report.subjects[subject].sections[0].metrics.find((metric) => metric.key === key)?.estimate ?? {};
  const alone = report.subjects.findIndex(({ name }) => name === ALONE);
  const of = (key: string) => ({ together: estimate(0, key).value!, alone: estimate(alone, key).value! });
  const taken = estimate(0, 'all-right-sequence');
  const n = estimate(0, 'all-right').n!;
  return {
    takenOver: { value: (taken.n ?? 0) / n, n },
    stateExact: of('state-exact'),
    allRight: { ...of('all-right'), taken: taken.value ?? null },
  };
}
