// How AgentGym's servers differ (https://github.com/WooooDyy/AgentGym): what a session is called, and what says which item.

import { z } from 'zod';

export const AGENTGYM_DIALECTS = ['todo', 'textcraft', 'game', 'webshop'] as const;
export type AgentGymDialect = (typeof AGENTGYM_DIALECTS)[number];

export interface Dialect {
  /** Body of `/create`. */
  readonly create: object;
  /** The key that names a session everywhere. */
  readonly key: 'id' | 'env_idx';
  /** The key of `/reset` that names the item. */
  readonly item: string;
  /** Further keys of `/reset`. */
  readonly reset?: object;
}

export const DIALECTS: Readonly<Record<AgentGymDialect, Dialect>> = {
  todo: { create: { id: 0 }, key: 'env_idx', item: 'id' },
  textcraft: { create: {}, key: 'id', item: 'data_idx' },
  game: { create: {}, key: 'id', item: 'game', reset: { world_type: 'Text' } },
  webshop: { create: {}, key: 'env_idx', item: 'session_id' },
};

/** What `/create` answers: the number of the session, bare or in an object. */
export const createdSchema = z.union([
  z.int(),
  z.looseObject({ id: z.int() }).transform(({ id }) => id),
  z.looseObject({ env_idx: z.int() }).transform(({ env_idx: id }) => id),
]);

/** What `/reset` answers: a text, bare, in an object or in a list. */
export const firstSchema = z.union([
  z.string(),
  z.looseObject({ observation: z.string() }).transform(({ observation }) => observation),
  z.tuple([z.string()], z.unknown()).transform(([text]) => text),
]);

/** What `/step` answers. */
export const steppedSchema = z
  .looseObject({
    observation: z.string().optional(),
    state: z.string().optional(),
    reward: z.number(),
    done: z.boolean().optional(),
    terminated: z.boolean().optional(),
  })
  .refine(
    ({ observation, state }) => observation !== undefined || state !== undefined,
    'no "observation" and no "state"',
  )
  .transform(({ observation, state, reward, done, terminated }) => ({
    observation: observation ?? state!,
    reward,
    done: done ?? terminated ?? false,
  }));

/** Failures are answers of status 200. */
export const failureSchema = z.looseObject({ error: z.string() });
