// The room of fidelity: how far a dream is from the real, as numbers with intervals.

export * from './horizon/index.js';
export type * from './instrument.js';
export * from './learning/index.js';
export {
  type ChunkAddress,
  type Measured,
  type MeasureOptions,
  measureSubjects,
  measureWithinBudget,
  readKept,
} from './measure.js';

export * from './rank/index.js';
export { compareSubjects } from './report/compare.js';
export * from './report/fidelity-report.js';
export { type BarsFigure, type CurvesFigure, type Figure, type FigureSeries, figuresOf } from './report/figures.js';
export { type Gate, judgeGates, parseGates, requireMetric } from './report/gate.js';
export { type Headline, headlineMetrics, headlines } from './report/headlines.js';
export { fidelityMarkdown } from './report/markdown.js';
export { notesOf, tablesOf } from './report/merged-text.js';
export { metricsOf, type ShownSubject } from './report/metric-lookup.js';
export { type ModelCardOptions, modelCard } from './report/model-card.js';
export { FIDELITY_FILE, openFidelityReport, readFidelityReport } from './report/read-report.js';
export {
  headlineRows,
  type MetricRow,
  type SectionGroup,
  type ShownReport,
  sectionGroups,
  truthText,
  turnOf,
  withoutSamples,
} from './report/shown-report.js';
export { differenceText, estimateText, gateText, intervalText, valueText } from './report/wording.js';
export { writeFidelityReport } from './report/write-report.js';
export { type Estimate, NOTHING } from './statistics/estimate.js';
export * from './tools/index.js';
export * from './vector/index.js';
