// A server's sessions, those of the process before it included where they were written down.

import type { Servable } from '../../run/serving/index.js';
import type { SessionLimits } from './quotas.js';
import type { Owner, QuotaLimits } from './session-contract.js';
import { SessionStore } from './session-store.js';
import { SessionTable } from './session-table.js';

export interface OpenSessionsOptions {
  readonly limits?: Partial<SessionLimits>;
  /** What each owner may take; without limit unless given. */
  readonly quotaOf?: (owner: Owner) => QuotaLimits;
  /**
   * Folder that sessions are written to, so that they outlive the process; one server a folder. A reset, step, restore,
   * fork or snapshot that was answered is durable, and so are the answers that repeated requests get. Sessions go on where
   * the last answer left them, at their next request; those whose environment has changed are closed (`version`).
   */
  readonly persist?: string;
}

/** @throws RUN_IN_USE where another server has the folder, SESSIONS_CORRUPT, STORAGE_FAILED, STORAGE_FULL */
export async function openSessions(
  served: readonly Servable[],
  { limits, quotaOf, persist }: OpenSessionsOptions = {},
): Promise<SessionTable> {
  if (persist === undefined) return new SessionTable(served, limits, { quotaOf });
  const keeper = await SessionStore.open(persist);
  try {
    return new SessionTable(served, limits, { quotaOf, keeper });
  } catch (error) {
    await keeper.close();
    throw error;
  }
}
