// Options that several commands share, and how their values are read.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { DEVICES, type DeviceFlags } from '../run/job.js';
import type { LaunchOptions } from '../run/launch.js';
import type { ScenarioOptions } from '../run/scenario.js';

export interface OutputFlags {
  readonly json?: boolean;
}

export type ScenarioFlags = Pick<ScenarioOptions, 'profile' | 'set' | 'seed'>;

export type JobFlags = OutputFlags &
  Pick<LaunchOptions, keyof ScenarioOptions | keyof DeviceFlags | 'out' | 'resume' | 'queue' | 'trustRules' | 'quiet'>;

export function withScenarioOptions(command: Command): Command {
  return command
    .optionsGroup('Scenario:')
    .option('--profile <name>', 'lay one of the scenario\'s profiles over it, such as "smoke"', once)
    .option('--set <path=value>', 'override one key, such as rl.gamma=0.98; repeatable', collected)
    .option('--seed <integer>', 'seed of every random stream; same seed, same bytes', wholeNumber);
}

export function withJobOptions(command: Command, overQueue = false): Command {
  withScenarioOptions(command)
    .optionsGroup('Run:')
    .option('--workers <n>', 'worker threads; 0: none. Never changes results', wholeNumber)
    .option('--out <folder>', 'folder of the run (default: a new one under runs/)', once)
    .option('--resume <folder>', 'go on with the unfinished run in this folder, with its scenario and seed');
  if (overQueue) command.option('--queue <url>', 'of a tools scenario: have episodes run by the workers of this queue');
  command.option('--trust-rules', 'run rules of domains as ordinary code of this process, without their sandbox');
  return withOutputOptions(command.option('--quiet', 'no progress'));
}

/** Where learned dynamics run, and gradient steps of learners that vector code is there for. */
export function withDeviceOptions(command: Command): Command {
  const device =
    'what learned dynamics run on: a GPU (cuda), the processor by ONNX Runtime (cpu) or by vector code of our own (simd, by which train and fit also fit ensembles, and train takes the gradient steps of SAC, REDQ, DroQ and SimBa), or a GPU where there is one, else cpu (auto, the default); emulated: the code for GPUs on the processor, slow, for checking';
  return command
    .optionsGroup('Device:')
    .addOption(new Option('--device <name>', device).choices(DEVICES).argParser(deviceName));
}

/** A device by its name; the old name of vector code is taken with a notice. */
function deviceName(name: string): string {
  if (name === 'native') {
    process.stderr.write('--device native is now called --device simd.\n');
    return 'simd';
  }
  if ((DEVICES as readonly string[]).includes(name)) return name;
  throw new InvalidArgumentError(`Allowed choices are ${DEVICES.join(', ')}.`);
}

/** Beside the folders it takes. */
export function withFidelityFlags(command: Command): void {
  const limit = 'exit with 1 where the first model is worse, such as one-step.state-exact=0.95; repeatable';
  command
    .option('--compare <source>', 'another model to judge beside it, a folder; repeatable', collected)
    .option('--fail-under <metric=limit>', limit, collected);
}

export function withOutputOptions(command: Command): Command {
  return command.optionsGroup('Output:').option('--json', 'one JSON object on stdout; text for people goes to stderr');
}

/** The examples below a command's help. */
export function examplesText(examples: readonly (readonly [command: string, comment: string])[]): string {
  const lines = examples.map(([command, comment]) => `  $ ${command}${comment === '' ? '' : `\n      ${comment}`}`);
  return `\nExamples:\n${lines.join('\n')}`;
}

export function collected(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}

/** Of two the first would be left out in silence. */
export function once(value: string, before?: string): string {
  if (before === undefined) return value;
  throw new InvalidArgumentError(`It is given once, and "${before}" was given before.`);
}

export function wholeNumber(value: string): number {
  const number = Number(value);
  if (value.trim() !== '' && Number.isSafeInteger(number) && number >= 0) return number;
  throw new InvalidArgumentError('Expected a whole number, 0 or more.');
}

export function positive(value: string): number {
  if (wholeNumber(value) > 0) return Number(value);
  throw new InvalidArgumentError('Expected a whole number, 1 or more.');
}
