// Where a domain is really lived: by its rules, in this process, or on somebody else's server.

import type { ToolsDomain } from './domain.js';
import { rulesResponder } from './rules-responder.js';
import type { Responder, UserSimulator } from './tools-family.js';

/** What lives elsewhere, and is asked there. */
export interface RealEnvironment {
  /** Episodes that may be lived there at once. */
  readonly sessions: number;
  /** Answers calls; an episode that has to be lived again must go as it went. */
  readonly responder: Responder;
  /** Answers calls after others that somebody else answered: what the same calls come to there. */
  readonly compared: Responder;
  /** Tells what is seen first. */
  readonly user: UserSimulator;
}

/** A domain that is lived elsewhere; copies with other tasks are, too. */
export interface DomainElsewhere extends ToolsDomain {
  readonly real: RealEnvironment;
}

/** Undefined for domains that are lived by their rules, or not at all. */
export function elsewhere(domain: ToolsDomain): RealEnvironment | undefined {
  return (domain as Partial<DomainElsewhere>).real;
}

/** Whether there is a real environment that can be asked. */
export function isReal(domain: ToolsDomain): boolean {
  return domain.rules !== undefined || elsewhere(domain) !== undefined;
}

/** The real environment; rules that are lacking say so when they are asked. */
export function realResponder(domain: ToolsDomain): Responder {
  const real = elsewhere(domain);
  return real === undefined ? rulesResponder(domain) : lent(real.responder);
}

/** The same, asked about calls of a dream, in which it may have been answered otherwise before. */
export function comparedResponder(domain: ToolsDomain): Responder {
  const real = elsewhere(domain);
  return real === undefined ? rulesResponder(domain) : lent(real.compared);
}

/** The domain closes it. */
function lent(responder: Responder): Responder {
  return {
    version: responder.version,
    trusts: (backend) => responder.trusts?.(backend) === true,
    answer: (query, signal) => responder.answer(query, signal),
    ended: (episode) => responder.ended?.(episode),
    close: () => {},
  };
}
