// Exact replay as a backend: the same call in the same state was run before, so its outcome is known.

import { NO_COST } from '../../core/cost.js';
import { stateHash } from '../../env/state/state.js';
import type { CallQuery } from '../../env/tools/tools-family.js';
import type { ExperienceIndex, ExperienceStep } from '../../replay/experience/experience.js';
import type { BackendEntry, BackendModel, Declined, RawProposal } from './backend-model.js';
import { callsBefore, toolOf } from './checks.js';

export class ReplayModel implements BackendModel {
  readonly version = 'replay:1';

  constructor(private readonly index: ExperienceIndex) {}

  async predict(query: CallQuery): Promise<RawProposal | Declined> {
    const step = this.index.exact({
      call: { name: query.call.name, arguments: query.call.arguments },
      history: callsBefore(query),
      stateHash: stateHash(query.state),
      sources: 'real',
    });
    if (step === undefined) return { declined: 'this call was never recorded in this state' };
    const operations = changesOf(step, toolOf(query.domain, step.call.name)?.kind === 'write');
    if (operations === undefined) return { declined: 'it was recorded in this state, but not what it changed' };
    const modelVersion = `${this.version}:${step.scenario}/${step.episode}#${step.step}`;
    const { observation, isError } = step;
    return { operations, observation, isError, confidence: 1, modelVersion, cost: NO_COST };
  }
}

function changesOf(step: ExperienceStep, isWrite: boolean) {
  if (step.operations !== undefined) return step.operations;
  return step.isError || !isWrite ? [] : undefined;
}

export const replayBackend: BackendEntry = {
  name: 'replay',
  summary: 'A recorded transition of the same call in the same state.',
  trust: 'exact',
  needs: ['records'],
  make: async () => {
    return ({ index, hasStates = true }) =>
      index && hasStates ? new ReplayModel(index) : 'replay: there are no records whose state is known';
  },
};
