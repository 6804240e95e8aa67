// A MuJoCo model, compiled from its files by MuJoCo's own rules, and its simulation.

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import loadMujoco, { type MainModule, type MjData, type MjModel } from '@mujoco/mujoco';
import { reverieError } from '../../core/errors.js';

export interface ModelSource {
  /** The whole path of the MJCF file. */
  readonly file: string;
  /** The folder that all files of the model must lie in, also behind links; that of `file` unless given. */
  readonly folder?: string;
  /** Is told each file that is read, by its path from the MJCF file's folder. */
  readonly onRead?: (name: string, content: Uint8Array) => void;
}

const MAX_BYTES = 256 * 1024 * 1024;
/** Emscripten's number of the error "no such file". */
const ENOENT = 44;

/**
 * Compiles a model. MuJoCo itself works out where files lie (`meshdir`, `strippath`, includes, attached models) and asks for
 * one after another; here they are put before it from the disk, or it is told that there is none.
 */
function compile(
  mujoco: MainModule,
  { file, folder = path.dirname(file), onRead }: ModelSource,
): readonly [MjModel, MjData] {
  const { FS } = mujoco;
  const { stat } = FS;
  const given = new Set<string>();
  let bytes = 0;
  /** Why what was last asked for was not given, unless there is no such file. */
  let refusal: string | undefined;
  compiled += 1;
  const give = (target: string): void => {
    const content = contentOf(target, folder, MAX_BYTES - bytes);
    if (content === undefined) return;
    bytes += content.length;
    given.add(target);
    FS.createPath('/', path.dirname(target).slice(1), true, true);
    FS.writeFile(target, content);
    // What MuJoCo made of a file it keeps until the file's time in seconds is another.
    FS.utime(target, 1000 * compiled, 1000 * compiled);
    onRead?.(path.relative(path.dirname(file), target), content);
  };
  // MuJoCo looks at every file before it opens it.
  const giveFirst = (name: string, isLink: boolean) => {
    const target = path.resolve('/', name);
    refusal = undefined;
    try {
      if (!given.has(target)) give(target);
    } catch (error) {
      refusal = `"${target}" cannot be read: ${(error as Error).message}`;
    }
    if (!given.has(target)) throw new FS.ErrnoError(ENOENT);
    return stat(target, isLink);
  };
  Object.assign(FS, { stat: giveFirst });
  try {
    const model = mujoco.MjModel.from_xml_path(file);
    return [model, new mujoco.MjData(model)];
  } catch (error) {
    const said = messageOf(error);
    throw mjcfInvalid(file, refusal === undefined ? said : `${refusal} (${said})`, error);
  } finally {
    Object.assign(FS, { stat });
    for (const name of given) FS.unlink(name);
  }
}

/** Undefined if there is no such file; throws with a reason if it may not be read. */
function contentOf(target: string, folder: string, spare: number): Uint8Array | undefined {
  const [root, real] = [folder, target].map((name) => (existsSync(name) ? realpathSync(name) : name));
  const relative = path.relative(root, real);
  if (relative === '..' || relative.startsWith(`..${path.sep}`)) throw new Error(`it lies outside "${folder}"`);
  if (!existsSync(target)) return undefined;
  const stat = statSync(target);
  if (!stat.isFile()) throw new Error('it is not a regular file');
  if (stat.size > spare) throw new Error(`with it the model's files exceed ${MAX_BYTES / 1024 / 1024} MiB`);
  return readFileSync(target);
}

function mjcfInvalid(file: string, problem: string, cause: unknown): Error {
  return reverieError(
    'ENV_UNUSABLE',
    {
      problem: `MuJoCo could not load "${file}": ${problem}`,
      hint: 'Check that the file is MJCF XML that this MuJoCo version compiles. Its files must lie in its folder, or in that of env.mjcfFolder.',
    },
    cause,
  );
}

/** Live arrays of the simulation. Take them from `Simulation.arrays` anew in every operation: another model may move them. */
interface SimulationArrays {
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
const QVEL_SIZE = [6, 3, 1, 1];

let wasm: Promise<MainModule> | undefined;
/** Models that were compiled in this thread. */
let compiled = 0;

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

  /** Compiles a model; ENV_UNUSABLE with MuJoCo's own message where it cannot. */
  static async load(source: ModelSource): Promise<Simulation> {
    wasm ??= loadMujoco({ print: ignore, printErr: ignore });
    const mujoco = await wasm;
    return new Simulation(mujoco, ...compile(mujoco, source));
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

  /** Makes the quaternions of free and ball joints in qpos unit ones, as `step` takes them. */
  normalizeQuaternions(): void {
    this.mujoco.mj_normalizeQuat(this.model, this.arrays.qpos);
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

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message
    .replace(/^MuJoCo Error: (Loading error: )?/, '')
    .trim()
    .replace(/Could not allocate memory/, '$&: WebAssembly has less than its <size> asks for')
    .replace(/plugin (\S+) not found/, 'it needs the plugin "$1", and MuJoCo’s WebAssembly build has no plugins')
    .replace(/\s*\n\s*/g, '; ');
}

function range(start: number, size: number): number[] {
  return Array.from({ length: size }, (_, i) => start + i);
}

function ignore(): void {}
