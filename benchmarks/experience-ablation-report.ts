// The table and the page of experience.ablation.

import { CHANGE_GROUPS } from '../src/fidelity/tools/question.js';
import type { ReportBars, ReportChart, ReportCurve, ReportTable } from '../src/run/report/report-input.js';
import { reportProvenance } from '../src/run/versions.js';
import type { BenchmarkContext } from './benchmark.js';
import type { AblationParts, Cell } from './experience-ablation.js';
import { ARMS } from './experience-ablation-arms.js';
import type { EpisodeScores } from './experience-ablation-episodes.js';
import type { RealModelResult } from './experience-ablation-real-model.js';
import { ABLATION_ID, TYPICAL } from './experience-ablation-settings.js';
import { percent, percentOf, pooled, type Share, shareValue, total } from './experience-ablation-share.js';
import { keepReport } from './pages.js';

interface Results {
  readonly cells: readonly Cell[];
  readonly realModel: RealModelResult | undefined;
}

/** What is measured of a cell; undefined where the arm has none. */
type Measure = (cell: Cell) => Share | undefined;

const COLUMNS: readonly (readonly [string, Measure])[] = [
  ['observation', ({ steps }) => steps.observation],
  ['error flag', ({ steps }) => steps.errorFlag],
  ['refused', ({ steps }) => steps.refused],
  ['state, read back', ({ steps }) => steps.readBack.all],
  ['state, by hash', ({ steps }) => total(steps.state)],
  ['end of episode', (cell) => ofEpisodes(cell, TYPICAL)?.endState],
  ['yield', (cell) => ofEpisodes(cell, TYPICAL)?.yield],
  ['precision', (cell) => ofEpisodes(cell, TYPICAL)?.precision],
  ['recall', (cell) => ofEpisodes(cell, TYPICAL)?.recall],
  ['false done', (cell) => ofEpisodes(cell, TYPICAL)?.falseDone],
];

/** Told on a terminal, where there is room, and kept with the result. */
const ASIDE = new Set(['error flag', 'refused', 'recall']);

/** All seeds of each arm together, at the typical errors. */
export function summaryTable(cells: readonly Cell[], isNarrow = false): ReportTable {
  const shown = COLUMNS.filter(([name]) => !isNarrow || !ASIDE.has(name));
  const rows = ARMS.map(({ name }) => {
    const mine = cells.filter(({ arm, transitionError }) => arm === name && transitionError === TYPICAL);
    return [name, ...shown.map(([, measure]) => percent(pooled(mine.map(measure))))];
  });
  return { columns: ['', ...shown.map(([name]) => name)], rows };
}

export async function writeAblationReport(
  { root }: BenchmarkContext,
  { scenario, sizes, questions, trainTasks }: AblationParts,
  results: Results,
): Promise<void> {
  const { cells, realModel } = results;
  const gain = meanOf(cells, '+router', readBack) - meanOf(cells, 'text', readBack);
  await keepReport(root, ABLATION_ID, {
    title: 'What each part of the experience model is worth',
    lead: `Help desk, ${questions.length} calls of held-out tasks and ${trainTasks.length} whole episodes for each arm, error and seed; a language model whose error is known answers, and the domain's rules say what is true.`,
    figures: [
      { value: percentOf(meanOf(cells, 'text', readBack)), label: 'of changes read back right, plain text' },
      { value: percentOf(meanOf(cells, '+router', readBack)), label: 'the same, +router' },
      {
        value: `${gain > 0 ? '+' : ''}${(100 * gain).toFixed(0)} points`,
        label: `at a transition error of ${TYPICAL}`,
      },
    ],
    summary: {
      ...summaryTable(cells, true),
      note: `Transition error ${TYPICAL}, reward error ${TYPICAL}, all seeds. Yield: episodes kept by the filters with a reward that is the true one. Precision and false done: of rewards of 1, held against the real environment.`,
    },
    charts: charts(cells),
    bars: [...changeBars(cells), ...realBars(realModel)],
    notes: notes(realModel),
    provenance: reportProvenance({ scenario }, `npm run bench -- ${ABLATION_ID}`, { seeds: sizes.seeds }),
  });
}

const readBack: Measure = ({ steps }) => steps.readBack.all;

function charts(cells: readonly Cell[]): ReportChart[] {
  const seeds = 'Line: mean over seeds; band: least to most.';
  const overError = (title: string, yTitle: string, measure: Measure, caption = seeds): ReportChart => ({
    title,
    caption,
    xTitle: 'transition error of the model, %',
    yTitle: `${yTitle}, %`,
    curves: curves(cells, measure),
  });
  const reward = `Reward error ${TYPICAL} where the model judges. ${seeds}`;
  return [
    overError(
      'Changes that can be read back',
      'share of changes',
      readBack,
      `After a call that changes something, the same simulator is asked to show what changed. ${seeds}`,
    ),
    overError('One step: observation right', 'share of calls', ({ steps }) => steps.observation),
    overError('Whole episodes: yield', 'share of episodes', (cell) => ofEpisodes(cell, TYPICAL)?.yield, reward),
    overError(
      'Whole episodes: rewards that were earned',
      'precision of reward 1',
      (cell) => ofEpisodes(cell, TYPICAL)?.precision,
      reward,
    ),
    {
      title: 'Whole episodes: yield by error of the reward',
      caption: `Transition error ${TYPICAL}. Typed arms take no reward from a model. ${seeds}`,
      xTitle: 'reward error of the model, %',
      yTitle: 'share of episodes, %',
      curves: rewardCurves(cells),
    },
  ];
}

function curves(cells: readonly Cell[], measure: Measure): ReportCurve[] {
  return ARMS.flatMap(({ name }) =>
    seedsOf(cells).map((seed) => {
      const mine = cells.filter((cell) => cell.arm === name && cell.seed === seed);
      const points = mine.flatMap((cell) => {
        const y = shareValue(measure(cell));
        return y === undefined ? [] : [{ x: 100 * cell.transitionError, y: 100 * y }];
      });
      return { arm: name, seed, points };
    }),
  ).filter(({ points }) => points.length > 0);
}

function rewardCurves(cells: readonly Cell[]): ReportCurve[] {
  return cells
    .filter(({ transitionError }) => transitionError === TYPICAL)
    .map(({ arm, seed, episodes }) => ({
      arm,
      seed,
      points: episodes.map((scores) => ({ x: 100 * scores.rewardError, y: 100 * (shareValue(scores.yield) ?? 0) })),
    }));
}

/** Of arms that differ: what is lost where much changes at once. */
function changeBars(cells: readonly Cell[]): ReportBars[] {
  const typical = cells.filter(({ transitionError }) => transitionError === TYPICAL);
  const bars = ARMS.flatMap(({ name }) =>
    CHANGE_GROUPS.slice(1).flatMap((group) => {
      const mine = typical.filter(({ arm }) => arm === name);
      const share = pooled(mine.map(({ steps }) => steps.readBack[group]));
      return share.of === 0 ? [] : [bar(`${name}, ${group} change${group === '1' ? '' : 's'}`, share)];
    }),
  );
  const caption = `Changes read back right at a transition error of ${TYPICAL}, by how much one call changes at once.`;
  return [{ title: 'How much changes at once', caption, bars }];
}

/** One figure, so that all is drawn to one scale. */
function realBars(real: RealModelResult | undefined): ReportBars[] {
  if (real === undefined) return [];
  const measures: readonly (readonly [string, (arm: RealModelResult['arms'][number]) => Share | undefined])[] = [
    ['observation right', ({ steps }) => steps.observation],
    ['success or error right', ({ steps }) => steps.errorFlag],
    ['state right', ({ steps }) => total(steps.state)],
    ['changes read back right', ({ steps }) => steps.readBack.all],
    ['refused', ({ steps }) => steps.refused],
  ];
  const bars = measures.flatMap(([name, measure]) =>
    real.arms.flatMap((arm) => {
      const share = measure(arm);
      return share === undefined || share.of === 0 ? [] : [bar(`${arm.arm}: ${name}`, share)];
    }),
  );
  const caption = `${real.model}, up to ${real.mostQuestions} calls for each arm, as many as there was time for. Plain text has no state.`;
  return [{ title: 'A real small model', caption, bars }];
}

function notes(real: RealModelResult | undefined): string[] {
  return [
    ...ARMS.map(({ name, meaning }) => `${name}: ${meaning}.`),
    'The controlled model does not read the transitions it is shown, so that +retrieval can differ from text by chance alone here; what retrieval is worth only a real model can say.',
    'A transition error is a wrong answer to a call: where the state is typed, half of the wrong changes come with the right observation. Plain text forgets a change with the same chance and for good, and with half of it words an answer wrongly.',
    'Where there is no state to verify, the model judges the conversation as it was shown; its verdict is turned round with the reward error. It knows the rules otherwise, which favours the text arms.',
    'Seed logs of the task at hand are withheld from retrieval and from exact replay.',
    ...(real === undefined
      ? []
      : [
          `${real.model} was shown ${real.prompt.k} transitions of ${real.prompt.maxChars} characters, ${real.prompt.historyTokens} tokens of history and ${real.prompt.stateTokens} of state, no more of the policy than its first lines, and could write ${real.prompt.maxTokens} tokens: its window has 8,192.`,
        ]),
  ];
}

function bar(label: string, share: Share): ReportBars['bars'][number] {
  const value = shareValue(share) ?? 0;
  return { label, value, text: `${percent(share)} of ${share.of}` };
}

function ofEpisodes({ episodes }: Cell, rewardError: number): EpisodeScores | undefined {
  return episodes.find((scores) => scores.rewardError === rewardError);
}

function meanOf(cells: readonly Cell[], name: string, measure: Measure): number {
  const mine = cells.filter(({ arm, transitionError }) => arm === name && transitionError === TYPICAL);
  return shareValue(pooled(mine.map(measure))) ?? 0;
}

function seedsOf(cells: readonly Cell[]): number[] {
  return [...new Set(cells.map(({ seed }) => seed))];
}
