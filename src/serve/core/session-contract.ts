// What passes between sessions and the protocols that speak of them.

import { randomBytes } from 'node:crypto';
import type { Info } from '../../core/environment.js';
import type { ToolsAction } from '../../env/tools/tools-family.js';

/** Who asks: quotas and visibility of sessions go by it. One token, one owner; `local` where no token is asked for. */
export type Owner = string;

/** A vector environment's row, a line of text, or a turn of messages and calls. Encoding is the protocol's. */
export type Action = Float32Array | string | ToolsAction;

export interface OpenRequest {
  /** Name of a served environment; the first one unless given. */
  readonly env?: string;
  /** Chosen by the caller, e.g. to find it again; a random one unless given. */
  readonly id?: string;
  readonly owner: Owner;
}

export interface ResetRequest {
  readonly seed?: number;
  /** A task by id, or by its index within a split. Not in family `vector`. */
  readonly task?: string;
  readonly split?: string;
  readonly index?: number;
  /** Resumes a snapshot instead of starting a task; `seed` then seeds what follows, where the family can. */
  readonly snapshot?: string;
  /** The caller's own name for the episode; a random one unless given. */
  readonly episodeId?: string;
  /** A repeated request of the same id gets the first one's answer. */
  readonly requestId?: string;
}

export interface StepRequest {
  readonly action: Action;
  /** A repeated request of the same id gets the first one's answer, and is no second step. */
  readonly requestId?: string;
  /** Seconds; never longer than the server's own deadline. When it has passed the state is unchanged. */
  readonly timeoutSeconds?: number;
}

/** Of a request that may be sent again. */
export interface RepeatOptions {
  readonly requestId?: string;
}

/** What one owner may take; without limit where none is given. */
export interface QuotaLimits {
  /** Sessions open at once. */
  readonly sessions?: number;
  readonly stepsPerMinute?: number;
}

/** What a reset or a step answers. */
export interface Turn {
  readonly observation: unknown;
  /** Of this step: the sum over an episode is its return. null: the episode ended and could not be judged; after reset: null. */
  readonly reward: number | null;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly info: Info;
  readonly episodeId: string;
  /** Steps taken in the episode, this one included. */
  readonly stepCount: number;
  /** Sum of rewards so far; null once one of them was null at the end. */
  readonly return: number | null;
}

export type SessionStatus = 'idle' | 'running' | 'done';

/** What may be shown of a session: no state of its world, nothing of how its task is judged. */
export interface SessionState {
  readonly id: string;
  readonly env: string;
  readonly owner: Owner;
  readonly status: SessionStatus;
  readonly episodeId: string | null;
  readonly task: string | null;
  readonly seed: number | null;
  readonly stepCount: number;
  readonly return: number | null;
  /** Of the session it was forked from. */
  readonly parent?: string;
  /** Milliseconds since the epoch. */
  readonly openedAt: number;
  readonly lastUsedAt: number;
}

/** Slots that are held, and what is done in them. */
export interface SlotLease {
  /** Before as many steps. @throws QUOTA_EXCEEDED */
  takeSteps(count: number): void;
  release(): void;
}

/** A turn that a session has taken. */
export interface Done {
  readonly session: SessionState;
  readonly turn: Turn;
  readonly seconds: number;
}

/** What happened, as it happens: for metrics, recordings and the page. */
export type SessionEvent =
  | { readonly kind: 'opened'; readonly session: SessionState }
  | (Done & { readonly kind: 'reset' | 'restored' })
  | (Done & { readonly kind: 'step'; readonly action: Action })
  | (Done & { readonly kind: 'forked'; readonly parent: string })
  | { readonly kind: 'failed'; readonly session: SessionState; readonly code: string; readonly seconds: number }
  | { readonly kind: 'closed'; readonly session: SessionState; readonly reason: CloseReason };

/**
 * Who or what closed a session: its client; time without a request; the server's end; a group that could not be opened, or
 * damage to what was written of it; another version of the environment after a restart.
 */
export type CloseReason = 'client' | 'idle' | 'drain' | 'lost' | 'version';

/** An unguessable id: 144 bits, safe in a URL and a header. No part of any result, so not of the seeded randomness. */
export function unguessable(): string {
  return randomBytes(18).toString('base64url');
}

/** Names one session of the whole server: ids are their owners' own, and two owners may choose the same. */
export function sessionKey(owner: Owner, id: string): string {
  return `${encodeURIComponent(owner)}/${id}`;
}
