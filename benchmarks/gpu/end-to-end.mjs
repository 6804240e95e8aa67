// The same jobs on two devices, by the command line as a user has it, seeds taking turns between the devices. Prints one table and
// keeps gpu.end-to-end.JOB.json. See end-to-end.sh.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { arch, cpus, platform, release, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const execute = promisify(execFile);
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const PRODUCT = process.env.PRODUCT ?? ROOT;
const CLI = join(PRODUCT, 'dist', 'cli.js');

/** Seconds of one job by the clock, start of Node included, and its result. */
async function reverie(...words) {
  const started = performance.now();
  const { stdout } = await execute(process.execPath, [CLI, ...words, '--json', '--quiet'], { maxBuffer: 1 << 28 });
  return { seconds: (performance.now() - started) / 1000, result: JSON.parse(stdout) };
}

const set = (settings) => Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);

/** Records of half-cheetah by random actions, and an ensemble fitted to them. */
async function prepare(folder, quick) {
  const profile = quick ? ['--profile', 'smoke'] : [];
  const seen = join(folder, 'seen');
  const steps = { 'collect.steps': quick ? 1000 : 10_000 };
  await reverie('collect', 'half-cheetah', ...profile, ...set(steps), '--out', seen, '--seed', '1');
  await reverie('fit', '--data', seen, '--out', join(folder, 'model'), '--seed', '1');
}

/** What one job is asked on one device: words of the command, and what of its result is compared. */
const JOBS = {
  synth: {
    words: (folder, quick) => [
      ...['synth', '--model', join(folder, 'model'), '--data', join(folder, 'seen')],
      ...set({ 'synth.starts': quick ? 500 : 400_000, 'rollout.horizon': 5 }),
    ],
    outcome: ({ transitions, truncatedByDoubt, transitionsPerSecond, device }) => ({
      device,
      transitions,
      truncatedByDoubt,
      transitionsPerSecond,
    }),
    // Without limits and learned ends both live every branch to its end.
    isSame: (a, b) => a.transitions === b.transitions && a.truncatedByDoubt === b.truncatedByDoubt,
  },
  train: {
    words: (_, quick) => ['train', 'cartpole-swingup', ...(quick ? ['--profile', 'smoke'] : [])],
    outcome: ({ realSteps, syntheticSteps, realStepsToThreshold, evaluations, device }) => ({
      device,
      realSteps,
      syntheticSteps,
      realStepsToThreshold,
      lastReturn: evaluations.at(-1)?.meanReturn,
    }),
    // Learning amplifies the last bit: what must agree is whether the task is learned.
    isSame: (a, b) => (a.realStepsToThreshold === null) === (b.realStepsToThreshold === null),
  },
};

/** All devices on all seeds, the order turned round with every seed. */
async function inTurns(job, options, folder, scratch) {
  const rows = [];
  const began = performance.now();
  let longest = 0;
  for (let seed = 1; seed <= options.seeds; seed++) {
    const seedBegan = performance.now();
    if (seed > 1 && seedBegan - began + longest > options.minutes * 60_000) {
      console.error(`[end-to-end] no time is left for seed ${seed} and those after it`);
      break;
    }
    const devices = seed % 2 === 1 ? options.devices : options.devices.toReversed();
    for (const device of devices) {
      const out = join(scratch, `${device.replace(':', '-')}-${seed}`);
      const [name, precision] = device.split(':');
      const flags = ['--seed', String(seed), '--device', name, ...(precision ? ['--precision', precision] : [])];
      const words = [...job.words(folder, options.quick), ...flags, '--out', out];
      const { seconds, result } = await reverie(...words);
      await rm(out, { recursive: true, force: true });
      rows.push({ device, seed, seconds, ...job.outcome(result), asked: device });
      console.error(`[end-to-end] ${device}, seed ${seed}: ${seconds.toFixed(1)} s`);
    }
    longest = Math.max(longest, performance.now() - seedBegan);
  }
  return rows;
}

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** The first device is the one the others are held against. */
function compare(job, rows, [baseline, ...others]) {
  const of = (device, seed) => rows.find((row) => row.asked === device && row.seed === seed);
  const seeds = [...new Set(rows.map((row) => row.seed))];
  return others.map((device) => ({
    device,
    speedups: seeds.map((seed) => of(baseline, seed).seconds / of(device, seed).seconds),
    isSame: seeds.every((seed) => job.isSame(of(baseline, seed), of(device, seed))),
  }));
}

function describeMachine() {
  const memoryGiB = Math.round(totalmem() / 2 ** 30);
  const os = `${platform()} ${release()} ${arch()}`;
  return { cpu: cpus()[0]?.model.trim() ?? 'unknown', cores: cpus().length, memoryGiB, os, node: process.versions.node };
}

/** Of what runs, which may have been brought here. */
async function describeVersions() {
  const versionAt = async (...path) => JSON.parse(await readFile(join(PRODUCT, ...path, 'package.json'), 'utf8')).version;
  const runtime = 'onnxruntime-node';
  return { reverie: await versionAt(), [runtime]: await versionAt('node_modules', runtime), node: process.versions.node };
}

async function measure(name, options, folder) {
  const scratch = await mkdtemp(join(tmpdir(), 'reverie-end-to-end-'));
  try {
    const rows = await inTurns(JOBS[name], options, folder, scratch);
    const comparisons = compare(JOBS[name], rows, options.devices);
    console.table(rows.map(({ asked, ...row }) => ({ ...row, seconds: Number(row.seconds.toFixed(1)) })));
    for (const { device, speedups, isSame } of comparisons) {
      const verdict = isSame ? 'same conclusions' : 'OTHER CONCLUSIONS';
      console.log(`${name} on ${device}: ${median(speedups).toFixed(2)}x as fast as ${options.devices[0]}, ${verdict}`);
    }
    const about = { machine: describeMachine(), versions: await describeVersions(), date: new Date().toISOString() };
    const content = { id: `gpu.end-to-end.${name}`, ...about, comparisons, rows };
    await mkdir(options.out, { recursive: true });
    await writeFile(join(options.out, `${content.id}.json`), `${JSON.stringify(content, null, 2)}\n`);
    return comparisons.every(({ isSame }) => isSame);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      devices: { type: 'string', default: 'cpu,cuda' },
      seeds: { type: 'string', default: '3' },
      minutes: { type: 'string', default: 'Infinity' },
      quick: { type: 'boolean', default: false },
      out: { type: 'string', default: process.env.OUT ?? join(ROOT, 'benchmarks', 'results', 'gpu') },
    },
  });
  const [name, folder = ''] = positionals;
  if (name === 'prepare') return prepare(folder, values.quick);
  const options = { ...values, seeds: Number(values.seeds), minutes: Number(values.minutes), devices: values.devices.split(',') };
  if (!(await measure(name, options, folder))) process.exitCode = 1;
}

await main();
