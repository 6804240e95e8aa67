// Which errors of a language model are its own (a reply that is no JSON or too large, a refusal): those count as a failed
// try, and are the same when the job is repeated. Everything else (network, a garbled transport, budget, a missing
// recording, an abort) is no answer at all, and passes through.

import { type Cost, NO_COST } from '../../core/cost.js';
import { ReverieError } from '../../core/errors.js';
import type { Failed } from '../tools/backend-model.js';

/** The failed try, with what it cost where the error says. Throws `error` itself if it is not the model's. */
export function failedReply(error: unknown): Failed {
  if (!(error instanceof ReverieError) || error.values.ofModel !== true) throw error;
  const { usage, reply } = error.values as { usage?: Cost; reply?: string };
  const previous = typeof reply === 'string' && reply !== '' ? { previous: reply } : {};
  return { problems: [error.message], ...previous, cost: usage ?? NO_COST };
}
