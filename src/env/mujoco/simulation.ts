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
  /** Why a file is not given; MuJoCo may look for it elsewhere then. */
  const refusals = new Map<string, string>();
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
    try {
      if (!given.has(target)) give(target);
    } catch (error) {
      refusals.set(target, (error as Error).message);
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
    const [target, reason] = [...refusals].findLast(([name]) => said.includes(path.basename(name))) ?? [];
    const what = reason === undefined ? said : `"${target}" cannot be read: ${reason} (${said})`;
    const problem = `MuJoCo could not load "${file}": ${what}`;
    const hint = 'MuJoCo must compile it, and its files must lie in its folder or in that of env.mjcfFolder.';
    throw reverieError('ENV_UNUSABLE', { problem, hint }, error);
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

/** MuJoCo's arrays: xpos and site_xpos are [n, 3] in the world, xmat [n, 9] row-major, qfrc_constraint [nv] of contacts and limits. */
const ARRAYS = ['qpos', 'qvel', 'ctrl', 'xpos', 'site_xpos', 'xmat', 'qfrc_constraint', 'sensordata'] as const;
export type ArrayName = (typeof ARRAYS)[number];

/** Named objects: their mjtObj, and how the model calls their number. */
const KINDS = {
  body: [1, 'nbody'],
  joint: [3, 'njnt'],
  site: [6, 'nsite'],
  actuator: [19, 'nu'],
  sensor: [20, 'nsensor'],
} as const;
export type NamedKind = keyof typeof KINDS;
/** qpos and qvel elements of a free, ball, slide and hinge joint (mjtJoint). */
const JOINT_SIZES = { qpos: [7, 4, 1, 1], qvel: [6, 3, 1, 1] } as const;

let wasm: Promise<MainModule> | undefined;
/** Models that were compiled in this thread. */
let compiled = 0;

export class Simulation {
  readonly nq: number;
  readonly nv: number;
  readonly nu: number;
  /** Seconds of one substep. */
  readonly timestep: number;
  private readonly views = {} as Record<ArrayName, Float64Array>;
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
    wasm ??= loadMujoco({ print() {}, printErr() {} });
    const mujoco = await wasm;
    return new Simulation(mujoco, ...compile(mujoco, source));
  }

  /**
   * The live arrays, renewed if the WebAssembly memory has moved: its growth detaches every view. Always the same object; take
   * the arrays from it anew in every operation.
   */
  get arrays(): Readonly<Record<ArrayName, Float64Array>> {
    const { views, data } = this;
    if (views.qpos === undefined || views.qpos.byteLength === 0) for (const name of ARRAYS) views[name] = data[name];
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
    this.computed(() => this.mujoco.mj_forward(this.model, this.data));
  }

  /** Advances `substeps` timesteps under the current ctrl. */
  step(substeps: number): void {
    this.computed(() => {
      for (let i = 0; i < substeps; i++) this.mujoco.mj_step(this.model, this.data);
    });
  }

  private computed(work: () => void): void {
    try {
      work();
    } catch (error) {
      const hint = 'Correct the MJCF model; where memory ran out, give it more by <size memory="10M"/>.';
      throw reverieError('ENV_UNUSABLE', { problem: `MuJoCo could not go on: ${messageOf(error)}`, hint }, error);
    }
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
    return this.mujoco.mj_name2id(this.model, KINDS[kind][0], name);
  }

  /** Names of all objects of a kind; unnamed ones are absent. */
  names(kind: NamedKind): string[] {
    const all = Array.from({ length: this.model[KINDS[kind][1]] }, (_, i) => this.ownName(kind, i));
    return all.filter((name) => name !== undefined);
  }

  /** `"push"`, or the number of one without a name. */
  nameOf(kind: NamedKind, index: number): string {
    const name = this.ownName(kind, index);
    return name === undefined ? String(index) : `"${name}"`;
  }

  /** Undefined for one without a name, of which the binding answers the text that lies at address 0. */
  private ownName(kind: NamedKind, index: number): string | undefined {
    const name = this.mujoco.mj_id2name(this.model, KINDS[kind][0], index);
    return this.indexOf(kind, name) === index ? name : undefined;
  }

  /** Addresses in qpos (or qvel) of a joint's elements. */
  jointAddresses(joint: number, of: 'qpos' | 'qvel'): number[] {
    const type = this.model.jnt_type[joint];
    const start = of === 'qpos' ? this.model.jnt_qposadr[joint] : this.model.jnt_dofadr[joint];
    return range(start, JOINT_SIZES[of][type]);
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
