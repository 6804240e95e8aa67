// A MuJoCo body as an environment: a compiled model and a body written as data.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import type { KnownFunctions } from '../../core/environment.js';
import { reverieError } from '../../core/errors.js';
import { packageRoot } from '../../core/packs.js';
import type { Rng } from '../../core/rng.js';
import {
  type Advance,
  ClockedEnvironment,
  type ClockSetting,
  clockOf,
  packNumbers,
  unpackNumbers,
} from '../clocked-environment.js';
import { boxSpace, unboundedSpace } from '../space-values.js';
import { parseStrictly } from '../strict-parse.js';
import {
  addressesOf,
  type BodyQuantities,
  type BodySpec,
  type BodySpecInput,
  bodyShape,
  bodySpecSchema,
  indexOf,
  isHealthy,
  knownFunctions,
  type LeafArray,
  quantitiesOf,
  type Read,
  type ResetNoise,
  readerOf,
  type Scalar,
  type ScalarSource,
  type Termination,
} from './body.js';
import { type ModelSource, Simulation } from './simulation.js';

interface MujocoOptions extends Pick<ModelSource, 'file' | 'folder'> {
  readonly id: string;
  readonly body: BodySpec;
  readonly maxEpisodeSteps?: number;
  /** Known functions that the data does not imply. */
  readonly known?: KnownFunctions;
}

/** A quantity whose change over a step is asked for: its value before the last step and after it. */
interface Register {
  readonly read: Read;
  before: number;
  after: number;
}

export class MujocoEnvironment extends ClockedEnvironment {
  private readonly observers: readonly Read[];
  private readonly terms: readonly { readonly name: string; readonly weight: number; readonly read: Read }[];
  private readonly limits: readonly { readonly readers: readonly Read[]; readonly range: Termination }[];
  private readonly registers: Register[] = [];
  private readonly shown: Float64Array;
  private readonly noAction: Float32Array;
  private action: Float32Array;
  private alive = 1;

  private constructor(
    private readonly simulation: Simulation,
    private readonly body: BodySpec,
    private readonly actuators: readonly number[],
    quantities: BodyQuantities,
    options: MujocoOptions,
    configuration: string,
  ) {
    super({
      id: options.id,
      observationSpace: unboundedSpace(quantities.observation.length),
      actionSpace: actionSpaceOf(simulation, actuators, body),
      maxEpisodeSteps: options.maxEpisodeSteps,
      stepSeconds: simulation.timestep * body.frameSkip,
      known: { ...knownFunctions(quantities, simulation.timestep * body.frameSkip), ...options.known },
      configuration,
    });
    const source = this.source();
    const read = (scalar: Scalar) => readerOf(scalar, source) as Read;
    this.observers = quantities.observation.map(read);
    this.terms = quantities.reward.map(({ name, weight, of }) => ({ name, weight, read: read(of) }));
    this.limits = quantities.termination.map(({ of, range }) => ({ readers: of.map(read), range }));
    this.shown = new Float64Array(this.observers.length);
    this.noAction = new Float32Array(actuators.length);
    this.action = this.noAction;
  }

  static async make(options: MujocoOptions): Promise<MujocoEnvironment> {
    const { id, file, folder, body, maxEpisodeSteps } = options;
    // Of everything that decides the dynamics.
    const hash = createHash('sha256').update(JSON.stringify([id, body, maxEpisodeSteps]));
    const onRead = (name: string, content: Uint8Array) => hash.update(name).update(content);
    const simulation = await Simulation.load({ file, folder, onRead });
    try {
      const actuators = actuatorsOf(simulation, body);
      const quantities = quantitiesOf(body, { simulation, actuators });
      const configuration = hash.digest('hex').slice(0, 16);
      return new MujocoEnvironment(simulation, body, actuators, quantities, options, configuration);
    } catch (error) {
      simulation.delete();
      throw error;
    }
  }

  /** Copies of the joint positions and velocities, in double precision. */
  jointState(): { qpos: Float64Array; qvel: Float64Array } {
    const { qpos, qvel } = this.simulation.arrays;
    return { qpos: qpos.slice(), qvel: qvel.slice() };
  }

  /** Puts the running episode at given joint positions and velocities; answers the observation there. */
  setJointState(qpos: ArrayLike<number>, qvel: ArrayLike<number>): Float32Array {
    this.simulation.arrays.qpos.set(qpos);
    this.simulation.arrays.qvel.set(qvel);
    this.simulation.forward();
    this.lookAtStart();
    return Float32Array.from(this.shown);
  }

  protected start(rng: Rng): void {
    const { simulation, body } = this;
    simulation.reset();
    placeJoints(simulation, body.initial);
    for (const entry of body.resetNoise) applyNoise(entry, simulation, rng);
    simulation.normalizeQuaternions();
    simulation.forward();
    this.lookAtStart();
  }

  protected advance(action: Float32Array): Advance {
    const { simulation, actuators } = this;
    this.action = action;
    this.alive = 1;
    for (const register of this.registers) register.before = register.after;
    for (let i = 0; i < actuators.length; i++) simulation.arrays.ctrl[actuators[i]] = action[i];
    simulation.step(this.body.frameSkip);
    if (this.body.forward) simulation.forward();
    this.look();
    const terminated = !this.limits.every(({ readers, range }) => readers.every((read) => isHealthy(range, read())));
    this.alive = terminated ? 0 : 1;
    return this.rewarded(terminated);
  }

  protected observe(into: Float32Array): void {
    into.set(this.shown);
  }

  /** What is shown is saved too: without `forward` it derives from the last substep, not from the state. */
  protected saveWorld(): MujocoWorld {
    return {
      physics: packNumbers(this.simulation.saveState()),
      shown: packNumbers(this.shown),
      registers: packNumbers(this.registers.map((register) => register.after)),
    };
  }

  protected loadWorld(world: unknown): void {
    const { physics, shown, registers } = world as MujocoWorld;
    const [state, seen, after] = [
      unpackNumbers(physics, this.simulation.stateSize),
      unpackNumbers(shown, this.shown.length),
      unpackNumbers(registers, this.registers.length),
    ];
    this.simulation.loadState(state);
    this.shown.set(seen);
    for (let i = 0; i < after.length; i++) this.registers[i].after = after[i];
  }

  override close(): void {
    super.close();
    this.simulation.delete();
  }

  /** As `look`, where nothing came before: every velocity measured over a step is zero. */
  private lookAtStart(): void {
    this.action = this.noAction;
    this.alive = 1;
    this.look();
    for (const register of this.registers) register.before = register.after;
    this.show();
  }

  /** Takes down what is to be seen of the state the simulation is in. */
  private look(): void {
    for (const name of ['qpos', 'qvel'] as const) {
      const values = this.simulation.arrays[name];
      const at = values.findIndex((value) => !Number.isFinite(value));
      if (at >= 0) throw this.nonFinite(`The state's ${name}[${at}]`, values[at]);
    }
    for (const register of this.registers) register.after = register.read();
    this.show();
  }

  private show(): void {
    for (let i = 0; i < this.shown.length; i++) this.shown[i] = this.observers[i]();
  }

  private rewarded(terminated: boolean): Advance {
    const info: Record<string, number> = {};
    let reward = 0;
    for (const { name, weight, read } of this.terms) {
      const value = weight * read();
      this.requireReward('The reward', value, `, reward term "${name}"`);
      info[`reward_${name}`] = value;
      reward += value;
      this.requireReward('The sum of the rewards', reward, `, reward term "${name}"`);
    }
    return { reward, terminated, info };
  }

  private source(): ScalarSource {
    const { arrays } = this.simulation;
    const duration = this.simulation.timestep * this.body.frameSkip;
    const leaf = (array: LeafArray, index: number): Read => {
      if (array === 'action') return () => this.action[index];
      if (array === 'alive') return () => this.alive;
      return () => arrays[array][index];
    };
    const velocity = (of: Scalar): Read => {
      const register: Register = { read: readerOf(of, { leaf, velocity }) as Read, before: 0, after: 0 };
      this.registers.push(register);
      return () => (register.after - register.before) / duration;
    };
    return { leaf, velocity };
  }
}

interface MujocoWorld {
  readonly physics: string;
  readonly shown: string;
  readonly registers: string;
}

function actuatorsOf(simulation: Simulation, body: BodySpec): number[] {
  const { actuators } = body.action;
  if (actuators === 'all') return Array.from({ length: simulation.nu }, (_, i) => i);
  return actuators.map((entry) => {
    if (typeof entry === 'string') return indexOf(simulation, 'actuator', entry);
    if (entry < simulation.nu) return entry;
    const problem = `The model has no actuator of index ${entry}; their number is ${simulation.nu}.`;
    throw reverieError('ENV_SPEC_INVALID', { problem });
  });
}

function actionSpaceOf(simulation: Simulation, actuators: readonly number[], body: BodySpec) {
  if (actuators.length === 0)
    throw reverieError('ENV_SPEC_INVALID', { problem: 'The model has no actuator to act with.' });
  const ranges = actuators.map((actuator) => {
    const range = body.action.range ?? simulation.controlRange(actuator);
    if (range !== undefined) return range;
    const problem = `Actuator ${simulation.nameOf('actuator', actuator)} has no ctrlrange, so its actions have no bounds to draw and learn them in. Give it one in the MJCF file, or all of them one with env.action.range.`;
    throw reverieError('ENV_SPEC_INVALID', { problem });
  });
  const [low, high] = [0, 1].map((end) => ranges.map((range) => range[end]));
  return boxSpace(low, high);
}

function placeJoints(simulation: Simulation, initial: BodySpec['initial']): void {
  for (const of of ['qpos', 'qvel'] as const) {
    for (const [joint, value] of Object.entries(initial[of] ?? {})) {
      const addresses = addressesOf([joint], of, simulation);
      const values = typeof value === 'number' ? [value] : value;
      if (values.length !== addresses.length) {
        const problem = `initial.${of}.${joint} has another length (${values.length}) than the joint (${addresses.length}).`;
        throw reverieError('ENV_SPEC_INVALID', { problem });
      }
      for (let i = 0; i < values.length; i++) simulation.arrays[of][addresses[i]] = values[i];
    }
  }
}

/** The files that MuJoCo opens for a model, or opened until it could not go on: why, is told where the model is used. */
export async function filesOf(source: ModelSource): Promise<string[]> {
  const files: string[] = [];
  const onRead = (name: string) => files.push(path.resolve(path.dirname(source.file), name));
  const simulation = await Simulation.load({ ...source, onRead }).catch(() => undefined);
  simulation?.delete();
  return files;
}

export function makeFromFile(settings: ClockSetting & { readonly id?: string }, source: ModelSource) {
  const body = parseStrictly(bodySpecSchema, bodyKeysOf(settings), 'environment');
  const id = settings.id ?? path.parse(source.file).name;
  return MujocoEnvironment.make({ id, ...source, body, maxEpisodeSteps: clockOf(settings, 1000) });
}

/** A body of the package: its folder in `data/bodies/` has the MJCF and what is observed, paid for and ended by. */
export function makeBuiltIn(id: string, settings: ClockSetting): Promise<MujocoEnvironment> {
  const { file, maxEpisodeSteps, body: own } = builtInBody(id);
  const overrides = bodyKeysOf(settings);
  const body = parseStrictly(bodySpecSchema, { ...own, ...overrides }, 'environment');
  const isEndChanged = 'observation' in overrides || 'termination' in overrides;
  return MujocoEnvironment.make({
    id,
    file,
    body,
    maxEpisodeSteps: clockOf(settings, maxEpisodeSteps),
    known: isEndChanged ? undefined : KNOWN[id],
  });
}

export function builtInBody(id: string) {
  const folder = path.join(packageRoot(), 'data/bodies', id);
  const { maxEpisodeSteps, ...body } = parse(readFileSync(path.join(folder, 'body.yaml'), 'utf8')) as BodySpecInput & {
    readonly maxEpisodeSteps: number;
  };
  return { file: path.join(folder, `${id}.xml`), maxEpisodeSteps, body };
}

/** Of the double pendulum, m; at or below this height of its tip the episode ends. */
const [POLE_LENGTH, MIN_HEIGHT] = [0.6, 1];

/** Known functions that the data does not imply. */
const KNOWN: Readonly<Record<string, KnownFunctions>> = {
  hopper: {
    // Velocities are shown up to 10, and end an episode at 100, which nothing reaches that has not fallen.
    terminated: (nextObs, at) => {
      const rest = nextObs.subarray(at + 1, at + 11);
      return !(nextObs[at] > 0.7 && Math.abs(rest[0]) < 0.2 && rest.every((value) => Math.abs(value) < 100));
    },
  },
  'inverted-double-pendulum': {
    // The tip's height from the shown angles. The simulation's own lags by a part of a substep, so the two can differ in
    // the one step in which the tip passes the limit.
    terminated: (nextObs, at) => {
      const [sin1, sin2, cos1, cos2] = [nextObs[at + 1], nextObs[at + 2], nextObs[at + 3], nextObs[at + 4]];
      return !(POLE_LENGTH * (cos1 + cos1 * cos2 - sin1 * sin2) > MIN_HEIGHT);
    },
  },
};

function bodyKeysOf(settings: object): Record<string, unknown> {
  const entries = Object.entries(settings).filter(([key, value]) => key in bodyShape && value !== undefined);
  return Object.fromEntries(entries);
}

function applyNoise(entry: ResetNoise, simulation: Simulation, rng: Rng): void {
  const of = entry.qpos !== undefined ? 'qpos' : 'qvel';
  const addresses = addressesOf((entry.qpos ?? entry.qvel)!, of, simulation);
  const values = simulation.arrays[of];
  if (entry.disc !== undefined) {
    const problem = `resetNoise.disc sets two elements; those that it is given are ${addresses.length}.`;
    if (addresses.length !== 2) throw reverieError('ENV_SPEC_INVALID', { problem });
    const [x, y] = pointInDisc(entry.disc, rng);
    values[addresses[0]] = x;
    values[addresses[1]] = y;
    return;
  }
  for (const address of addresses) {
    if (entry.value !== undefined) values[address] = entry.value;
    else if (entry.normal !== undefined) values[address] += entry.normal * rng.normal();
    else if (entry.uniform !== undefined) values[address] += between(entry.uniform, rng);
  }
}

function between([low, high]: readonly [number, number], rng: Rng): number {
  return low + (high - low) * rng.uniform();
}

function pointInDisc(radius: number, rng: Rng): [number, number] {
  for (;;) {
    const x = between([-radius, radius], rng);
    const y = between([-radius, radius], rng);
    if (Math.hypot(x, y) < radius) return [x, y];
  }
}
