// Several sessions from one state: forks of a session, and groups that begin alike.

import { reverieError } from '../../core/errors.js';
import type { Info } from '../../env/index.js';
import { Deadline } from './queues.js';
import type { Session } from './session.js';
import type { ForkRequest, GroupMember, GroupRequest, SessionState, Turn } from './session-contract.js';
import { unguessable } from './session-ids.js';
import type { NewSession, SessionManager } from './session-manager.js';
import type { KeptSnapshot } from './snapshot-store.js';
import type { TurnPlayer } from './turn-player.js';

/** Sessions of one group, at most. */
const MOST = 1024;

export interface GroupOrigin extends Pick<GroupRequest, 'count' | 'owner' | 'seeds'> {
  readonly served: Session['served'];
  /** Begins the group's first session. */
  readonly begin: (leader: Session, deadline: Deadline) => Promise<Turn>;
}

/** Where the others go on. */
interface Origin {
  readonly kept: Omit<KeptSnapshot, 'id'>;
  readonly info: Info;
  readonly deadline: Deadline;
}

export class SessionGroups {
  constructor(
    private readonly manager: SessionManager,
    private readonly player: TurnPlayer,
  ) {}

  /** To be called within `parent.perform`. See `Sessions.fork`. */
  async fork(parent: Session, count: number, { seeds }: ForkRequest, deadline: Deadline): Promise<SessionState[]> {
    checkGroup(count, seeds);
    const { owner, served, id, turn } = parent;
    const hasSlot = parent.status === 'running';
    this.manager.requireRoom(owner, count);
    const kept = await parent.look(deadline, () => parent.save());
    if (hasSlot) this.manager.slots.takeNow(count);
    const forks = this.addAll(Array.from({ length: count }, () => newSession({ served, owner, hasSlot, parent: id })));
    const from = { kept, info: turn.info, deadline };
    await this.orNone(forks, () => Promise.all(forks.map((fork, i) => this.branch(fork, from, seeds?.[i]))));
    return forks.map((fork) => fork.state);
  }

  /** See `Sessions.openGroup`. */
  async open({ count, owner, seeds, served, begin }: GroupOrigin, signal?: AbortSignal): Promise<GroupMember[]> {
    checkGroup(count, seeds);
    this.manager.requireRoom(owner, count);
    const deadline = new Deadline(this.manager.limits.stepSeconds);
    const leave = () => deadline.callOff(signal?.reason);
    if (signal?.aborted) leave();
    signal?.addEventListener('abort', leave, { once: true });
    try {
      deadline.throwIfOver();
      await this.manager.slots.take(deadline, count);
      const leader = newSession({ served, owner, hasSlot: true });
      const rest = Array.from({ length: count - 1 }, () => newSession({ ...leader, parent: leader.id }));
      const all = this.addAll([leader, ...rest]);
      const turns = await this.orNone(all, () => this.start(all, seeds, deadline, begin));
      return all.map((one, i) => ({ session: one.state, turn: turns[i] }));
    } finally {
      signal?.removeEventListener('abort', leave);
      deadline.end();
    }
  }

  private async start(
    [leader, ...others]: readonly Session[],
    seeds: readonly number[] | undefined,
    deadline: Deadline,
    begin: GroupOrigin['begin'],
  ): Promise<Turn[]> {
    const { first, kept } = await leader.perform(deadline, async () => {
      const first = await begin(leader, deadline);
      return { first, kept: await leader.look(deadline, () => leader.save()) };
    });
    const from = { kept, info: first.info, deadline };
    const own = seeds === undefined ? first : this.branch(leader, from, seeds[0], first.episodeId);
    return Promise.all([own, ...others.map((other, i) => this.branch(other, from, seeds?.[i + 1]))]);
  }

  private branch(fork: Session, { kept, info, deadline }: Origin, seed?: number, id = unguessable()): Promise<Turn> {
    return fork.perform(deadline, () =>
      this.player.take(fork, deadline, {
        play: async () => {
          const episode = await fork.load(id, kept, seed);
          return { ...episode, turn: { ...episode.turn, info } };
        },
        tell: ({ session, turn }) => ({ kind: 'forked', session, parent: session.parent ?? session.id, turn }),
      }),
    );
  }

  /** All of them or none. Where they have slots, these were taken before and are given back. @throws as `SessionManager.add` */
  private addAll(wanted: readonly NewSession[]): Session[] {
    const added: Session[] = [];
    try {
      for (const one of wanted) added.push(this.manager.add(one));
      return added;
    } catch (error) {
      if (wanted[0].hasSlot) this.manager.slots.release(wanted.length - added.length);
      for (const one of added) void this.manager.remove(one, 'lost');
      throw error;
    }
  }

  /** Where `work` fails nothing is left of the sessions. */
  private async orNone<R>(sessions: readonly Session[], work: () => Promise<R>): Promise<R> {
    try {
      return await work();
    } catch (error) {
      await Promise.all(sessions.map((one) => this.manager.remove(one, 'lost')));
      throw error;
    }
  }
}

function newSession(wanted: Omit<NewSession, 'id'>): NewSession {
  return { ...wanted, id: unguessable() };
}

function checkGroup(count: number, seeds: readonly number[] | undefined): void {
  const problem = problemOf(count, seeds);
  if (problem !== undefined) throw reverieError('GROUP_INVALID', { count, problem, most: MOST });
}

function problemOf(count: number, seeds: readonly number[] | undefined): string | undefined {
  if (!Number.isInteger(count) || count < 1 || count > MOST) return 'that is no number of sessions';
  if (seeds !== undefined && seeds.length !== count) return `${seeds.length} seeds were given`;
  return undefined;
}
