// The episode of one MCP session: begun when something of it is first asked for, as clients that only list tools should
// hold no slot.

import type { Servable } from '../../../run/index.js';
import type { Owner, ResetRequest, SessionState, Sessions, Turn } from '../../core/session-contract.js';
import { actionOfCall, type GivenCall, openingOf } from '../tool-calls.js';

export interface EpisodeOptions {
  readonly sessions: Sessions;
  readonly served: Servable;
  /** Of an open session. */
  readonly id: string;
  readonly owner: Owner;
  /** The episode it begins with. */
  readonly first: ResetRequest;
}

export class McpEpisode {
  readonly served: Servable;
  private beginning: Promise<Turn> | undefined;

  constructor(private readonly options: EpisodeOptions) {
    this.served = options.served;
  }

  get state(): SessionState {
    const { sessions, id, owner } = this.options;
    return sessions.state(id, owner);
  }

  /** Begins another episode, or the first; calls that come meanwhile wait for it. @throws as Sessions.reset */
  async begin(request: ResetRequest = this.options.first, signal?: AbortSignal): Promise<Turn> {
    const { sessions, id, owner } = this.options;
    this.beginning = sessions.reset(id, request, owner, signal);
    try {
      return await this.beginning;
    } finally {
      this.beginning = undefined;
    }
  }

  /** Answers the first turn where there was no episode yet. */
  async ensure(signal?: AbortSignal): Promise<Turn | undefined> {
    if (this.beginning !== undefined) await this.beginning;
    return this.state.status === 'idle' ? this.begin(undefined, signal) : undefined;
  }

  /** @throws as Sessions.step and actionOfCall */
  step(call: GivenCall, signal?: AbortSignal): Promise<Turn> {
    const { sessions, id, owner } = this.options;
    return sessions.step(id, { action: actionOfCall(this.served, call) }, owner, signal);
  }

  /** Rules, and what there is to see now. @throws ENV_NOT_RESET */
  get told(): { readonly rules: string; readonly first: string } {
    const { sessions, id, owner } = this.options;
    return openingOf(this.served, sessions.observe(id, owner).observation);
  }
}
