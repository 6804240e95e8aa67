// Does each part of the experience model earn its place? Arms from plain text simulation to the router with exact code,
// answered by a language model whose error is known (and by a real small one, where a server is named), and measured
// against the domain's rules: one step, what is left of changes when they are read back, and whole episodes as data.

import type { ToolsDomain, ToolsTask } from '../src/env/tools/domain.js';
import type { ToolsQuestion } from '../src/fidelity/tools/question.js';
import { makeLanguageModel } from '../src/llm/served-model.js';
import type { ExperienceIndex } from '../src/replay/experience/experience.js';
import { readEpisodeLogs } from '../src/replay/experience/logs/read-episode-logs.js';
import { ExperienceStore } from '../src/replay/experience/store.js';
import { terminalTable } from '../src/run/result-text.js';
import { loadToolsScenario, type ToolsScenario } from '../src/run/scenario.js';
import { nativeDomain } from '../test/controlled/native-domain.js';
import type { BenchmarkContext, Measurement } from './benchmark.js';
import { controlledName } from './controlled-name.js';
import { startControlledServer } from './controlled-server.js';
import { ARMS, type Arm, armResponder, knownDomain } from './experience-ablation-arms.js';
import {
  type EpisodeScores,
  judgedRewards,
  liveEpisodes,
  plainJudge,
  scoreEpisodes,
} from './experience-ablation-episodes.js';
import { ablationQuestions } from './experience-ablation-questions.js';
import { realModelPart } from './experience-ablation-real-model.js';
import { summaryTable, writeAblationReport } from './experience-ablation-report.js';
import { TYPICAL } from './experience-ablation-settings.js';
import { type StepScores, scoreSteps } from './experience-ablation-steps.js';
import { bootstrap, mean } from './measure.js';

const CONCURRENCY = 16;

export interface Sizes {
  readonly transitionErrors: readonly number[];
  readonly rewardErrors: readonly number[];
  readonly seeds: readonly number[];
  readonly questions: number;
  readonly tasks: number;
}

const FULL: Sizes = {
  transitionErrors: [0, 0.05, 0.1, 0.2, 0.4],
  rewardErrors: [0, 0.1, 0.3],
  seeds: [1, 2, 3, 4, 5],
  questions: 200,
  tasks: 42,
};
const QUICK: Sizes = {
  transitionErrors: [0, TYPICAL],
  rewardErrors: [0, TYPICAL],
  seeds: [1, 2],
  questions: 16,
  tasks: 6,
};

/** One arm with one error and one seed. */
export interface Cell {
  readonly arm: string;
  readonly transitionError: number;
  readonly seed: number;
  readonly steps: StepScores;
  /** By error of the reward; verifiers make none, so it changes nothing where the state is typed. */
  readonly episodes: readonly (EpisodeScores & { readonly rewardError: number })[];
}

export interface AblationParts {
  readonly scenario: ToolsScenario;
  readonly domain: ToolsDomain;
  readonly index: ExperienceIndex;
  readonly questions: readonly ToolsQuestion[];
  readonly trainTasks: readonly ToolsTask[];
  readonly sizes: Sizes;
}

export async function run(context: BenchmarkContext): Promise<Measurement> {
  const { quick, log } = context;
  const parts = await makeParts(quick ? QUICK : FULL);
  const cells = await controlledCells(parts, log);
  log(`at a transition error of ${TYPICAL}:\n${terminalTable(summaryTable(cells))}`);
  const realModel = await realModelPart(parts, context);
  if (!quick) await writeAblationReport(context, parts, { cells, realModel });
  const { seeds } = parts.sizes;
  const differences = seeds.map((seed) => readBack(cells, '+router', seed) - readBack(cells, 'text', seed));
  return {
    ...bootstrap(differences, mean),
    n: seeds.length,
    raw: {
      ...parts.sizes,
      questions: parts.questions.length,
      tasks: parts.trainTasks.length,
      arms: ARMS,
      cells,
      realModel: realModel ?? 'not measured: REVERIE_LLM_URL names no server',
    },
  };
}

async function makeParts(sizes: Sizes): Promise<AblationParts> {
  const scenario = await loadToolsScenario('helpdesk');
  const domain = await nativeDomain('helpdesk', scenario.folder);
  const index = await ExperienceStore.open();
  for (const path of scenario.config.experience.logs) {
    const { steps } = await readEpisodeLogs(`${scenario.folder}/${path}`, { domain, scenario: 'helpdesk' });
    await index.add(steps);
  }
  const heldOut = domain.tasks.filter(({ split }) => split !== 'train');
  const trainTasks = domain.tasks.filter(({ split }) => split === 'train').slice(0, sizes.tasks);
  const questions = await ablationQuestions(domain, heldOut, sizes.questions);
  return { scenario, domain, index, questions, trainTasks, sizes };
}

async function controlledCells(parts: AblationParts, log: (line: string) => void): Promise<Cell[]> {
  const server = await startControlledServer('helpdesk', parts.scenario.folder);
  const cells: Cell[] = [];
  const { transitionErrors, seeds } = parts.sizes;
  try {
    for (const transitionError of transitionErrors) {
      for (const seed of seeds) {
        for (const arm of ARMS) cells.push(await controlledCell(parts, server.url, arm, { transitionError, seed }));
      }
      log(`transition error ${transitionError}: ${ARMS.length} arms, ${seeds.length} seeds measured`);
    }
  } finally {
    server.close();
  }
  return cells;
}

type Condition = Pick<Cell, 'transitionError' | 'seed'>;

async function controlledCell(parts: AblationParts, url: string, arm: Arm, condition: Condition): Promise<Cell> {
  const { domain, index, questions, trainTasks } = parts;
  const model = await controlledModel(url, { ...condition, rewardError: 0 });
  try {
    const responder = armResponder(arm, { domain, index, model });
    const options = { seed: condition.seed, concurrency: CONCURRENCY };
    const steps = await scoreSteps(arm, responder, questions, options);
    const lived = await liveEpisodes(domain, responder, trainTasks, options);
    const episodes: Cell['episodes'][number][] = [];
    for (const rewardError of parts.sizes.rewardErrors) {
      const rewards =
        arm.mode === 'typed'
          ? lived.map(({ record }) => record.verdict.reward)
          : await judged(parts, lived, url, { ...condition, rewardError });
      episodes.push({ rewardError, ...scoreEpisodes(arm, knownDomain(arm, domain), lived, rewards) });
    }
    return { arm: arm.name, ...condition, steps, episodes };
  } finally {
    await model.close();
  }
}

async function judged(
  { domain }: AblationParts,
  lived: Awaited<ReturnType<typeof liveEpisodes>>,
  url: string,
  errors: Condition & { readonly rewardError: number },
): Promise<(number | null)[]> {
  const model = await controlledModel(url, errors);
  try {
    return await judgedRewards(domain, lived, plainJudge(model), { seed: errors.seed, concurrency: CONCURRENCY });
  } finally {
    await model.close();
  }
}

function controlledModel(url: string, errors: Parameters<typeof controlledName>[0]) {
  return makeLanguageModel({
    provider: 'openai-compatible',
    url,
    model: controlledName(errors),
    dialect: 'openai',
    structured: 'json_schema',
  });
}

function readBack(cells: readonly Cell[], arm: string, seed: number): number {
  const cell = cells.find((one) => one.arm === arm && one.seed === seed && one.transitionError === TYPICAL)!;
  const { hits, of } = cell.steps.readBack.all;
  return hits / of;
}
