// A reply in time or none: a client of the reference gives up after 60 s and then takes a late reply for that of its next
// message, for ever. An operator's own deadline may be longer, as other protocols can wait.

export interface ReplyLimits {
  /** From the message to its reply, waiting for a slot included. */
  readonly seconds: number;
}

export const REPLY_LIMITS: ReplyLimits = { seconds: 55 };
