// From what was measured to a report: limits on the first model (`one-step.state-exact=0.95`), further models held against it,
// and what is missing. Gates are read before anything is opened, and their metrics looked for before anything is measured.

import { nameHint, type ReverieError, reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import { metricsOf, type ShownSubject } from './document.js';
import type { Measured } from './measure.js';
import {
  type Comparison,
  type FidelityReport,
  type GateResult,
  type Metric,
  SECTIONS,
  type SubjectReport,
} from './report.js';
import type { OpenedSubjects, Subject } from './section.js';
import { leastGain, meanEstimate } from './statistics.js';

interface Gate {
  /** `section.metric`. */
  readonly metric: string;
  readonly limit: number;
  /** The worse end of the interval is held against the limit, or the value itself. */
  readonly on: 'interval' | 'value';
}

const FORM = /^(value:)?([a-z0-9-]+)\.([a-z0-9-]+)=(.+)$/;

/**
 * Gates as written on a command line: `[value:]section.metric=limit`, the limit a number or a percentage.
 *
 * @param sections those that are measured
 * @throws SETTING_INVALID
 */
export function parseGates(texts: readonly string[] = [], sections: readonly string[] = SECTIONS): Gate[] {
  return texts.map((text) => {
    const invalid = (problem: string) => gateInvalid(text, problem);
    const [whole, value, section, metric, limitText] = FORM.exec(text.trim()) ?? [];
    if (whole === undefined) throw invalid('it is not of the form section.metric=limit');
    if (!(SECTIONS as readonly string[]).includes(section))
      throw invalid(`there is no section "${section}", only ${SECTIONS.join(', ')}`);
    if (!sections.includes(section))
      throw invalid(`section "${section}" is not measured: it is not among fidelity.sections`);
    const isPercent = limitText.endsWith('%');
    const digits = isPercent ? limitText.slice(0, -1).trim() : limitText.trim();
    const limit = digits === '' ? Number.NaN : Number(digits);
    if (!Number.isFinite(limit)) throw invalid(`"${limitText}" is no number`);
    const on = value === undefined ? 'interval' : 'value';
    return { metric: `${section}.${metric}`, limit: isPercent ? limit / 100 : limit, on };
  });
}

function gateInvalid(gate: string, problem: string): Error {
  return reverieError('SETTING_INVALID', {
    problem: `Gate "${gate}": ${problem}.`,
    hint: 'Write section.metric=limit, such as one-step.state-exact=0.95 or value:k-steps.drift=0.3; docs/fidelity.md has more.',
  });
}

/**
 * Holds the gates against one model. A metric that is better higher must reach its limit, one that is better lower must not
 * exceed it. Without `value:` it is the worse end of the interval that must: few units prove little. An estimate that has no
 * interval is held by its value; one that counted nothing fails.
 *
 * @throws SETTING_INVALID for a metric of which neither way is better
 */
export function judgeGates(gates: readonly Gate[], subject: ShownSubject): GateResult[] {
  const metrics = metricsOf(subject);
  return gates.map((gate) => {
    const floor = metrics.get(`${gate.metric}-floor`)?.estimate.value ?? undefined;
    return { ...judgeGate(gate, requireMetric(subject, gate.metric)), ...(floor === undefined ? {} : { floor }) };
  });
}

function judgeGate({ metric, limit, on }: Gate, { better, estimate }: Metric): GateResult {
  if (better === 'neither') {
    const problem = 'of this metric neither higher nor lower is better, so it has no limit';
    throw gateInvalid(`${metric}=${limit}`, problem);
  }
  const worse = better === 'higher' ? 'low' : 'high';
  const end = on === 'interval' && estimate[worse] !== null ? worse : 'value';
  const value = estimate[end];
  const passed = value !== null && (better === 'higher' ? value >= limit : value <= limit);
  return { metric, limit, bound: better === 'higher' ? 'at-least' : 'at-most', end, value, passed };
}

/** @throws SETTING_INVALID naming the nearest that is known */
function requireMetric(subject: ShownSubject, name: string): Metric {
  const metrics = metricsOf(subject);
  const metric = metrics.get(name);
  if (metric !== undefined) return metric;
  throw reverieError('SETTING_INVALID', {
    problem: `Nothing that is measured of "${subject.name}" is called "${name}".`,
    hint: `${nameHint(name, [...metrics.keys()])} The report lists all that is measured.`,
  });
}

/**
 * Metrics that exist only once something was found, such as those of one backend, begin like one that is always there; they are
 * looked for when all is measured.
 *
 * @throws SETTING_INVALID for a metric of which neither way is better
 */
export function requireMeasured(gates: readonly Gate[], { name, instruments, derive }: Subject): void {
  if (gates.length === 0) return;
  const found = new Map(instruments.map((instrument) => [instrument.id, instrument.conclude([])]));
  const sections = [...found.values(), ...(derive?.(found) ?? [])].map(({ section }) => section);
  const subject = { name, kind: '', version: '', sections };
  const known = metricsOf(subject);
  for (const gate of gates) {
    const mayComeToBe = [...known.keys()].some((name) => gate.metric.startsWith(`${name}-`));
    if (known.has(gate.metric) || !mayComeToBe) judgeGates([gate], subject);
  }
}

/** Comparisons and charts go by the names of models. Those of a name that was there before get a number: `model`, `model 2`. */
export function uniquelyNamed<T extends { readonly name: string }>(subjects: readonly T[]): T[] {
  const taken = new Set<string>();
  return subjects.map((subject) => {
    let name = subject.name;
    for (let number = 2; taken.has(name); number++) name = `${subject.name} ${number}`;
    taken.add(name);
    return { ...subject, name };
  });
}

interface ReportRequest extends Pick<FidelityReport, 'scenario' | 'family' | 'provenance'> {
  readonly seed: number;
  readonly gates: readonly Gate[];
  readonly opened: Pick<OpenedSubjects, 'truth' | 'subjects'>;
}

/** The report on what was measured, be it all or not. @throws SETTING_INVALID */
export function reportOn({ subjects, spent }: Measured, request: ReportRequest): FidelityReport {
  const { scenario, family, provenance, seed, gates, opened } = request;
  return {
    format: 'reverie-fidelity/1',
    scenario,
    family,
    truth: opened.truth,
    subjects,
    comparisons: compareSubjects(subjects, Rng.fromSeed(seed).split('fidelity-comparisons')),
    gates: judgeGates(gates, subjects[0]),
    provenance,
    ...(spent && { incomplete: incompleteText(opened.subjects.length - subjects.length, spent) }),
  };
}

function incompleteText(missing: number, spent: ReverieError): string {
  const unseen = missing === 0 ? '' : ` Not reached: ${missing} of the models.`;
  return `Not all was measured. ${spent.message}${unseen}`;
}

// Further models held against the first, unit by unit, over what both were measured on.

/** Of every metric that has a sample of both models, as many units of one as of the other: the mean difference with its interval. */
export function compareSubjects(subjects: readonly SubjectReport[], rng: Rng): Comparison[] {
  const [first, ...others] = subjects;
  return others.flatMap((second, place) =>
    sharedMetrics(first, second).map(([metric, { better }]) => {
      const [a, b] = [first.samples[metric], second.samples[metric]];
      const differences = a.flatMap((value, i) => (value === null || b[i] === null ? [] : [b[i] - value]));
      const difference = meanEstimate(differences, rng.split(place, metric).split('interval'));
      const floor = noiseFloor(metric, [first, second], differences.length);
      const models = { first: first.name, second: second.name };
      return { metric, ...models, better, difference, ...(floor !== undefined && { floor }) };
    }),
  );
}

/** Difference of two models' means that the noise of their rewards explains, if it was measured for both. */
function noiseFloor(metric: string, models: readonly SubjectReport[], n: number): number | undefined {
  const known = (key: string) => models.map((model) => metricsOf(model).get(key)?.estimate.value ?? null);
  const isMean = metric === 'noise.reward';
  const [a, b] = known(isMean ? 'noise.floor' : 'noise.total');
  if (a === null || b === null || n === 0) return undefined;
  if (isMean) return Math.hypot(a, b) / Math.SQRT2;
  // One play each.
  return metric === 'reward-end.optimism' ? leastGain([a, b], n) : undefined;
}

function sharedMetrics(first: SubjectReport, second: SubjectReport): [string, Metric][] {
  const known = metricsOf(second);
  return [...metricsOf(first)].filter(([name]) => {
    const [a, b] = [first.samples[name], second.samples[name]];
    return known.has(name) && a !== undefined && b !== undefined && a.length === b.length;
  });
}
