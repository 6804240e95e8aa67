// A model as it is without what is remembered of the task that is asked about: records of it would be the answers.

import type { Responder } from '../../env/tools/tools-family.js';
import type { ExperienceIndex } from '../../replay/experience/experience.js';

export interface UnaidedOptions {
  readonly version: string;
  readonly index: ExperienceIndex;
  /** The model with what it may remember. */
  readonly make: (index: ExperienceIndex) => Responder | Promise<Responder>;
}

/** Made once a task; whoever made what it is made of closes it. */
export function unaidedResponder({ version, index, make }: UnaidedOptions): Responder {
  const byTask = new Map<string, Promise<Responder>>();
  let answering: Responder | undefined;
  return {
    version,
    answer: async (query, signal) => {
      const { id } = query.task;
      const made = byTask.get(id) ?? Promise.resolve(make(withoutTask(index, id)));
      byTask.set(id, made);
      answering = await made;
      return answering.answer(query, signal);
    },
    // All of them have the same backends.
    trusts: (backend) => answering?.trusts?.(backend) === true,
    close: () => {},
  };
}

/** Exact replay too must not see the task. */
function withoutTask(index: ExperienceIndex, exceptTask: string): ExperienceIndex {
  return {
    get size() {
      return index.size;
    },
    retrieve: (query, k) => index.retrieve({ ...query, exceptTask }, k),
    exact: (query) => index.exact({ ...query, exceptTask }),
  };
}
