// When a body's episode ends: a quantity leaves its range. NaN is in no range.

import loadMujoco, { type MainModule, type MjData, type MjModel } from '@mujoco/mujoco';
import { reverieError } from '../../core/errors.js';
import type { Rng } from '../../core/rng.js';
import type { BodySpec, ResetNoise, Termination } from './body-spec.js';
import { addressesOf, type ExpressionScope, type Scalar, scalarOf, scalarsOf } from './expression.js';
import { type ModelFiles, mjcfInvalid } from './model-files.js';

/** Whether one number lies within the range in which the episode goes on. */
export function isHealthy(range: Termination, value: number): boolean {
  if (Number.isNaN(value)) return false;
  if (range.above !== undefined && value <= range.above) return false;
  if (range.below !== undefined && value >= range.below) return false;
  if (range.atLeast !== undefined && value < range.atLeast) return false;
  return range.atMost === undefined || value <= range.atMost;
}

/** How each element of qpos follows from an observation. */
export type JointSight =
  | { readonly by: 'value'; readonly at: number }
  /** Shown as sine and cosine. */
  | { readonly by: 'angle'; readonly sin: number; readonly cos: number }
  /** Only its velocity is shown: positions are added up from it. */
  | { readonly by: 'velocity'; readonly at: number }
  | { readonly by: 'nothing' };

/**
 * @param observation  what is shown, in order
 * @param velocityOf   element of qvel that is the derivative of an element of qpos; undefined where it is none
 */
export function jointSights(
  observation: readonly Scalar[],
  nq: number,
  velocityOf: (qpos: number) => number | undefined,
): JointSight[] {
  const at = (key: string) => observation.findIndex((scalar) => bare(scalar) === key);
  return Array.from({ length: nq }, (_, i): JointSight => {
    const value = at(`qpos[${i}]`);
    if (value >= 0) return { by: 'value', at: value };
    const [sin, cos] = [at(`sin(qpos[${i}])`), at(`cos(qpos[${i}])`)];
    if (sin >= 0 && cos >= 0) return { by: 'angle', sin, cos };
    const qvel = velocityOf(i);
    const velocity = qvel === undefined ? -1 : at(`qvel[${qvel}]`);
    return velocity >= 0 ? { by: 'velocity', at: velocity } : { by: 'nothing' };
  });
}

/** Name of what a scalar shows; a clip shows it as far as it goes. */
function bare(scalar: Scalar): string {
  return scalar.kind === 'map' && scalar.clip ? bare(scalar.of) : scalar.key;
}

/** Writes the joint positions of an observation into `qpos`, which holds those of the step before. */
export function placeAsSeen(
  sights: readonly JointSight[],
  observation: ArrayLike<number>,
  qpos: Float64Array,
  /** Since the step before; 0 at the first. */
  seconds: number,
): void {
  sights.forEach((sight, i) => {
    if (sight.by === 'value') qpos[i] = observation[sight.at];
    else if (sight.by === 'angle') qpos[i] = Math.atan2(observation[sight.sin], observation[sight.cos]);
    else if (sight.by === 'velocity') qpos[i] += observation[sight.at] * seconds;
  });
}

/** mjtGeom, as far as it has a shape of its own; meshes and height fields are drawn as their boxes. */
const SHAPES = ['plane', 'box', 'sphere', 'capsule', 'ellipsoid', 'cylinder', 'box', 'box'] as const;

export interface Geom {
  readonly shape: (typeof SHAPES)[number];
  /** Half extents in metres as in MuJoCo's `size`; of a plane 0 is without end. */
  readonly size: readonly [number, number, number];
  /** Red, green, blue, alpha in [0, 1]. */
  readonly colour: readonly [number, number, number, number];
}

/** The parts that are seen, in the model's order: those that are transparent or of no shape are left out. */
export function visibleGeoms(simulation: Simulation): { readonly indices: readonly number[]; readonly geoms: Geom[] } {
  const { type, size, colour, aabb } = simulation.geomTable();
  const all = Array.from(type, (_, i) => i).filter((i) => type[i] < SHAPES.length && colour[4 * i + 3] > 0);
  const geoms = all.map((i): Geom => {
    const isOwn = type[i] !== 1 && type[i] !== 7;
    const extents = isOwn ? size.subarray(3 * i, 3 * i + 3) : aabb.subarray(6 * i + 3, 6 * i + 6);
    const [a, b, c] = extents;
    const [red, green, blue, alpha] = colour.subarray(4 * i, 4 * i + 4);
    return { shape: SHAPES[type[i]], size: [a, b, c], colour: [red, green, blue, alpha] };
  });
  return { indices: all, geoms };
}

/** For each part: position x, y, z and orientation w, x, y, z. Row [7 · parts]. */
export function geomPoses(simulation: Simulation, indices: readonly number[]): Float64Array {
  const { position, rotation } = simulation.geomPoses();
  const row = new Float64Array(7 * indices.length);
  indices.forEach((geom, i) => {
    row.set(position.subarray(3 * geom, 3 * geom + 3), 7 * i);
    row.set(quaternionOf(rotation.subarray(9 * geom, 9 * geom + 9)), 7 * i + 3);
  });
  return row;
}

/** Unit quaternion of a row-major rotation matrix, by its largest component (Shepperd's method). */
function quaternionOf(m: Float64Array): [number, number, number, number] {
  const squares = [m[0] + m[4] + m[8], m[0] - m[4] - m[8], m[4] - m[0] - m[8], m[8] - m[0] - m[4]];
  const largest = squares.indexOf(Math.max(...squares));
  const s = 2 * Math.sqrt(1 + squares[largest]);
  const [wx, wy, wz] = [(m[7] - m[5]) / s, (m[2] - m[6]) / s, (m[3] - m[1]) / s];
  const [xy, xz, yz] = [(m[1] + m[3]) / s, (m[2] + m[6]) / s, (m[5] + m[7]) / s];
  if (largest === 0) return [s / 4, wx, wy, wz];
  if (largest === 1) return [wx, s / 4, xy, xz];
  return largest === 2 ? [wy, xy, s / 4, yz] : [wz, xz, yz, s / 4];
}

/** Applies one entry of `resetNoise` to the state. */
export function applyNoise(entry: ResetNoise, simulation: Simulation, rng: Rng): void {
  const of = entry.qpos !== undefined ? 'qpos' : 'qvel';
  const addresses = addressesOf((entry.qpos ?? entry.qvel)!, of, simulation);
  const values = simulation.arrays[of];
  if (entry.disc !== undefined) {
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

export interface BodyQuantities {
  readonly observation: readonly Scalar[];
  readonly reward: readonly { name: string; weight: number; of: Scalar }[];
  readonly termination: readonly { of: readonly Scalar[]; range: Termination }[];
}

export function quantitiesOf(body: BodySpec, scope: ExpressionScope): BodyQuantities {
  return {
    observation: body.observation.flatMap((expression) => lifeless(scalarsOf(expression, scope))),
    reward: body.reward.map(({ name, of, weight }) => ({
      name,
      weight,
      of: scalarOf(of, scope, `Reward term "${name}"`),
    })),
    termination: body.termination.map((range) => ({ of: lifeless(scalarsOf(range.of, scope)), range })),
  };
}

/** Whether the episode goes on is decided after observing, so only a reward can ask for it. */
function lifeless(scalars: Scalar[]): Scalar[] {
  if (!scalars.some(({ key }) => key.includes('alive['))) return scalars;
  throw reverieError('ENV_SPEC_INVALID', { problem: '"alive" can be used in reward terms only.' });
}

/** Live arrays of the simulation. Take them from `Simulation.arrays` anew in every operation: another model may move them. */
export interface SimulationArrays {
  qpos: Float64Array;
  qvel: Float64Array;
  ctrl: Float64Array;
  /** World positions of bodies and sites, [n, 3]. */
  xpos: Float64Array;
  siteXpos: Float64Array;
  /** Rotation matrices of bodies, row-major, [n, 9]. */
  xmat: Float64Array;
  /** Constraint (contact, limit) forces in joint space, [nv]. */
  qfrcConstraint: Float64Array;
  sensordata: Float64Array;
}

export type NamedKind = 'body' | 'joint' | 'site' | 'actuator' | 'sensor';

const OBJECT_TYPE = { body: 1, joint: 3, site: 6, actuator: 19, sensor: 20 } as const;
/** qpos and qvel elements of a free, ball, slide and hinge joint (mjtJoint). */
const QPOS_SIZE = [7, 4, 1, 1];
const FREE_JOINT = 0;
const QVEL_SIZE = [6, 3, 1, 1];

let wasm: Promise<MainModule> | undefined;
let modelCount = 0;

export class Simulation {
  readonly nq: number;
  readonly nv: number;
  readonly nu: number;
  /** Seconds of one substep. */
  readonly timestep: number;
  private readonly views = {} as SimulationArrays;
  private readonly stateSignature: number;
  /** Numbers in a saved state. */
  readonly stateSize: number;

  private constructor(
    private readonly mujoco: MainModule,
    private readonly model: MjModel,
    private readonly data: MjData,
  ) {
    this.nq = model.nq;
    this.nv = model.nv;
    this.nu = model.nu;
    this.timestep = model.opt.timestep;
    // By default MuJoCo silently starts over when a simulation diverges; we want to see the NaN and say so.
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET.value;
    this.stateSignature = mujoco.mjtState.mjSTATE_INTEGRATION.value;
    this.stateSize = mujoco.mj_stateSize(model, this.stateSignature);
  }

  /** Compiles a model; MJCF_INVALID with MuJoCo's own message where it cannot. */
  static async load(files: ModelFiles): Promise<Simulation> {
    wasm ??= loadMujoco({ print: ignore, printErr: ignore });
    const mujoco = await wasm;
    const folder = `/model-${modelCount++}`;
    try {
      const main = writeFiles(mujoco, folder, files);
      const model = mujoco.MjModel.from_xml_path(main);
      return new Simulation(mujoco, model, new mujoco.MjData(model));
    } catch (error) {
      throw mjcfInvalid(files.path, messageOf(error), error);
    } finally {
      removeFiles(mujoco, folder, files);
    }
  }

  /** The live arrays, renewed if the WebAssembly memory has moved: its growth detaches every view. Always the same object. */
  get arrays(): SimulationArrays {
    const { views, data } = this;
    if (views.qpos !== undefined && views.qpos.byteLength > 0) return views;
    views.qpos = data.qpos;
    views.qvel = data.qvel;
    views.ctrl = data.ctrl;
    views.xpos = data.xpos;
    views.siteXpos = data.site_xpos;
    views.xmat = data.xmat;
    views.qfrcConstraint = data.qfrc_constraint;
    views.sensordata = data.sensordata;
    return views;
  }

  /** Back to the model's reference state, time 0. */
  reset(): void {
    this.mujoco.mj_resetData(this.model, this.data);
  }

  /** Recomputes everything that follows from qpos, qvel and ctrl. */
  forward(): void {
    this.mujoco.mj_forward(this.model, this.data);
  }

  /** Advances `substeps` timesteps under the current ctrl. */
  step(substeps: number): void {
    for (let i = 0; i < substeps; i++) this.mujoco.mj_step(this.model, this.data);
  }

  /** All inputs of `step`: time, qpos, qvel, activations, warm start, controls, applied forces (mjSTATE_INTEGRATION). */
  saveState(): Float64Array {
    const state = new Float64Array(this.stateSize);
    const buffer = new this.mujoco.DoubleBuffer(this.stateSize);
    try {
      this.mujoco.mj_getState(this.model, this.data, buffer, this.stateSignature);
      state.set(buffer.GetView());
    } finally {
      buffer.delete();
    }
    return state;
  }

  loadState(state: Float64Array): void {
    // The binding types the argument as number[] and takes any array-like.
    this.mujoco.mj_setState(this.model, this.data, state as unknown as number[], this.stateSignature);
  }

  /** Element of qvel that is the derivative of an element of qpos; undefined for those of quaternions. */
  velocityOf(qpos: number): number | undefined {
    for (let joint = 0; joint < this.model.njnt; joint++) {
      const at = qpos - this.model.jnt_qposadr[joint];
      const type = this.model.jnt_type[joint];
      const size = QPOS_SIZE[type];
      if (at < 0 || at >= size) continue;
      const isPosition = size === 1 || (type === FREE_JOINT && at < 3);
      return isPosition ? this.model.jnt_dofadr[joint] + at : undefined;
    }
    return undefined;
  }

  /** What geoms are: type [n], size [n, 3], colour [n, 4], centre and half extents of their boxes [n, 6]. Copies. */
  geomTable(): { type: Int32Array; size: Float64Array; colour: Float32Array; aabb: Float64Array } {
    const { geom_type: type, geom_size: size, geom_rgba: colour, geom_aabb: aabb } = this.model;
    return { type: type.slice(), size: size.slice(), colour: colour.slice(), aabb: aabb.slice() };
  }

  /** Where geoms are now, by the joints alone: position [n, 3], rotation matrix [n, 9]. Copies; the dynamics do not see it. */
  geomPoses(): { position: Float64Array; rotation: Float64Array } {
    this.mujoco.mj_kinematics(this.model, this.data);
    return { position: this.data.geom_xpos.slice(), rotation: this.data.geom_xmat.slice() };
  }

  /** Index of a named object, or -1. */
  indexOf(kind: NamedKind, name: string): number {
    return this.mujoco.mj_name2id(this.model, OBJECT_TYPE[kind], name);
  }

  /** Names of all objects of a kind; unnamed ones are absent. */
  names(kind: NamedKind): string[] {
    const counts = { body: 'nbody', joint: 'njnt', site: 'nsite', actuator: 'nu', sensor: 'nsensor' } as const;
    const count = this.model[counts[kind]];
    const all = Array.from({ length: count }, (_, i) => this.mujoco.mj_id2name(this.model, OBJECT_TYPE[kind], i));
    return all.filter((name) => name !== '' && name !== null && name !== undefined);
  }

  /** `"push"`, or the number of one without a name. */
  nameOf(kind: NamedKind, index: number): string {
    const name = this.mujoco.mj_id2name(this.model, OBJECT_TYPE[kind], index);
    return name ? `"${name}"` : String(index);
  }

  /** Addresses in qpos (or qvel) of a joint's elements. */
  jointAddresses(joint: number, of: 'qpos' | 'qvel'): number[] {
    const type = this.model.jnt_type[joint];
    const start = of === 'qpos' ? this.model.jnt_qposadr[joint] : this.model.jnt_dofadr[joint];
    return range(start, (of === 'qpos' ? QPOS_SIZE : QVEL_SIZE)[type]);
  }

  sensorAddresses(sensor: number): number[] {
    return range(this.model.sensor_adr[sensor], this.model.sensor_dim[sensor]);
  }

  /** An actuator's ctrlrange, or undefined if it has none (the binding cannot read `ctrllimited`, so a range means limited). */
  controlRange(actuator: number): readonly [number, number] | undefined {
    const low = this.model.actuator_ctrlrange[2 * actuator];
    const high = this.model.actuator_ctrlrange[2 * actuator + 1];
    return low < high ? [low, high] : undefined;
  }

  /** Frees the WebAssembly memory; nothing works afterwards. */
  delete(): void {
    if (this.data.isDeleted()) return;
    this.data.delete();
    this.model.delete();
  }
}

function writeFiles(mujoco: MainModule, folder: string, files: ModelFiles): string {
  for (const [name, content] of files.contents) {
    const path = `${folder}/${name}`;
    mujoco.FS_createPath('/', path.slice(1, path.lastIndexOf('/')), true, true);
    mujoco.FS.writeFile(path, content);
  }
  return `${folder}/${files.main}`;
}

function removeFiles(mujoco: MainModule, folder: string, files: ModelFiles): void {
  for (const name of files.contents.keys()) mujoco.FS_unlink(`${folder}/${name}`);
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message
    .replace(/^MuJoCo Error: (Loading error: )?/, '')
    .trim()
    .replace(/\s*\n\s*/g, '; ');
}

function range(start: number, size: number): number[] {
  return Array.from({ length: size }, (_, i) => start + i);
}

function ignore(): void {}
