// The room that knows all others: scenarios, jobs, and what they leave behind.

export { FIDELITY_FILE, openFidelityReport, type ShownReport, withoutSamples } from '../fidelity/index.js';
export type { ScenarioConfig } from '../kinds/index.js';
export { checkScenarioEnvironment, environmentReportText } from './check-environment.js';
export { type Colours, coloursFor } from './colours.js';
export { definePlugin, type PluginEntries } from './define-plugin.js';
export type { DeviceFlags } from './device-flags.js';
export { type Diagnosis, diagnose, diagnosisText, type Finding } from './doctor.js';
export { formatCount, formatDuration, formatNumber, formatRate, formatSpread } from './format.js';
export { type Inspection, inspectFolder, inspectionText } from './inspect.js';
export { listenForInterrupt, RunInterrupted } from './interrupt.js';
export type * from './job.js';
export { interrupted, JobInterrupted } from './job.js';
export { type AnyJobResult, type JobName, type Jobs, loadWorker } from './jobs.js';
export { type LaunchOptions, launch } from './launch.js';
export { type MetricsEvent, type MetricsMark, MetricsWriter, readMetrics } from './metrics.js';
export { makeProgress, type Phase, type Progress } from './progress.js';
export type { WorkOptions, WorkResult } from './queue/work.js';
export { reportPage, writeReport } from './report/report.js';
export type * from './report/report-input.js';
export { resultText, terminalTable } from './result-text.js';
export { METRICS_FILE, type RunRecord, readRunRecord, SCENARIO_FILE, savedScenario } from './run-folder.js';
export {
  type AnyScenario,
  adjustScenario,
  listScenarios,
  loadAnyScenario,
  loadScenario,
  loadToolsScenario,
  type Scenario,
  type ScenarioOptions,
  scenarioText,
  type ToolsScenario,
} from './scenario.js';
export type { Blueprint, EnvironmentMaker } from './serving/blueprint.js';
export { openServable, type ServableOptions } from './serving/open-servable.js';
export type * from './serving/servable.js';
export { type VectorBlueprint, vectorMaker } from './serving/vector-blueprint.js';
export type * from './tools-results.js';
export { machine, reportProvenance, versions } from './versions.js';
