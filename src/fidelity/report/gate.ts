// Limits on what was measured, for builds that must not get worse: `one-step.state-exact=0.95`.

import { nearest, reverieError } from '../../core/errors.js';
import { type GateResult, type Metric, SECTIONS } from './fidelity-report.js';
import { metricsOf, type ShownSubject } from './shown-report.js';

export interface Gate {
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
 * @throws GATE_INVALID
 */
export function parseGates(texts: readonly string[]): Gate[] {
  return texts.map(parseGate);
}

function parseGate(text: string): Gate {
  const invalid = (problem: string) =>
    reverieError('GATE_INVALID', {
      problem: `Gate "${text}": ${problem}.`,
      hint: 'Write section.metric=limit, such as one-step.state-exact=0.95 or value:k-steps.drift=0.3; docs/fidelity.md has more.',
    });
  const [whole, value, section, metric, limitText] = FORM.exec(text.trim()) ?? [];
  if (whole === undefined) throw invalid('it is not of the form section.metric=limit');
  if (!(SECTIONS as readonly string[]).includes(section))
    throw invalid(`there is no section "${section}", only ${SECTIONS.join(', ')}`);
  const isPercent = limitText.endsWith('%');
  const digits = isPercent ? limitText.slice(0, -1).trim() : limitText.trim();
  const limit = digits === '' ? Number.NaN : Number(digits);
  if (!Number.isFinite(limit)) throw invalid(`"${limitText}" is no number`);
  const on = value === undefined ? 'interval' : 'value';
  return { metric: `${section}.${metric}`, limit: isPercent ? limit / 100 : limit, on };
}

/**
 * Holds the gates against one model. A metric that is better higher must reach its limit, one that is better lower must not
 * exceed it. Without `value:` it is the worse end of the interval that must: few units prove little. An estimate that has no
 * interval is held by its value; one that counted nothing fails.
 *
 * @throws GATE_INVALID, GATE_INVALID for a metric of which neither way is better
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
    throw reverieError('GATE_INVALID', {
      problem: `Gate "${`${metric}=${limit}`}": ${problem}.`,
      hint: 'Write section.metric=limit, such as one-step.state-exact=0.95 or value:k-steps.drift=0.3; docs/fidelity.md has more.',
    });
  }
  const worse = better === 'higher' ? 'low' : 'high';
  const end = on === 'interval' && estimate[worse] !== null ? worse : 'value';
  const value = estimate[end];
  const passed = value !== null && (better === 'higher' ? value >= limit : value <= limit);
  return { metric, limit, bound: better === 'higher' ? 'at-least' : 'at-most', end, value, passed };
}

/** @throws GATE_INVALID naming the nearest that is known */
export function requireMetric(subject: ShownSubject, name: string): Metric {
  const metrics = metricsOf(subject);
  const metric = metrics.get(name);
  if (metric !== undefined) return metric;
  throw reverieError('GATE_INVALID', {
    problem: `Nothing that is measured of "${subject.name}" is called "${name}".`,
    hint: `Did you mean "${nearest(name, [...metrics.keys()]) ?? 'nothing: there is no metric'}"? The report lists all that is measured.`,
  });
}
