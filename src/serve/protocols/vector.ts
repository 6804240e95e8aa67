// Vector sessions of the native API: many environments of numbers, stepped together for a learner with a batched policy. Rows
// travel as one flat frame, little-endian, that needs no parser:
//
//   0   'RVR2', uint32 n (rows), uint32 d (elements of an observation), uint32 k (rows that ended and began anew)
//   16  float32 obs [n, d], float32 reward [n], float32 final_obs [k, d], uint8 terminated [n], uint8 truncated [n]

import { setImmediate as immediate } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { ResetResult, StepResult, VectorEnvironment } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { contains, describeSpace, rowSize } from '../../env/space-values.js';
import { faceOf } from '../../kinds/registry.js';
import { type EnvironmentMaker, environmentMaker, type Servable } from '../../run/servable.js';
import { printOf } from '../core/session.js';
import { type Owner, type SlotLease, unguessable } from '../core/session-contract.js';
import type { Sessions } from '../core/sessions.js';
import { environmentOf } from '../core/tasks.js';
import { BatchingModel } from '../hosts/batching-model.js';
import type { ProtocolContext, RouteDescription } from '../http/openapi.js';
import { checkedBody, requestInvalid } from '../http/requests.js';

const ROWS_TYPE = 'application/vnd.reverie.rows';
/** Rows of one question to a model, at most. */
const BATCH_ROWS = 1024;

type Later<T> = T | Promise<T>;

const autoresetMode = z
  .enum(['next_step', 'same_step'])
  .describe(
    "Gymnasium's AutoresetMode. next_step: the step after the end of a row is its reset, its action ignored, its reward 0. " +
      'same_step: a row begins anew in the step that ended it, and final_obs has what it ended with',
  );
type AutoresetMode = z.output<typeof autoresetMode>;

/** The vector sessions of a server. Each takes as many slots as it has rows, and is closed when nothing is asked of it. */
class VectorTable {
  private readonly vectors = new Map<string, VectorSession>();
  private readonly makers = new Map<string, Promise<EnvironmentMaker>>();
  private readonly reaper: NodeJS.Timeout;

  constructor(private readonly sessions: Pick<Sessions, 'environments' | 'defaultEnv' | 'limits' | 'holdSlots'>) {
    this.reaper = setInterval(() => this.reap(), Math.min(sessions.limits.idleSeconds * 250, 10_000)).unref();
  }

  /** @throws ENV_NOT_SERVED, ENV_NOT_VECTOR, CAPACITY_REACHED, QUOTA_EXCEEDED, SERVER_DRAINING */
  async open(
    { env, num_envs: rows, autoreset_mode: mode }: z.output<typeof openBody>,
    owner: Owner,
  ): Promise<VectorSession> {
    const served = environmentOf(this.sessions, env);
    if (faceOf(served).acts !== 'numbers') {
      throw reverieError('ENV_NOT_VECTOR', { env: served.name, family: served.family });
    }
    const lease = await this.sessions.holdSlots(rows, owner);
    const environments: VectorEnvironment[] = [];
    try {
      for (let row = 0; row < rows; row++) environments.push(await this.make(served));
    } catch (error) {
      for (const one of environments) await one.close();
      lease.release();
      throw error;
    }
    const session = new VectorSession(served.name, owner, environments, mode, lease);
    this.vectors.set(session.id, session);
    return session;
  }

  /** @throws SESSION_UNKNOWN */
  get(id: string, owner: Owner): VectorSession {
    const session = this.vectors.get(id);
    if (session?.owner === owner) return session;
    throw reverieError('SESSION_UNKNOWN', { id });
  }

  async close(session: VectorSession): Promise<void> {
    if (this.vectors.delete(session.id)) await session.close();
  }

  /** Closes all of them. */
  async end(): Promise<void> {
    clearInterval(this.reaper);
    await Promise.all([...this.vectors.values()].map((session) => this.close(session)));
    for (const maker of this.makers.values()) await (await maker).close();
  }

  /** In this thread, even where sessions live in others: a message for each row would cost more than its step. */
  private async make(served: Servable): Promise<VectorEnvironment> {
    const { name, blueprint } = served;
    if (blueprint === undefined) return (await served.make()) as VectorEnvironment;
    let maker = this.makers.get(name);
    if (maker === undefined) {
      // All rows of a model are asked as one batch.
      maker = environmentMaker(blueprint, {
        batched: (model) => new BatchingModel(model, BATCH_ROWS),
        ask: async (request, signal) => served.answer?.(request, signal),
      });
      this.makers.set(name, maker);
      // The next one tries again.
      maker.catch(() => this.makers.delete(name));
    }
    return (await (await maker).make()) as VectorEnvironment;
  }

  private reap(): void {
    const before = Date.now() - this.sessions.limits.idleSeconds * 1000;
    for (const one of this.vectors.values()) {
      if (one.busy || one.lastUsedAt >= before) continue;
      this.close(one).catch((error: Error) => process.emitWarning(error));
    }
  }
}

/** Frames kept for requests that are sent again: a client has one request under way. */
const REMEMBERED = 2;
/** Milliseconds for which physics may keep this thread from all else. */
const LONGEST_WORK = 4;

/** What a row waits for. */
const RESET_BY_CLIENT = 0;
const STEP = 1;
const RESET_BY_STEP = 2;

/** One client's rows. Requests are taken one at a time; one sent again gets its first answer. */
class VectorSession {
  readonly id = unguessable();
  /** Milliseconds since the epoch. */
  lastUsedAt = Date.now();
  /** Steps taken, of all rows together. */
  transitions = 0;
  readonly rows: number;
  readonly obsDim: number;
  readonly actionDim: number;
  private readonly waitsFor: Uint8Array;
  private readonly wasSeeded: Uint8Array;
  private pending = 0;
  private queue: Promise<unknown> = Promise.resolve();
  private readonly answers = new LRUCache<string, { readonly print: string; readonly answer: Promise<Buffer> }>({
    max: REMEMBERED,
  });

  /** @param environments  one a row, of the same spaces; closed by `close` */
  constructor(
    readonly env: string,
    readonly owner: Owner,
    private readonly environments: readonly VectorEnvironment[],
    readonly mode: AutoresetMode,
    private readonly lease: SlotLease,
  ) {
    const [{ observationSpace, actionSpace }] = environments;
    this.rows = environments.length;
    this.obsDim = rowSize(observationSpace);
    this.actionDim = rowSize(actionSpace);
    this.waitsFor = new Uint8Array(this.rows);
    this.wasSeeded = new Uint8Array(this.rows);
  }

  get busy(): boolean {
    return this.pending > 0;
  }

  /**
   * Starts an episode in every row. Answers a frame.
   * @param seeds  by row; one without a seed goes on in its stream, or gets its number where it never had one
   */
  reset(seeds: readonly (number | null)[] | undefined, requestId?: string): Promise<Buffer> {
    return this.once('reset', seeds, requestId, async () => {
      const begun = await all(this.environments.map((_, row) => this.begin(row, seeds?.[row] ?? undefined)));
      return frameOf(begun);
    });
  }

  /**
   * Steps every row, or resets it where its episode ended before. Answers a frame.
   * @param action [rows, actionDim]
   * @throws ENV_NOT_RESET, ACTION_OUT_OF_SPACE, naming the row: nothing was stepped then. Where an environment itself fails
   *   all rows must be reset.
   */
  step(action: Float32Array, requestId?: string): Promise<Buffer> {
    return this.once('step', action, requestId, async () => {
      this.requireActions(action);
      this.lease.takeSteps(this.rows);
      const results: Later<StepResult<Float32Array>>[] = [];
      try {
        let pause = performance.now() + LONGEST_WORK;
        for (const [row, environment] of this.environments.entries()) {
          const isBegun = this.waitsFor[row] === RESET_BY_STEP;
          results.push(isBegun ? this.begin(row) : environment.step(this.actionOf(action, row)));
          if (performance.now() < pause) continue;
          await immediate();
          pause = performance.now() + LONGEST_WORK;
        }
        const done = [...(await all(results))];
        const finals: Float32Array[] = [];
        for (const [row, one] of done.entries()) {
          const isOver = one.terminated || one.truncated;
          this.waitsFor[row] = isOver ? RESET_BY_STEP : STEP;
          if (!isOver || this.mode === 'next_step') continue;
          finals.push(one.observation);
          done[row] = { ...one, observation: (await this.begin(row)).observation };
        }
        this.transitions += this.rows;
        return frameOf(done, finals);
      } catch (error) {
        this.waitsFor.fill(RESET_BY_CLIENT);
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await this.queue;
    // An environment that fails as it is closed is no reason to keep its slots.
    await Promise.all(this.environments.map(async (environment) => environment.close())).finally(this.lease.release);
  }

  /** A reset in the form of a step: reward 0, and nothing ended. */
  private begin(row: number, seed?: number): Later<StepResult<Float32Array>> {
    const own = seed ?? (this.wasSeeded[row] === 0 ? row : undefined);
    this.wasSeeded[row] = 1;
    const asStep = ({ observation, info }: ResetResult<Float32Array>) => {
      this.waitsFor[row] = STEP;
      return { observation, reward: 0, terminated: false, truncated: false, info };
    };
    const begun = this.environments[row].reset(own === undefined ? {} : { seed: own });
    return begun instanceof Promise ? begun.then(asStep) : asStep(begun);
  }

  private requireActions(action: Float32Array): void {
    const [{ id, actionSpace }] = this.environments;
    for (let row = 0; row < this.rows; row++) {
      if (this.waitsFor[row] === RESET_BY_CLIENT) throw reverieError('ENV_NOT_RESET', { id: `${id}, row ${row}` });
      const given = this.actionOf(action, row);
      if (this.waitsFor[row] === RESET_BY_STEP || contains(actionSpace, given)) continue;
      const shown = `[${Array.from(given).join(', ')}] of row ${row}`;
      const hint = 'Clip actions to the bounds before they are sent. Nothing was stepped.';
      throw reverieError('ACTION_OUT_OF_SPACE', { action: shown, space: describeSpace(actionSpace), hint });
    }
  }

  private actionOf(action: Float32Array, row: number): Float32Array {
    return action.subarray(row * this.actionDim, (row + 1) * this.actionDim);
  }

  /** @throws REQUEST_CONFLICT where another request had this id */
  private once(kind: string, content: unknown, id: string | undefined, work: () => Promise<Buffer>): Promise<Buffer> {
    const asked = id === undefined ? undefined : { id, print: printOf(kind, content) };
    const known = asked && this.answers.get(asked.id);
    if (known !== undefined) {
      if (known.print !== asked?.print) throw reverieError('REQUEST_CONFLICT', { id });
      return known.answer;
    }
    this.pending++;
    const answer = this.queue.then(work).finally(() => {
      this.pending--;
      this.lastUsedAt = Date.now();
    });
    this.queue = answer.catch(() => {});
    if (asked !== undefined) {
      this.answers.set(asked.id, { print: asked.print, answer });
      // What failed may be tried again.
      answer.catch(() => this.answers.delete(asked.id));
    }
    return answer;
  }
}

/** Physics in this thread answers at once: then there is nothing to wait for. */
function all<T>(results: readonly Later<T>[]): Later<readonly T[]> {
  return results.some((result) => result instanceof Promise) ? Promise.all(results) : (results as readonly T[]);
}

const HEADER = 16;

function frameOf(results: readonly StepResult<Float32Array>[], finals: readonly Float32Array[] = []): Buffer {
  const [rows, obsDim] = [results.length, results[0].observation.length];
  const floats = new Float32Array(rows * (obsDim + 1) + finals.length * obsDim);
  const flags = HEADER + floats.byteLength;
  const frame = Buffer.allocUnsafe(flags + 2 * rows);
  frame.write('RVR2', 'latin1');
  for (const [i, word] of [rows, obsDim, finals.length].entries()) frame.writeUInt32LE(word, 4 + 4 * i);
  results.forEach(({ observation, reward, terminated, truncated }, row) => {
    floats.set(observation, row * obsDim);
    floats[rows * obsDim + row] = reward;
    frame[flags + row] = Number(terminated);
    frame[flags + rows + row] = Number(truncated);
  });
  finals.forEach((observation, i) => {
    floats.set(observation, rows * (obsDim + 1) + i * obsDim);
  });
  // Little-endian, as every machine that Node.js runs on by default.
  frame.set(new Uint8Array(floats.buffer), HEADER);
  return frame;
}

// The routes.

const request_id = z
  .string()
  .max(255)
  .optional()
  .describe("Yours: a request sent again under the same id gets the first one's answer and does nothing twice");
const openBody = z.strictObject({
  env: z.string().optional().describe('Name of an environment of family vector; the first one served unless given'),
  num_envs: z.int().min(1).max(65_536).describe('Rows: each takes a slot'),
  autoreset_mode: autoresetMode.default('next_step'),
});
const seed = z.int().min(0);
const resetBody = z.strictObject({
  seed: seed.optional().describe("Row i gets seed + i: Gymnasium's convention"),
  seeds: z.array(seed.nullable()).optional().describe('By row instead; null: its stream goes on'),
  request_id,
});
const stepQuery = z.strictObject({ request_id });
export const vectorDescriptions: readonly RouteDescription[] = [
  {
    ...{ method: 'post', path: '/v1/vector', summary: 'Open a vector session', status: 201 },
    description: 'One session of many environments of family vector, stepped together. Each row takes a slot.',
    body: { schema: openBody, example: { env: 'pendulum', num_envs: 64 } },
  },
  {
    ...{ method: 'get', path: '/v1/vector/:id', summary: 'Look at a vector session' },
  },
  { method: 'delete', path: '/v1/vector/:id', summary: 'Close a vector session', status: 204 },
  {
    ...{ method: 'post', path: '/v1/vector/:id/reset', summary: 'Start an episode in every row' },
    body: { schema: resetBody, optional: true, example: { seed: 1 } },
    type: ROWS_TYPE,
  },
  {
    ...{ method: 'post', path: '/v1/vector/:id/step', summary: 'Step every row, or reset it after its end' },
    description:
      'The body is float32 [num_envs, action_dim]. The answer: the bytes `RVR2`; uint32 n rows, d elements of an ' +
      'observation, k rows that ended (same_step); float32 obs [n, d], reward [n], final_obs [k, d]; uint8 terminated [n], ' +
      'truncated [n]. Little-endian.',
    query: stepQuery,
    body: { type: ROWS_TYPE },
    type: ROWS_TYPE,
  },
];

function wireVector({ id, env, rows, mode, obsDim, actionDim, transitions }: VectorSession) {
  return { id, env, num_envs: rows, autoreset_mode: mode, obs_dim: obsDim, action_dim: actionDim, transitions };
}

/** @throws REQUEST_INVALID */
function seedsOf({ rows }: VectorSession, { seed: first, seeds }: z.output<typeof resetBody>) {
  if (seeds !== undefined && seeds.length !== rows)
    throw requestInvalid(`seeds: ${seeds.length} values for ${rows} rows`);
  return seeds ?? (first === undefined ? undefined : Array.from({ length: rows }, (_, row) => first + row));
}

/** @throws REQUEST_INVALID */
function actionsIn(body: unknown, { rows, actionDim }: VectorSession): Float32Array {
  const wanted = `${rows} rows of ${actionDim} float32, ${4 * rows * actionDim} bytes of ${ROWS_TYPE}, are needed`;
  if (!Buffer.isBuffer(body)) throw requestInvalid(`action: ${wanted}`);
  if (body.byteLength !== 4 * rows * actionDim)
    throw requestInvalid(`action: ${body.byteLength} bytes where ${wanted}`);
  // A view needs its offset to be a multiple of four, which that of a network buffer need not be.
  const whole = body.byteOffset % 4 === 0 ? body : Uint8Array.from(body);
  return new Float32Array(whole.buffer as ArrayBuffer, whole.byteOffset, rows * actionDim);
}

export function addVectorRoutes(app: FastifyInstance, { sessions, ownerOf }: ProtocolContext): void {
  const vectors = new VectorTable(sessions);
  app.addHook('onClose', () => vectors.end());
  app.addContentTypeParser(ROWS_TYPE, { parseAs: 'buffer' }, (_, body, done) => done(null, body));
  const sessionOf = (request: FastifyRequest) => vectors.get((request.params as { id: string }).id, ownerOf(request));
  app.post('/v1/vector', async (request, reply) => {
    const opened = await vectors.open(checkedBody(openBody, request.body), ownerOf(request));
    return reply.status(201).send(wireVector(opened));
  });
  app.get('/v1/vector/:id', (request) => wireVector(sessionOf(request)));
  app.delete('/v1/vector/:id', async (request, reply) => {
    await vectors.close(sessionOf(request));
    return reply.status(204).send();
  });
  app.post('/v1/vector/:id/reset', async (request, reply) => {
    const session = sessionOf(request);
    const body = checkedBody(resetBody, request.body ?? {});
    return reply.type(ROWS_TYPE).send(await session.reset(seedsOf(session, body), body.request_id));
  });
  app.post('/v1/vector/:id/step', async (request, reply) => {
    const session = sessionOf(request);
    const { request_id: requestId } = checkedBody(stepQuery, request.query);
    return reply.type(ROWS_TYPE).send(await session.step(actionsIn(request.body, session), requestId));
  });
}
