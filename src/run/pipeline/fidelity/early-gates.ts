// Gates are read before anything is opened, and their metrics looked for before anything is measured: who wrote one wrong
// should not wait for it.

import { reverieError } from '../../../errors.js';
import {
  type Gate,
  judgeGates,
  metricsOf,
  parseGates,
  requireMetric,
  type Section,
  type Subject,
} from '../../../fidelity/index.js';
import type { JobInputs } from '../../job.js';
import type { AnyScenario } from '../../scenario.js';

/** @throws FIDELITY_GATE_INVALID, also for a section that is not measured */
export function gatesOf({ failUnder = [] }: JobInputs, { config }: AnyScenario): Gate[] {
  const gates = parseGates(failUnder);
  const sections: readonly string[] = config.fidelity.sections;
  for (const [i, { metric }] of gates.entries()) {
    const [section] = metric.split('.');
    if (sections.includes(section)) continue;
    const problem = `section "${section}" is not measured: it is not among fidelity.sections`;
    throw reverieError('FIDELITY_GATE_INVALID', { gate: failUnder[i], problem });
  }
  return gates;
}

/**
 * Metrics that exist only once something was found, such as those of one backend, begin like one that is always there; they are
 * looked for when all is measured.
 *
 * @throws FIDELITY_METRIC_UNKNOWN, FIDELITY_GATE_INVALID for a metric of which neither way is better
 */
export function requireMeasured(gates: readonly Gate[], { name, instruments, derive }: Subject): void {
  if (gates.length === 0) return;
  const found = new Map(instruments.map((instrument) => [instrument.id, instrument.conclude([])]));
  const sections = [...found.values(), ...(derive?.(found) ?? [])].map(({ section }) => section);
  const subject = { name, kind: '', version: '', sections };
  const known = [...metricsOf(subject).keys()];
  for (const gate of gates) {
    if (known.includes(gate.metric)) judgeGates([gate], subject);
    else if (!mayComeToBe(gate.metric, sections)) requireMetric(subject, gate.metric);
  }
}

function mayComeToBe(name: string, sections: readonly Section[]): boolean {
  const section = sections.find(({ id }) => name.startsWith(`${id}.`));
  if (section === undefined) return false;
  const { id, metrics } = section;
  return metrics.length === 0 || metrics.some(({ key }) => name.startsWith(`${id}.${key}-`));
}
