// `reverie doctor`: what this machine has for Reverie, what works, what does not, and the way out.

import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { type CudaStatus, cudaStatus, deviceTrial, nativeWidth, nativeWidths } from '../nn/cuda.js';
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
  const status = await cudaStatus();
  const { addon, kernels, missing } = status;
  const [major, minor] = process.versions.node.split('.').map(Number);
  const isNewEnough = major > 20 || (major === 20 && minor >= 19);
  const memory = `${(freemem() / GIB).toFixed(1)} of ${(totalmem() / GIB).toFixed(1)} GiB free`;
  const processor = `${availableParallelism()} threads of ${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${memory}`;
  const of = (name: string, isThere: boolean, state: Finding['state'], text: string, hint?: string): Finding =>
    isThere ? { name, state: 'ok', text } : { name, state, text, hint };
  const runtime = await tried('ONNX Runtime', 'broken', 'Install the packages again: npm install.', tryRuntime);
  const simd = await tried('vector code', 'absent', undefined, async () => {
    const text = `${nativeWidth()}, of ${nativeWidths().join(', ')}; differs from the emulation by`;
    return trialText(await deviceTrial('native'), text);
  });
  const gpus = await gpuFindings(status);
  const findings: Finding[] = [
    of('Node', isNewEnough, 'broken', process.versions.node, 'Reverie needs Node 20.19 or newer; 24 is recommended.'),
    runtime,
    of('machine', true, 'ok', processor),
    of('addon', addon.problem === undefined, 'absent', addon.problem ?? 'compiled', missing?.hint),
    simd,
    of('kernels for GPUs', kernels.isThere, 'absent', kernels.isThere ? 'compiled' : 'not compiled', BUILD),
    ...gpus,
  ];
  /** What each device can be used for: `--device` takes these names. */
  const devices = {
    cpu: runtime.state === 'ok',
    simd: simd.state === 'ok',
    cuda: missing === undefined && gpus.every(({ state }) => state === 'ok'),
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

function trialText(worst: number, text: string): Omit<Finding, 'name'> {
  return { state: worst < TRIAL_LIMIT ? 'ok' : 'broken', text: `${text} ${worst.toExponential(1)}`, hint: REPORT };
}

async function gpuFindings({ gpus, driverVersion, missing, addon }: CudaStatus): Promise<Finding[]> {
  if (gpus.length === 0) {
    if (addon.problem !== undefined) return [];
    return [{ name: 'GPU', state: 'absent', text: missing?.problem ?? 'none', hint: missing?.hint }];
  }
  const driver = `${Math.floor(driverVersion / 1000)}.${Math.floor((driverVersion % 1000) / 10)}`;
  const found: Finding[] = [
    { name: 'CUDA driver', state: 'ok', text: driver },
    ...gpus.map(({ name, computeCapability, memoryBytes }, i): Finding => {
      const text = `${name}, ${(memoryBytes / GIB).toFixed(0)} GiB, compute capability ${computeCapability}`;
      return { name: `GPU ${i}`, state: 'ok', text };
    }),
  ];
  if (missing !== undefined) return found;
  const trial = async () => trialText(await deviceTrial('cuda'), 'differs from the host by');
  return [...found, await tried('a step on GPU 0', 'broken', REPORT, trial)];
}
