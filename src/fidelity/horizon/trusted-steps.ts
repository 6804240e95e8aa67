// What a report says may be trusted of one model, for jobs that dream in it.

import { reverieError } from '../../core/errors.js';
import type { FidelityReport, SubjectReport } from '../report/fidelity-report.js';
import { realRatioAt } from './trust-horizon.js';

export interface Trust {
  /** Name of the model in the report. */
  readonly subject: string;
  /** Dreamt steps in a row; 0: none. */
  readonly steps: number;
  /** Share of real rows that goes with it. */
  readonly realRatio: number;
}

export interface TrustQuery {
  readonly scenario: string;
  /** Of the model that is to be dreamt in. */
  readonly version: string;
  /** The report's place, for messages. */
  readonly path: string;
}

/** @throws FIDELITY_UNFIT for a report of another scenario or another version, or one without a trust horizon */
export function trustedSteps(report: FidelityReport, { scenario, version, path }: TrustQuery): Trust {
  if (report.scenario !== scenario) {
    throw unfit(path, `it judges scenario "${report.scenario}", and this is "${scenario}"`);
  }
  const subject = report.subjects.find((one) => one.version === version);
  if (subject === undefined) {
    const judged = report.subjects.map((one) => `${one.name} (${short(one.version)})`).join(', ');
    throw unfit(path, `it judges ${judged}, and not the model of this run (${short(version)})`);
  }
  const steps = horizonIn(subject);
  if (steps === null) throw unfit(path, `it found no trust horizon of ${subject.name}`);
  return { subject: subject.name, steps, realRatio: realRatioAt(steps) };
}

function horizonIn({ sections }: SubjectReport): number | null {
  const metrics = sections.find(({ id }) => id === 'horizon')?.metrics ?? [];
  return metrics.find(({ key }) => key === 'trusted-steps')?.estimate.value ?? null;
}

function short(version: string): string {
  return version.length > 40 ? `${version.slice(0, 40)}...` : version;
}

function unfit(path: string, problem: string): Error {
  return reverieError('FIDELITY_UNFIT', { path, problem });
}
