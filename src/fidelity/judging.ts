// From models under judgement to a report: gates are read before anything is opened, and their metrics looked for before anything
// is measured, as who wrote one wrong should not wait for it.

import { type ReverieError, reverieError } from '../core/errors.js';
import { Rng } from '../core/rng.js';
import type { Subject } from './instrument.js';
import type { Measured } from './measure.js';
import { compareSubjects } from './report/compare.js';
import type { FidelityReport, Section } from './report/fidelity-report.js';
import { type Gate, judgeGates, parseGates, requireMetric } from './report/gate.js';
import { metricsOf } from './report/shown-report.js';
import type { OpenedSubjects } from './setup.js';

/** @throws GATE_INVALID, also for a section that is not measured */
export function gatesOn(sections: readonly string[], failUnder: readonly string[] = []): Gate[] {
  const gates = parseGates(failUnder);
  for (const [i, { metric }] of gates.entries()) {
    const [section] = metric.split('.');
    if (sections.includes(section)) continue;
    const problem = `section "${section}" is not measured: it is not among fidelity.sections`;
    throw reverieError('GATE_INVALID', {
      problem: `Gate "${failUnder[i]}": ${problem}.`,
      hint: 'Write section.metric=limit, such as one-step.state-exact=0.95 or value:k-steps.drift=0.3; docs/fidelity.md has more.',
    });
  }
  return gates;
}

/**
 * Metrics that exist only once something was found, such as those of one backend, begin like one that is always there; they are
 * looked for when all is measured.
 *
 * @throws GATE_INVALID, GATE_INVALID for a metric of which neither way is better
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

export interface ReportRequest extends Pick<FidelityReport, 'scenario' | 'family' | 'provenance'> {
  readonly seed: number;
  readonly gates: readonly Gate[];
  readonly opened: Pick<OpenedSubjects, 'truth' | 'subjects'>;
}

/** The report on what was measured, be it all or not. @throws GATE_INVALID */
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
