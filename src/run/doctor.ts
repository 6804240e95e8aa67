// `reverie doctor`: what this machine has for Reverie, what works, what does not, and the way out.

import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { cudaStatus, deviceTrial, nativeWidths } from '../nn/cuda.js';
import { float32, Graph } from '../nn/graph.js';
import { InferenceSession } from '../nn/runtime.js';
import { versions } from './versions.js';

/** One thing looked at. */
interface Finding {
  readonly name: string;
  /** `absent`: not there, and everything that does not ask for it works. */
  readonly state: 'ok' | 'absent' | 'broken';
  readonly text: string;
  /** The way out, where something is absent or broken. */
  readonly hint?: string;
}

type Diagnosis = Awaited<ReturnType<typeof diagnose>>;

const GIB = 2 ** 30;
/** A larger difference than rounding in float32 explains. */
const TRIAL_LIMIT = 1e-3;
const REPORT = 'Please report this, with the output of reverie doctor --json.';
const BUILD = 'With nvcc 12.8 or newer (NVCC, CUDA_HOME or PATH): node scripts/build-native.mjs; see docs/cuda.md.';

/** Looks at everything; takes a second. Never throws. */
export async function diagnose() {
  const { gpus, driverVersion, addon, kernels, missing } = await cudaStatus();
  const [major, minor] = process.versions.node.split('.').map(Number);
  const isNewEnough = major > 20 || (major === 20 && minor >= 19);
  const machine = `${availableParallelism()} threads of ${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${(freemem() / GIB).toFixed(1)} of ${(totalmem() / GIB).toFixed(1)} GiB free`;
  const of = (name: string, isThere: boolean, state: Finding['state'], text: string, hint?: string): Finding =>
    isThere ? { name, state: 'ok', text } : { name, state, text, hint };
  const runtime = await tried('ONNX Runtime', 'broken', 'Install the packages again: npm install.', tryRuntime);
  const simd = await tried('vector code', 'absent', undefined, () => trial('native', nativeWidths().join(', ')));
  const names = gpus.map(({ name }) => name).join(', ');
  const driver = `${names}; CUDA driver ${Math.floor(driverVersion / 1000)}`;
  const gpu =
    gpus.length === 0 || missing !== undefined
      ? of('GPU', gpus.length > 0, 'absent', names || (missing?.problem ?? 'none'), missing?.hint)
      : await tried('GPU', 'broken', REPORT, () => trial('cuda', driver));
  const findings: Finding[] = [
    of('Node', isNewEnough, 'broken', process.versions.node, 'Reverie needs Node 20.19 or newer; 24 is recommended.'),
    runtime,
    of('machine', true, 'ok', machine),
    of('addon', addon.problem === undefined, 'absent', addon.problem ?? 'compiled', missing?.hint),
    simd,
    of('kernels for GPUs', kernels.isThere, 'absent', kernels.isThere ? 'compiled' : 'not compiled', BUILD),
    gpu,
  ];
  /** What each device can be used for: `--device` takes these names. */
  const devices = {
    cpu: runtime.state === 'ok',
    simd: simd.state === 'ok',
    cuda: missing === undefined && gpu.state === 'ok',
    emulated: addon.problem === undefined,
  };
  return { findings, devices };
}

/** The findings as lines, those that are not well with the way out. */
export function diagnosisText({ findings, devices }: Diagnosis): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ name, state, text, hint }) => {
    const line = `${state.padEnd(6)}  ${name.padEnd(width)}  ${text}`;
    return state === 'ok' || hint === undefined ? [line] : [line, `${' '.repeat(width + 10)}${hint}`];
  });
  const usable = Object.entries(devices).filter(([, isUsable]) => isUsable);
  return [...lines, '', `--device takes here: ${['auto', ...usable.map(([name]) => name)].join(', ')}`].join('\n');
}

/** Has it do a little of what it is for; `hint`, or that of the error, is the way out where `work` throws. */
async function tried(
  name: string,
  state: Finding['state'],
  hint: string | undefined,
  work: () => Promise<Omit<Finding, 'name'>>,
): Promise<Finding> {
  try {
    return { name, ...(await work()) };
  } catch (error) {
    const { message, hint: own } = error as Error & { readonly hint?: string };
    return { name, state, text: message, hint: hint ?? own };
  }
}

async function tryRuntime() {
  const graph = new Graph('doctor');
  graph.output('y', graph.input('x', 'float32', ['batch']));
  const session = await InferenceSession.fromBytes(graph.toModel());
  await session.run({ x: float32(new Float32Array(1)) });
  await session.release();
  return { state: 'ok', text: versions()['onnxruntime-node'] } as const;
}

/** Has a device take a step beside the emulation. */
async function trial(kind: 'native' | 'cuda', about: string): Promise<Omit<Finding, 'name'>> {
  const worst = await deviceTrial(kind);
  const text = `${about}; differs from the emulation by ${worst.toExponential(1)}`;
  return { state: worst < TRIAL_LIMIT ? 'ok' : 'broken', text, hint: REPORT };
}
