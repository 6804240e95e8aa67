// What a server's sessions may take together, and what one owner's may.

export interface SessionLimits {
  /** Episodes under way at once. */
  readonly slots: number;
  /** Seconds a reset waits for a slot; never beyond `stepSeconds`, so that something is always answered by then. */
  readonly slotWaitSeconds: number;
  /** Seconds without a request after which a session is closed. */
  readonly idleSeconds: number;
  /** Seconds from asking to the answer, waiting for other requests and for a slot included. OpenEnv's clients give up after 60. */
  readonly stepSeconds: number;
  /** Seconds that work may go on after it was called off; then its session is lost. */
  readonly graceSeconds: number;
  /** Snapshots kept for each owner: the latest. */
  readonly snapshots: number;
}

export const SESSION_LIMITS: SessionLimits = {
  slots: 1024,
  slotWaitSeconds: 30,
  idleSeconds: 900,
  stepSeconds: 55,
  graceSeconds: 30,
  snapshots: 256,
};
