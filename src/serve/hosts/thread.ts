// A worker thread of a host: makes environments, brings them to the state they were in, and does what is asked of them. All
// dreams of one blueprint share a model here, and are asked as batches. Knows nothing of deaths: a thread that is started
// anew is told everything again.

import { exit } from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { packError } from '../../core/errors.js';
import type { EnvSnapshot, VectorEnvironment } from '../../env/index.js';
import { type VectorBlueprint, type VectorMaker, vectorMaker } from '../../run/serving/index.js';
import { BatchingModel } from './batching-model.js';
import type {
  EnvironmentRequest,
  HostAnswer,
  HostRequest,
  Leave,
  Past,
  Question,
  ThreadData,
  ThreadMessage,
} from './messages.js';

type MakerModule = { readonly vectorMaker: typeof vectorMaker };

const { maker, batchRows } = workerData as ThreadData;
const port = parentPort!;
const makers = new Map<string, Promise<VectorMaker>>();
const environments = new Map<number, VectorEnvironment>();
let answers: HostAnswer[] = [];
let batches: number[] = [];

port.on('message', (requests: readonly HostRequest[] | Leave) => {
  if (requests === 'leave') exit();
  for (const request of requests) {
    if (request.kind === 'load') makers.set(request.model, observed(load(request.blueprint)));
    else if (request.kind === 'close') void close(request.env);
    else void answer(request).then(send);
  }
});
port.postMessage('ready' satisfies ThreadMessage);

async function load(blueprint: VectorBlueprint): Promise<VectorMaker> {
  const module: MakerModule = maker === undefined ? { vectorMaker } : await import(maker);
  if (batchRows === 1) return module.vectorMaker(blueprint);
  const onBatch = (rows: number) => void batches.push(rows);
  return module.vectorMaker(blueprint, (model) => new BatchingModel(model, { maxRows: batchRows, onBatch }));
}

async function answer({ id, env, question, revival, withSnapshot }: EnvironmentRequest): Promise<HostAnswer> {
  try {
    if (revival !== undefined) await revive(env, revival.model, revival.past);
    const environment = environments.get(env)!;
    const value = await ask(environment, question);
    const snapshot = withSnapshot ? await environment.snapshot() : undefined;
    return { id, value, snapshot, lives: true };
  } catch (error) {
    return { id, error: packError(error), lives: environments.has(env) };
  }
}

async function revive(env: number, model: string, past: Past): Promise<void> {
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

function ask(environment: VectorEnvironment, question: Question) {
  switch (question.kind) {
    case 'describe': {
      const { id, observationSpace, actionSpace, maxEpisodeSteps } = environment;
      return { id, observationSpace, actionSpace, maxEpisodeSteps };
    }
    case 'reset':
      return environment.reset(question.options);
    case 'step':
      return environment.step(question.action);
    case 'snapshot':
      return environment.snapshot() as EnvSnapshot;
    case 'restore':
      return environment.restore(question.snapshot, question.options);
  }
}

function send(one: HostAnswer): void {
  if (answers.length === 0) setImmediate(flush);
  answers.push(one);
}

function flush(): void {
  const message: ThreadMessage = { answers, batches };
  answers = [];
  batches = [];
  port.postMessage(message);
}

/** A model that cannot be loaded fails whoever asks for it, not the thread. */
function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
