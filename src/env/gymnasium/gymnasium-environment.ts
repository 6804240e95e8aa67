// An environment of Python's Gymnasium as one of ours. Its state cannot be read: an episode, a seed and the actions since, is what brings it
// back. A snapshot is that, and so is what another process is given when the one before died.

import { z } from 'zod';
import type {
  EnvSnapshot,
  ResetOptions,
  ResetResult,
  RestoreOptions,
  StepResult,
  VectorEnvironment,
  VectorSpace,
} from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { Rng } from '../../core/rng.js';
import { contains, fromSnapshot, requireAction, rngStateSchema, rowSize } from '../space-values.js';
import {
  type Answer,
  type GymnasiumSpec,
  type Moved,
  ProcessDied,
  type Replay,
  type Request,
  type Slot,
  slotFor,
} from './python-process.js';

/** Processes that may end in a row on one request. */
const DEATHS = 3;

const count = z.int().min(0);
const stateSchema = z.strictObject({
  configuration: z.string(),
  rng: rngStateSchema,
  running: z.boolean(),
  episode: z
    .strictObject({
      seed: z.int(),
      actions: z.array(z.array(z.number())),
      reseeds: z.array(z.strictObject({ steps: count, seed: z.int() })),
      observation: z.array(z.number()),
    })
    .nullable(),
});

type State = z.output<typeof stateSchema>;

/** An episode, and what was seen last: when it is replayed, it has to come out there. */
interface Episode {
  readonly seed: number;
  readonly reseeds: Replay['reseeds'];
  /** As many of the actions as `steps` says; episodes that part from here have others behind them. */
  readonly actions: Float32Array[];
  readonly steps: number;
  readonly observation: Float32Array;
}

/** Where the environment is; replaced whole, so that an earlier one is a mark. */
interface Moment {
  readonly rng: Rng;
  readonly running: boolean;
  readonly episode: Episode | undefined;
}

/** @throws ENV_UNUSABLE, GYMNASIUM_MISSING, GYMNASIUM_UNKNOWN, GYMNASIUM_SPACE, GYMNASIUM_TIMEOUT */
export async function openGymnasium(spec: GymnasiumSpec): Promise<GymnasiumEnvironment> {
  return new GymnasiumEnvironment(spec, await slotFor(spec));
}

export class GymnasiumEnvironment implements VectorEnvironment {
  readonly id: string;
  readonly family = 'vector' as const;
  readonly observationSpace: VectorSpace;
  readonly actionSpace: VectorSpace;
  readonly maxEpisodeSteps?: number;
  readonly stepSeconds?: number;
  /** All that decides what it is, as JSON: snapshots of another one are refused. */
  private readonly configuration: string;
  private moment: Moment = { rng: streamOf(0), running: false, episode: undefined };
  /** The process that stands at `moment`; 0 where none does. */
  private at = 0;
  private busy = false;
  private closed = false;

  constructor(
    { timeoutSeconds: _, ...configuration }: GymnasiumSpec,
    private readonly slot: Slot,
  ) {
    const { observation, action, maxEpisodeSteps, stepSeconds } = slot.spaces;
    this.id = configuration.id;
    this.observationSpace = observation;
    this.actionSpace = action;
    this.maxEpisodeSteps = maxEpisodeSteps ?? undefined;
    this.stepSeconds = stepSeconds ?? undefined;
    this.configuration = JSON.stringify(configuration);
  }

  get pid(): number | undefined {
    return this.slot.pid();
  }

  /**
   * With a seed, exactly what Gymnasium begins with it. Without one the next seed is drawn here, from a stream of the last one given: the
   * episode can then be replayed.
   * @throws ENV_CLOSED, ENV_BUSY, NON_FINITE_VALUE, GYMNASIUM_FAILED, GYMNASIUM_DIED, GYMNASIUM_TIMEOUT
   */
  reset(options: ResetOptions = {}): Promise<ResetResult<Float32Array>> {
    return this.alone(async () => {
      const rng = options.seed === undefined ? Rng.fromState(this.moment.rng.state()) : streamOf(options.seed);
      const seed = options.seed ?? rng.uint32();
      const { observation, info } = await this.asked({ verb: 'reset', seed }, 'reset');
      this.requireFinite(observation, 0, 'its start');
      this.moment = { rng, running: true, episode: { seed, actions: [], steps: 0, reseeds: [], observation } };
      return { observation: observation.slice(), info };
    });
  }

  /** @throws ENV_NOT_RESET, ACTION_OUT_OF_SPACE, NON_FINITE_VALUE, GYMNASIUM_NOT_REPEATABLE, and as `reset` */
  step(action: Float32Array): Promise<StepResult<Float32Array>> {
    return this.alone(async () => {
      const { rng, running, episode } = this.moment;
      if (!running || episode === undefined) throw reverieError('ENV_NOT_RESET', { id: this.id });
      requireAction(this.actionSpace, action);
      const steps = episode.steps + 1;
      const own = action.slice();
      const moved = await this.asked({ verb: 'step', action: own }, `step ${steps}`);
      const { observation, reward, terminated, truncated, info } = moved;
      this.requireFinite(observation, reward, `step ${steps}`);
      const actions = episode.actions.length < steps ? episode.actions : episode.actions.slice(0, episode.steps);
      actions.push(own);
      this.moment = { rng, running: !terminated && !truncated, episode: { ...episode, actions, steps, observation } };
      return { observation: observation.slice(), reward, terminated, truncated, info };
    });
  }

  snapshot(): EnvSnapshot {
    this.requireOpen();
    const { rng, running, episode = null } = this.moment;
    const kept = episode && {
      seed: episode.seed,
      actions: actionsOf(episode).map((row) => Array.from(row)),
      reseeds: [...episode.reseeds],
      observation: Array.from(episode.observation),
    };
    const state: State = { configuration: this.configuration, rng: rng.state(), running, episode: kept };
    return { env: this.id, state };
  }

  /** Replays the episode as far as the snapshot. A seed begins the environment's own stream anew. @throws SNAPSHOT_MISMATCH, and as `step` */
  restore(snapshot: EnvSnapshot, { seed }: RestoreOptions = {}): Promise<Float32Array> {
    return this.alone(async () => {
      const moment = fromSnapshot(snapshot, this.id, (saved) => this.momentOf(stateSchema.parse(saved), seed));
      const { episode } = moment;
      if (episode !== undefined) await this.surviving(() => this.replayed(episode));
      this.moment = moment;
      return episode?.observation.slice() ?? new Float32Array(rowSize(this.observationSpace));
    });
  }

  /** Throws where it is damaged: of rows of another size the process would take a part for the next request. */
  private momentOf({ configuration, rng: drawn, running, episode }: State, seed?: number): Moment | undefined {
    if (configuration !== this.configuration) return undefined;
    const rng = seed === undefined ? Rng.fromState(drawn) : streamOf(seed).split('restored');
    if (episode === null && !running) return { rng, running, episode: undefined };
    const { reseeds, ...rest } = episode!;
    const steps = rest.actions.length;
    const actions = rest.actions.map((row) => Float32Array.from(row));
    const observation = Float32Array.from(rest.observation);
    const isWhole = observation.length === rowSize(this.observationSpace);
    if (!isWhole || !actions.every((row) => contains(this.actionSpace, row)))
      throw new RangeError('a row does not fit');
    const again = seed === undefined ? [] : [{ steps, seed }];
    return { rng, running, episode: { ...rest, actions, steps, reseeds: [...reseeds, ...again], observation } };
  }

  /** The episode is replayed where it was left meanwhile, and only once something is asked. */
  mark(): () => void {
    const { moment } = this;
    return () => {
      if (this.moment !== moment) this.at = 0;
      this.moment = moment;
    };
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.slot.close();
  }

  /** A request that continues from `moment`, wherever the process stands. */
  private asked(request: Request, what: string): Promise<Moved> {
    return this.surviving(async () => {
      const { episode } = this.moment;
      const generation = this.slot.generation();
      if (request.verb === 'step' && this.at !== generation) await this.replayed(episode!);
      // Without an answer its state is not known.
      this.at = 0;
      const moved = this.movedBy(await this.slot.ask(request), what);
      this.at = generation;
      return moved;
    });
  }

  private async replayed(episode: Episode): Promise<void> {
    const generation = this.slot.generation();
    this.at = 0;
    const { seed, reseeds, steps, observation } = episode;
    const replay = { seed, reseeds, actions: actionsOf(episode) };
    const moved = this.movedBy(await this.slot.ask({ verb: 'replay', replay }), 'an episode run again');
    const isSame = moved.steps === steps && moved.observation.every((value, i) => value === observation[i]);
    if (!isSame) throw reverieError('GYMNASIUM_NOT_REPEATABLE', { id: this.id, seed, steps });
    this.at = generation;
  }

  /** Once more in a new process where one ended, up to `DEATHS` times. */
  private async surviving<R>(work: () => Promise<R>): Promise<R> {
    for (let times = 1; ; times++) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof ProcessDied)) throw error;
        this.requireOpen();
        if (times < DEATHS) continue;
        throw reverieError('GYMNASIUM_DIED', { id: this.id, times, problem: error.message }, error);
      }
    }
  }

  private movedBy(answer: Answer, what: string): Moved {
    if (answer !== undefined && 'observation' in answer) return answer;
    this.moment = { ...this.moment, running: false };
    const { type, message } = answer?.failed ?? { type: 'closed', message: 'the environment had been closed' };
    throw reverieError('GYMNASIUM_FAILED', { id: this.id, what, problem: `${type}: ${message}` });
  }

  private requireFinite(observation: Float32Array, reward: number, where: string): void {
    const element = observation.findIndex((value) => !Number.isFinite(value));
    if (element < 0 && Number.isFinite(Math.fround(reward))) return;
    this.moment = { ...this.moment, running: false };
    const [what, value] =
      element < 0 ? ['The reward as float32', reward] : [`Observation element ${element}`, observation[element]];
    const hint = 'It comes from the environment itself; wrap it in Python so that it ends before, or scale the reward.';
    throw reverieError('NON_FINITE_VALUE', { what, value, where: `${where} of "${this.id}"`, hint });
  }

  private requireOpen(): void {
    if (this.closed) throw reverieError('ENV_CLOSED', { id: this.id });
  }

  private async alone<R>(work: () => Promise<R>): Promise<R> {
    this.requireOpen();
    if (this.busy) throw reverieError('ENV_BUSY', { id: this.id });
    this.busy = true;
    try {
      return await work();
    } finally {
      this.busy = false;
    }
  }
}

function actionsOf({ actions, steps }: Episode): Float32Array[] {
  return actions.slice(0, steps);
}

function streamOf(seed: number): Rng {
  return Rng.fromSeed(seed).split('gymnasium');
}
