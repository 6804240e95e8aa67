// What the trust horizon of a scenario's models is asked with.

import { type Finding, type HorizonPlan, horizonFindings, type SectionId } from '../../../../fidelity/index.js';
import type { Scenario } from '../../../scenario.js';
import { policyGamma } from '../ladder/scale.js';

type Derive = (findings: ReadonlyMap<SectionId, Finding>) => readonly Finding[];

/** For `Subject.derive` of models of numbers. @param maxSteps of an episode of the real environment */
export function vectorHorizon({ config }: Scenario, maxSteps: number): Derive {
  const plan: HorizonPlan = {
    family: 'vector',
    tolerance: config.fidelity.tolerance,
    gamma: policyGamma(config),
    maxSteps,
  };
  return (findings) => (config.fidelity.sections.includes('horizon') ? horizonFindings(findings, plan) : []);
}
