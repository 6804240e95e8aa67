// `reverie collect`: real episodes of a random policy, a trained one, or one that explores, kept as a replay snapshot. What was lived is put away
// every few seconds, so that a recording that was stopped or killed goes on to the same bytes:
//
//   checkpoint/recording.json  episodes so far, where the environment, the policy's stream and the metrics are; sealed
//   checkpoint/real/           the rows so far, a replay snapshot like any other
//   checkpoint/model/          what an explorer is unsure by

import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { VectorEnvironment } from '../../core/environment.js';
import { describeIssues, reverieError } from '../../core/errors.js';
import { requirePanel } from '../../core/evaluation-set.js';
import { openSealed, recoverFolder, replaceFolderAtomic, sealedText } from '../../core/files.js';
import type { Phase } from '../../core/progress.js';
import { Rng } from '../../core/rng.js';
import { mean } from '../../core/statistics.js';
import { makeEnvironment } from '../../env/make-environment.js';
import { rowSize } from '../../env/space-values.js';
import { ReplayBuffer } from '../../replay/buffer.js';
import { RandomPolicy } from '../../rl/random-policy.js';
import { Collector } from '../../training/collector.js';
import { Explorer } from '../../training/exploration.js';
import { type Recorder, type Recording, type RecordingPorts, record, recorderOf } from '../../training/recording.js';
import { dynamicsKinds } from '../../worldmodel/kinds.js';
import { type CollectResult, interrupted, type JobContext } from '../job.js';
import { wantedPanel } from '../wanted-panel.js';
import { collectorSchema } from './checkpoint.js';
import { agentOf, learnerFor, resolvedSpec } from './given-parts.js';
import { findInput, requireInput } from './inputs.js';
import { collectPanel, explorerVersion } from './vector-panels.js';

const CHECKPOINT_FOLDER = 'checkpoint';
const RECORDING_FILE = 'recording.json';

/** Milliseconds between checkpoints, or more: all rows are written each time, and that may take a twentieth of the time. */
const CHECKPOINT_MS = 5_000;
const TIMES_A_SAVE = 20;

const count = z.int().min(0);

const recordingSchema = z.strictObject({
  format: z.literal('reverie-recording'),
  formatVersion: z.literal(1),
  collector: collectorSchema,
  rng: z.strictObject({ key: z.tuple([z.int(), z.int()]), position: count }),
  episodes: z.array(z.strictObject({ episode: count, return: z.number(), length: count })),
  metrics: z.strictObject({ bytes: count, wallSeconds: z.number() }),
  /** Rows an explorer's model was fitted to; absent where nobody explores. */
  fitted: count.optional(),
});

export async function collectJob(context: JobContext): Promise<CollectResult> {
  const { config, folder } = context.scenario;
  const env = await makeEnvironment(config.env, { folder });
  const { recorder, agent, close } = await recorderFor(context, env);
  try {
    const panel = collectPanel(context, agent);
    requirePanel(panel, wantedPanel(context));
    const keeper = new RecordingKeeper(context);
    const recording = await keeper.begin(env, recorder);
    await record(recording, config.collect.steps, keeper);
    return { ...(await finished(recording, keeper, context)), panel };
  } catch (error) {
    // Stopped while a model was fitted: what was put away last stands, and the recording lives the rest again, byte for byte.
    if (context.signal.aborted) interrupted();
    throw error;
  } finally {
    await close();
    await env.close();
  }
}

async function finished(
  { buffer, episodes }: Recording,
  keeper: RecordingKeeper,
  { out, metrics }: JobContext,
): Promise<Omit<CollectResult, 'panel'>> {
  const data = join(out, 'data');
  await buffer.save(data);
  await keeper.end();
  return {
    job: 'collect',
    family: 'vector',
    wallSeconds: metrics.wallSeconds,
    data,
    transitions: buffer.size,
    episodes: episodes.length,
    meanReturn: episodes.length > 0 ? mean(episodes.map((episode) => episode.return)) : null,
  };
}

/** What a recording is given of its run: the bar, the journal of metrics, and checkpoints. */
class RecordingKeeper implements RecordingPorts {
  readonly signal: AbortSignal;
  private readonly folder: string;
  private readonly bar: Phase;
  private dueAt = performance.now() + CHECKPOINT_MS;

  constructor(private readonly context: JobContext) {
    this.signal = context.signal;
    this.folder = join(context.out, CHECKPOINT_FOLDER);
    this.bar = context.progress.phase('collect', context.scenario.config.collect.steps, 'real steps');
  }

  /** A recording that begins, or the one that was put away. @throws CHECKPOINT_CORRUPT */
  async begin(env: VectorEnvironment, recorder: Recorder): Promise<Recording> {
    const { scenario, seed, metrics, resume } = this.context;
    const { collect, name } = scenario.config;
    const root = Rng.fromSeed(seed);
    const collector = new Collector(env, name, root.split('episodes'), seed);
    if (resume) await recoverFolder(this.folder);
    if (!resume || !existsSync(this.folder)) {
      metrics.rewind({ bytes: 0, wallSeconds: 0 });
      const [obsDim, actionDim] = [rowSize(env.observationSpace), rowSize(env.actionSpace)];
      const buffer = new ReplayBuffer({ capacity: collect.steps, obsDim, actionDim, source: 'real' });
      return { collector, recorder, rng: root.split('collect'), buffer, episodes: [] };
    }
    const saved = await readRecording(join(this.folder, RECORDING_FILE));
    const buffer = await ReplayBuffer.load(join(this.folder, 'real'), { capacity: collect.steps });
    await collector.restore(saved.collector);
    metrics.rewind(saved.metrics);
    this.bar.set(buffer.size);
    this.context.log(`Going on after ${buffer.size} real steps.`);
    if (recorder instanceof Explorer) await recorder.resume(this.folder, saved.fitted ?? 0);
    return { collector, recorder, rng: Rng.fromState(saved.rng), buffer, episodes: saved.episodes };
  }

  tell(event: { readonly kind: string }): void {
    this.context.metrics.write(event);
  }

  async checkpoint(recording: Recording): Promise<void> {
    const last = recording.episodes.at(-1);
    this.bar.set(recording.buffer.size, last && `return ${last.return.toFixed(1)}`);
    const started = performance.now();
    if (!this.signal.aborted && started < this.dueAt) return;
    await this.save(recording);
    if (this.signal.aborted) interrupted();
    const took = performance.now() - started;
    this.dueAt = performance.now() + Math.max(CHECKPOINT_MS, TIMES_A_SAVE * took);
  }

  /** Everything is kept elsewhere. */
  async end(): Promise<void> {
    this.bar.end();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async save({ collector, recorder, rng, buffer, episodes }: Recording): Promise<void> {
    const manifest: z.input<typeof recordingSchema> = {
      format: 'reverie-recording',
      formatVersion: 1,
      collector: await collector.state(),
      rng: { key: [...rng.state().key], position: rng.state().position },
      episodes: [...episodes],
      metrics: this.context.metrics.mark(),
    };
    await replaceFolderAtomic(this.folder, async (temporary) => {
      await buffer.save(join(temporary, 'real'));
      const explored = recorder instanceof Explorer && { fitted: await recorder.save(temporary) };
      await writeFile(join(temporary, RECORDING_FILE), sealedText({ ...manifest, ...explored }));
    });
  }
}

async function readRecording(path: string): Promise<z.output<typeof recordingSchema>> {
  try {
    return recordingSchema.parse(openSealed(await readFile(path, 'utf8')));
  } catch (error) {
    const problem = error instanceof z.ZodError ? describeIssues(error) : (error as Error).message;
    throw reverieError('CHECKPOINT_CORRUPT', { path, problem }, error);
  }
}

interface ActingRecorder {
  readonly recorder: Recorder;
  /** Version of who acts. */
  readonly agent: string;
  close(): Promise<void>;
}

async function recorderFor(context: JobContext, env: VectorEnvironment): Promise<ActingRecorder> {
  const { policy } = context.scenario.config.collect;
  if (policy === 'explore') {
    const explorer = explorerOf(context, env);
    return { recorder: explorer, agent: explorerVersion(context.scenario.config), close: () => explorer.close() };
  }
  if (policy === 'random' && findInput(context.inputs, 'checkpoint') === undefined) {
    const policy = new RandomPolicy(env.actionSpace);
    return { recorder: recorderOf(policy), agent: policy.version, close: async () => {} };
  }
  const checkpoint = requireInput(context.inputs, 'checkpoint');
  const { learner } = await learnerFor(env, checkpoint);
  const agent = await agentOf(learner, checkpoint);
  const close = async () => {
    await agent.close();
    await learner.close();
  };
  return { recorder: recorderOf(agent.policy), agent: agent.policy.version, close };
}

/** @throws SCENARIO_INVALID where the scenario's model is brought, and nothing can be learned */
function explorerOf({ scenario, seed, signal, metrics, workers }: JobContext, env: VectorEnvironment): Explorer {
  const { collect, model, name } = scenario.config;
  if (dynamicsKinds.get(model.kind).broughtFolder !== undefined) {
    const problem = `collect.policy is "explore", and model.kind "${model.kind}" is brought and learns nothing from what is found.`;
    throw reverieError('SCENARIO_INVALID', { path: name, problem });
  }
  const settings = { ...collect.explore, model, workers, env: resolvedSpec(scenario) };
  const onFit = (fit: object) => metrics.write({ kind: 'fit', ...fit });
  return new Explorer(settings, env, Rng.fromSeed(seed).split('explore'), onFit, signal);
}
