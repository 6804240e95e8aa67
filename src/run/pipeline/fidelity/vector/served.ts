// A served environment under judgement: one can only live in it, from its own reset on.

import { reverieError } from '../../../../core/errors.js';
import { type RemoteVectorEnvironment, remoteEnvironment } from '../../../../env/index.js';
import type { VectorSubjectModel } from '../../../../fidelity/index.js';
import { faceOf } from '../../../../kinds/index.js';
import { judgedEnvironment } from '../remote.js';

export function isUrl(given: string): boolean {
  return /^https?:\/\//.test(given);
}

/** Spaces of the served environment, and itself as a subject. */
export interface Served {
  readonly subject: VectorSubjectModel;
  readonly spaces: Pick<RemoteVectorEnvironment, 'observationSpace' | 'actionSpace'>;
}

/** The environment called as the scenario is, else the server's default one. @throws FIDELITY_NO_MODEL, and as `remoteEnvironment` */
export async function openServed(url: string, scenario: string): Promise<Served> {
  const first = await judgedEnvironment(url, scenario);
  try {
    const { card, observationSpace, actionSpace } = first;
    if (faceOf(card).acts !== 'numbers') throw reverieError('FIDELITY_NO_MODEL', { name: url });
    const subject: VectorSubjectModel = {
      name: url,
      kind: 'served',
      version: card.version,
      notes: [
        `"${card.name}" is served as ${card.source === 'real' ? 'a real environment' : 'a dream'}; its episodes are begun with the seeds of the real ones.`,
      ],
      dream: async () => (await remoteEnvironment(url, { environment: card.name })) as RemoteVectorEnvironment,
    };
    return { subject, spaces: { observationSpace, actionSpace } as Served['spaces'] };
  } finally {
    await first.close();
  }
}
