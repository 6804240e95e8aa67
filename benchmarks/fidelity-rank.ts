// Do policies rank in the dream as they do for real? Ladders of policies lived in world models of several scenarios and in
// their real counterparts: learned ensembles of bodies, and worlds of tools by a language model whose error is known.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Estimate, FidelityReport } from '../src/fidelity/index.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { controlledName } from './controlled-name.js';
import { startControlledServer } from './controlled-server.js';
import { judge, runJob } from './fidelity-runs.js';

const METRICS = ['spearman', 'kendall', 'pearson', 'mmrv-share', 'regret-at-1', 'regret-at-3'] as const;
const SEED = 11;
/** Of the controlled language model: share of calls whose change of state is wrong. */
const TRANSITION_ERROR = 0.1;

interface Ranked {
  readonly scenario: string;
  readonly model: string;
  readonly metrics: Readonly<Record<(typeof METRICS)[number], Estimate>>;
  readonly policies: readonly (readonly string[])[];
}

export async function run({ quick, root, log }: BenchmarkContext): Promise<Measurement> {
  const folder = await mkdtemp(join(tmpdir(), 'reverie-rank-'));
  try {
    const ranked: Ranked[] = [];
    const tell = (one: Ranked) => {
      ranked.push(one);
      const { spearman, 'mmrv-share': share } = one.metrics;
      log(`${one.scenario} (${one.model}): Spearman ${text(spearman)}, MMRV ${text(share)} of the range`);
    };
    for (const body of quick ? BODIES.slice(0, 1) : BODIES) tell(await rankBody(body, folder, quick));
    for (const scenario of quick ? ['helpdesk'] : ['helpdesk', 'cellar']) {
      tell(await rankTools(scenario, root, folder, quick));
    }
    const worst = ranked.reduce((a, b) => (value(b) < value(a) ? b : a)).metrics.spearman;
    return {
      value: worst.value ?? 0,
      low: worst.low ?? -1,
      high: worst.high ?? 1,
      n: ranked.length,
      raw: { scenarios: ranked, transitionErrorOfTools: TRANSITION_ERROR },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Body {
  readonly scenario: string;
  readonly model: string;
  /** Settings of the run that makes model, data and policy. */
  readonly train: readonly string[];
  readonly episodes: number;
}

const REAL = ['train.mode=real', 'train.realSteps=8000', 'train.initialRandomSteps=2000', 'train.updatesPerStep=0.75'];

const BODIES: readonly Body[] = [
  { scenario: 'cartpole-swingup', model: 'ensemble of a run of train', train: [], episodes: 20 },
  {
    scenario: 'pendulum',
    model: 'ensemble fitted to 4,000 real steps of SAC',
    train: ['train.mode=real', 'train.realSteps=4000', 'train.evalEvery=2000'],
    episodes: 20,
  },
  {
    scenario: 'hopper',
    model: 'ensemble fitted to 8,000 real steps of SAC',
    train: [...REAL, 'train.evalEvery=4000'],
    episodes: 20,
  },
];

async function rankBody({ scenario, model, train, episodes }: Body, folder: string, quick: boolean): Promise<Ranked> {
  const lived = join(folder, `${scenario}-train`);
  const set = quick ? [...train, 'train.realSteps=600', 'train.initialRandomSteps=400', 'train.evalEpisodes=1'] : train;
  await runJob({ job: 'train', scenario, set, seed: SEED, out: lived });
  const isReal = train.includes('train.mode=real');
  const fitted = isReal
    ? await runJob({
        job: 'fit',
        scenario,
        seed: SEED,
        inputs: { data: lived },
        set: quick ? ['model.maxEpochs=2'] : [],
        out: join(folder, `${scenario}-model`),
      })
    : lived;
  const report = await judge({
    scenario,
    set: [
      'fidelity.sections=[rank]',
      `fidelity.transitions=${quick ? 500 : 4000}`,
      `fidelity.rank.episodes=${quick ? 2 : episodes}`,
    ],
    seed: SEED,
    inputs: { model: fitted, checkpoint: lived },
    out: join(folder, `${scenario}-judged`),
  });
  return rankedOf(scenario, model, report);
}

async function rankTools(scenario: string, root: string, folder: string, quick: boolean): Promise<Ranked> {
  const server = await startControlledServer(scenario, join(root, 'scenarios', scenario));
  try {
    const model = controlledName({ seed: SEED, transitionError: TRANSITION_ERROR, rewardError: 0 });
    const report = await judge({
      scenario,
      set: [
        'model.backends=[llm]',
        'model.llm.mode=typed',
        'llm.provider=openai-compatible',
        `llm.url=${server.url}`,
        `llm.model=${JSON.stringify(model)}`,
        'fidelity.sections=[rank]',
        `fidelity.questions=${quick ? 10 : 100}`,
        `fidelity.rank.episodes=${quick ? 4 : 60}`,
      ],
      seed: SEED,
      out: join(folder, `${scenario}-judged`),
    });
    return rankedOf(scenario, `language model with typed state, transition error ${TRANSITION_ERROR}`, report);
  } finally {
    server.close();
  }
}

function rankedOf(scenario: string, model: string, { subjects: [subject] }: FidelityReport): Ranked {
  const section = subject.sections.find(({ id }) => id === 'rank')!;
  const estimates = METRICS.map(
    (key) => [key, section.metrics.find((metric) => metric.key === key)!.estimate] as const,
  );
  const metrics = Object.fromEntries(estimates) as unknown as Ranked['metrics'];
  return { scenario, model, metrics, policies: section.tables.flatMap(({ columns, rows }) => [columns, ...rows]) };
}

function value({ metrics }: Ranked): number {
  return metrics.spearman.value ?? -1;
}

function text({ value: middle, low, high }: Estimate): string {
  return `${middle?.toFixed(3)} [${low?.toFixed(3)}, ${high?.toFixed(3)}]`;
}
