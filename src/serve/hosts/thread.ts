// A worker thread of a host: makes environments and does what is asked of them. All environments of one blueprint share a model here,
// and are asked as batches.

import { exit } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { unpackError } from '../../core/errors.js';
import { type EnvironmentMaker, environmentMaker } from '../../run/servable.js';
import { type LiveEnvironment, perform } from '../core/world.js';
import { BatchingModel } from './batching-model.js';
import {
  type Description,
  type HostMessage,
  outcomeOf,
  type Question,
  sender,
  type ThreadData,
  type ThreadMessage,
  valueIn,
} from './messages.js';

const { maker, batchRows } = workerData as ThreadData;
const port = parentPort!;
const send = sender<ThreadMessage>((messages) => port.postMessage(messages));
const makers = new Map<string, Promise<EnvironmentMaker>>();
const environments = new Map<number, LiveEnvironment>();
/** By request, where it is under way. */
const stops = new Map<number, AbortController>();
/** By call, to the thread that serves. */
const calls = new Map<number, (answer: Extract<HostMessage, { kind: 'replied' }>) => void>();
let lastCall = 0;

port.on('message', (messages: readonly HostMessage[]) => {
  for (const message of messages) take(message);
});
send({ kind: 'ready' });

function take(message: HostMessage): void {
  if (message.kind === 'leave') exit();
  else if (message.kind === 'load') load(message);
  else if (message.kind === 'cancel') stops.get(message.id)?.abort(unpackError(message.reason));
  else if (message.kind === 'replied') calls.get(message.call)?.(message);
  else void answer(message).then((outcome) => send({ kind: 'answered', id: message.id, ...outcome }));
}

function load({ model: name, blueprint }: Extract<HostMessage, { kind: 'load' }>): void {
  const loading = async () => {
    const module: { environmentMaker: typeof environmentMaker } = maker ? await import(maker) : { environmentMaker };
    return module.environmentMaker(blueprint, {
      batched: (model) => (batchRows === 1 ? model : new BatchingModel(model, batchRows)),
      ask: (request, signal) => call(name, request, signal),
    });
  };
  const loaded = loading();
  // A model that cannot be loaded fails the request for it, not the thread.
  loaded.catch(() => {});
  makers.set(name, loaded);
}

async function answer({ id, env, question }: Extract<HostMessage, { kind: 'ask' }>) {
  const stop = environments.get(env)?.synchronous ? undefined : new AbortController();
  if (stop !== undefined) stops.set(id, stop);
  const outcome = await outcomeOf(async () => ask(env, question, stop?.signal));
  stops.delete(id);
  return outcome;
}

async function ask(env: number, question: Question, signal?: AbortSignal): Promise<unknown> {
  if (question.kind === 'make') {
    const made = (await (await makers.get(question.model)!).make()) as LiveEnvironment & Description;
    environments.set(env, made);
    const { id, family, observationSpace, actionSpace, maxEpisodeSteps } = made;
    return { id, family, observationSpace, actionSpace, maxEpisodeSteps } satisfies Description;
  }
  const environment = environments.get(env);
  if (question.kind === 'close') {
    environments.delete(env);
    await environment?.close();
    return undefined;
  }
  return question.kind === 'snapshot' ? environment!.snapshot() : perform(environment!, question, signal);
}

/** @throws what the answer is; what `signal` is aborted with, at once */
function call(model: string, request: unknown, signal?: AbortSignal): Promise<unknown> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  const id = ++lastCall;
  return new Promise<Extract<HostMessage, { kind: 'replied' }>>((resolve, reject) => {
    const leave = () => {
      calls.delete(id);
      send({ kind: 'hang-up', call: id });
      reject(signal?.reason);
    };
    calls.set(id, (replied) => {
      calls.delete(id);
      signal?.removeEventListener('abort', leave);
      resolve(replied);
    });
    signal?.addEventListener('abort', leave, { once: true });
    send({ kind: 'call', call: id, model, request });
  }).then(valueIn);
}
