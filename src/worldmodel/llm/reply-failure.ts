// Which errors of a language model are its own (a reply that is no JSON or too large, a refusal): those count as a failed
// try, and are the same when the job is repeated. Everything else (network, a garbled transport, budget, a missing
// recording, an abort) is no answer at all, and passes through.

import { type Cost, NO_COST } from '../../core/cost.js';
import { ReverieError } from '../../core/errors.js';
import type { Failed } from '../tools/backend-model.js';

/** The failed try, with what it cost where the error says. Throws `error` itself if it is not the model's. */
export function failedReply(error: unknown): Failed {
  if (!(error instanceof ReverieError) || error.values.ofModel !== true) throw error;
  return { problems: [error.message], cost: (error.values.usage as Cost | undefined) ?? NO_COST };
}
