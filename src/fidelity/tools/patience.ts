// Asking a model one thing, and bearing with a server that is slow or garbles one reply: that one goes unanswered, and says
// nothing of the model. A server that is away and a spent budget end the work, which can be gone on with.

import { ReverieError } from '../../core/errors.js';
import type { CallQuery, Prediction, Responder } from '../../env/index.js';

const SERVER_TRIES = 3;
/** Faults of one request alone, beside those that say themselves that they are the model's. */
const REQUEST_FAULTS: readonly string[] = ['LLM_TIMEOUT', 'USER_TURN_INVALID', 'TRAJECTORY_INVALID'];

/** The answer, or undefined where none came. @throws what is no fault of this one request */
export function patientAnswer(
  responder: Responder,
  query: CallQuery,
  signal?: AbortSignal,
): Promise<Prediction | undefined> {
  return patiently(async () => responder.answer(query, signal));
}

/** What `work` gives, tried again where the server is at fault; undefined where it fails for a fault of its own. */
export async function patiently<T>(work: () => Promise<T>): Promise<T | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ReverieError)) throw error;
      if (error.values.retryable === true && attempt < SERVER_TRIES) continue;
      if (error.values.ofModel === true || REQUEST_FAULTS.includes(error.code)) return undefined;
      throw error;
    }
  }
}
