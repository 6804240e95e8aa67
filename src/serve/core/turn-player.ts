// Plays one turn of a session: the environment's part within the deadline, written down where sessions are kept, counted,
// told of, and only then answered. A turn that is not answered has not been.

import { ReverieError } from '../../core/errors.js';
import type { Deadline } from './queues.js';
import { printOf } from './request-memory.js';
import type { Episode, Session } from './session.js';
import type { SessionEvent, SessionState, Turn } from './session-contract.js';
import { type AnsweredRequest, type KeptTurn, recordOf } from './session-keeper.js';
import type { SessionManager } from './session-manager.js';

export interface Play {
  /** The episode as it would be after the turn. */
  readonly play: () => Promise<Episode>;
  /** Whether `info` tells of costs that are new. */
  readonly isPaid?: boolean;
  /** What observers are told. */
  readonly tell: (told: { session: SessionState; turn: Turn; seconds: number }) => SessionEvent;
  /** A request that may be repeated, after a restart too. */
  readonly request?: { readonly id: string; readonly kind: string; readonly content: unknown };
}

export class TurnPlayer {
  constructor(private readonly manager: SessionManager) {}

  /** To be called within `session.perform`. @throws what `play` throws, what ends `deadline`; nothing changed then */
  async take(session: Session, deadline: Deadline, turnPlay: Play): Promise<Turn> {
    const started = performance.now();
    try {
      const { turn } = await this.settled(session, deadline, turnPlay);
      const seconds = (performance.now() - started) / 1000;
      this.manager.announce(turnPlay.tell({ session: session.state, turn, seconds }));
      return turn;
    } catch (error) {
      this.announceFailure(session, error, started);
      throw error;
    }
  }

  private announceFailure(session: Session, error: unknown, started: number): void {
    const code = error instanceof ReverieError ? error.code : 'ENVIRONMENT';
    const seconds = (performance.now() - started) / 1000;
    this.manager.announce({ kind: 'failed', session: session.state, code, seconds });
  }

  private async settled(session: Session, deadline: Deadline, { play, isPaid, request }: Play): Promise<Episode> {
    const { keeper, quotas } = this.manager;
    const paid = async () => {
      const episode = await play();
      // What was spent counts, in time or not.
      const isSpent = isPaid === true && quotas.charge(session.owner, episode.turn.info);
      return { episode, spend: isSpent ? quotas.spentBy(session.owner) : undefined };
    };
    if (keeper === undefined) {
      const { episode } = await session.attempt(deadline, paid);
      session.commit(episode);
      return episode;
    }
    const before = recordOf(session);
    let kept: KeptTurn | undefined;
    const work = async () => {
      const { episode, spend } = await paid();
      deadline.throwIfOver();
      const snapshot = await session.snapshot();
      kept = {
        record: recordOf(session, episode),
        snapshot,
        spend,
        answer: request && answered(request, episode.turn),
      };
      await keeper.keep(kept);
      return { episode, snapshot };
    };
    const takeBack = async () => {
      if (kept !== undefined) await keeper.keepInstead({ record: before, snapshot: session.written }, kept.answer);
    };
    const { episode, snapshot } = await session.attempt(deadline, work, takeBack);
    session.written = snapshot;
    session.commit(episode);
    return episode;
  }
}

function answered({ id, kind, content }: NonNullable<Play['request']>, turn: Turn): AnsweredRequest {
  return { id, print: printOf(kind, content), turn };
}
