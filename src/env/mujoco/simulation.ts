// The files an MJCF model consists of: the XML, what it includes, its meshes and textures. All must lie in its folder.

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import loadMujoco, { type MainModule, type MjData, type MjModel } from '@mujoco/mujoco';
import { reverieError } from '../../core/errors.js';

export interface ModelFiles {
  /** Shown in errors. */
  readonly path: string;
  /** Name of the XML to compile, within `contents`. */
  readonly main: string;
  /** Contents by path relative to the model's folder, with forward slashes. */
  readonly contents: ReadonlyMap<string, string | Uint8Array>;
}

const MAX_BYTES = 256 * 1024 * 1024;

/** A model that is one string of XML. */
export function inlineModel(name: string, xml: string): ModelFiles {
  return { path: name, main: `${name}.xml`, contents: new Map([[`${name}.xml`, xml]]) };
}

function mjcfInvalid(file: string, problem: string, cause?: unknown): Error {
  return reverieError(
    'ENV_UNUSABLE',
    {
      problem: `MuJoCo could not load "${file}": ${problem}`,
      hint: 'Check that the file is MJCF XML that this MuJoCo version compiles, and that files it includes lie in its folder.',
    },
    cause,
  );
}

/** A model on disk with everything it names; refuses names that lead outside its folder, also through links. */
export function readModelFiles(file: string): ModelFiles {
  const folder = path.dirname(path.resolve(file));
  const main = path.basename(file);
  const contents = new Map<string, string | Uint8Array>();
  let bytes = 0;
  /** A file within the folder; undefined if there is none of that name. */
  const read = (name: string): Buffer | undefined => {
    const target = path.resolve(folder, name);
    const isThere = !isOutside(folder, target) && existsSync(target);
    if (isOutside(folder, target) || (isThere && isOutside(realpathSync(folder), realpathSync(target))))
      throw mjcfInvalid(file, `it names "${name}", which lies outside its folder`);
    if (!isThere) return undefined;
    const stat = statSync(target);
    if (!stat.isFile()) throw mjcfInvalid(file, `"${name}" is not a regular file`);
    bytes += stat.size;
    if (bytes > MAX_BYTES) throw mjcfInvalid(file, `its files exceed ${MAX_BYTES / 1024 / 1024} MiB`);
    try {
      return readFileSync(target);
    } catch (error) {
      throw mjcfInvalid(file, `"${name}" cannot be read: ${(error as Error).message}`, error);
    }
  };
  const readXml = (name: string): void => {
    const content = read(name);
    if (content === undefined) throw mjcfInvalid(file, `there is no file "${name}"`);
    const xml = content.toString();
    contents.set(name, xml);
    const folders = new Set(['', ...attributes(xml, '(?:mesh|texture|asset)dir')]);
    const included = new Set(attributes(xml, 'file', '<include\\b[^>]*?'));
    for (const reference of attributes(xml, 'file')) {
      if (included.has(reference)) {
        // MuJoCo resolves an include against the main file first, then against the including one.
        const local = path.posix.join(path.posix.dirname(name), reference);
        const found = read(reference) === undefined ? local : path.posix.normalize(reference);
        if (!contents.has(found)) readXml(found);
        continue;
      }
      for (const asset of [...folders].map((one) => path.posix.join(one, reference))) {
        const found = contents.has(asset) ? undefined : read(asset);
        if (found !== undefined) contents.set(asset, found);
      }
    }
  };
  readXml(main);
  return { path: file, main, contents };
}

function attributes(xml: string, name: string, before = '\\b'): string[] {
  const withoutComments = xml.replace(/<!--[\s\S]*?-->/g, '');
  const pattern = new RegExp(`${before}\\b${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, 'g');
  return Array.from(withoutComments.matchAll(pattern), (match) => match[1] ?? match[2]);
}

function isOutside(folder: string, target: string): boolean {
  const relative = path.relative(folder, target);
  return relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
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

  /** Compiles a model; ENV_UNUSABLE with MuJoCo's own message where it cannot. */
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
