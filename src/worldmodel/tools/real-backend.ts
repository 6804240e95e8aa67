// The real environment as a backend: asked where no other backend could answer, and where the scenario allows it.

import { elsewhere } from '../../env/tools/rules-responder.js';
import type { CallQuery, Responder } from '../../env/tools/tools-family.js';
import type { BackendEntry, BackendModel, PredictOptions, RawProposal } from './backend-model.js';

export const realBackend: BackendEntry = {
  name: 'real',
  summary: 'The real environment, asked where no other backend could answer.',
  trust: 'exact',
  isReal: (domain) =>
    elsewhere(domain) !== undefined || domain.tools.every(({ name }) => domain.rules?.tools.has(name) === true),
  make: async () => {
    return ({ real }) => (real ? new RealModel(real) : 'real: there is no real environment');
  },
};

class RealModel implements BackendModel {
  readonly version: string;

  constructor(private readonly real: Responder) {
    this.version = `real:${real.version}`;
  }

  async predict(query: CallQuery, { signal }: PredictOptions): Promise<RawProposal> {
    const answer = await this.real.answer(query, signal);
    const { operations, observation, isError, confidence, modelVersion, cost, reward, terminated } = answer;
    return { operations, observation, isError, confidence, modelVersion, cost, exact: { reward, terminated } };
  }
}
