// A worker thread of a host: makes environments, brings them to the state they were in, and does what is asked of them. All
// dreams of one blueprint share a model here, and are asked as batches. Knows neither kinds of world nor deaths: a thread that
// is started anew is told everything again.

import { exit } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import type { Environment, ResetOptions } from '../../core/environment.js';
import { packError, unpackError } from '../../core/errors.js';
import { type Blueprint, type EnvironmentMaker, environmentMaker } from '../../run/serving/blueprint.js';
import { BatchingModel } from './batching-model.js';
import {
  Calls,
  type Description,
  type EnvironmentRequest,
  type HostAnswer,
  type HostRequest,
  type Leave,
  type Past,
  type Question,
  type ThreadData,
  type ThreadMessage,
} from './messages.js';

type MakerModule = { readonly environmentMaker: typeof environmentMaker };

/** Where one of them does not answer at once, it can be called off. */
interface Cancellable extends Environment {
  reset(options?: ResetOptions, signal?: AbortSignal): ReturnType<Environment['reset']>;
  step(action: unknown, signal?: AbortSignal): ReturnType<Environment['step']>;
}

const { maker, batchRows } = workerData as ThreadData;
const port = parentPort!;
const makers = new Map<string, Promise<EnvironmentMaker>>();
const environments = new Map<number, Cancellable>();
/** By request, where it is under way. */
const stops = new Map<number, AbortController>();
const calls = new Calls((message) => port.postMessage(message satisfies ThreadMessage));
let answers: HostAnswer[] = [];
let batches: number[] = [];

port.on('message', (requests: readonly HostRequest[] | Leave) => {
  if (requests === 'leave') exit();
  for (const request of requests) {
    if (request.kind === 'load') makers.set(request.model, observed(load(request.model, request.blueprint)));
    else if (request.kind === 'close') void close(request.env);
    else if (request.kind === 'cancel') stops.get(request.id)?.abort(unpackError(request.reason));
    else if (request.kind === 'told') calls.told(request);
    else void answer(request).then(send);
  }
});
port.postMessage('ready' satisfies ThreadMessage);

async function load(name: string, blueprint: Blueprint): Promise<EnvironmentMaker> {
  const module: MakerModule = maker === undefined ? { environmentMaker } : await import(maker);
  const onBatch = (rows: number) => void batches.push(rows);
  return module.environmentMaker(blueprint, {
    batched: (model) => (batchRows === 1 ? model : new BatchingModel(model, { maxRows: batchRows, onBatch })),
    ask: (request, signal) => calls.ask(name, request, signal),
  });
}

async function answer({ id, env, question, restoreTo, withSnapshot }: EnvironmentRequest): Promise<HostAnswer> {
  const stop = environments.get(env)?.synchronous ? undefined : new AbortController();
  if (stop !== undefined) stops.set(id, stop);
  try {
    if (restoreTo !== undefined) await restored(env, restoreTo.model, restoreTo.past);
    const environment = environments.get(env)!;
    stop?.signal.throwIfAborted();
    const value = await ask(environment, question, stop?.signal);
    const snapshot = withSnapshot ? await environment.snapshot() : undefined;
    return { id, value, snapshot, lives: true };
  } catch (error) {
    return { id, error: packError(error), lives: environments.has(env) };
  } finally {
    stops.delete(id);
  }
}

async function restored(env: number, model: string, past: Past): Promise<void> {
  await close(env);
  const environment = await (await makers.get(model)!).make();
  try {
    if (past.snapshot !== undefined) await environment.restore(past.snapshot);
    for (const command of past.commands) await ask(environment, command);
  } catch (error) {
    await environment.close();
    throw error;
  }
  environments.set(env, environment);
}

async function close(env: number): Promise<void> {
  const environment = environments.get(env);
  environments.delete(env);
  await environment?.close();
}

function ask(environment: Cancellable, question: Question, signal?: AbortSignal) {
  switch (question.kind) {
    case 'describe': {
      const { id, family, observationSpace, actionSpace } = environment;
      const { maxEpisodeSteps } = environment as Description;
      return { id, family, observationSpace, actionSpace, maxEpisodeSteps };
    }
    case 'reset':
      return environment.reset(question.options, signal);
    case 'step':
      return environment.step(question.action, signal);
    case 'snapshot':
      return environment.snapshot();
    case 'restore':
      return environment.restore(question.snapshot, question.options);
  }
}

function send(one: HostAnswer): void {
  if (answers.length === 0) setImmediate(flush);
  answers.push(one);
}

function flush(): void {
  const message: ThreadMessage = { kind: 'answers', answers, batches };
  answers = [];
  batches = [];
  port.postMessage(message);
}

/** A model that cannot be loaded fails whoever asks for it, not the thread. */
function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
