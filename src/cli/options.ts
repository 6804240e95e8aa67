// Options that several commands share, and how their values are read.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { DEVICES, type DeviceFlags, PRECISIONS } from '../run/commands.js';

export interface ScenarioFlags {
  readonly profile?: string;
  readonly set?: readonly string[];
  readonly seed?: number;
  readonly workers?: number;
}

export interface JobFlags extends ScenarioFlags, DeviceFlags {
  readonly out?: string;
  readonly resume?: string;
  readonly queue?: string;
  readonly trustRules?: boolean;
  /** Of `collect`. */
  readonly explore?: boolean;
  /** Of `train`. */
  readonly mode?: string;
  readonly evaluationSet?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

export function withScenarioOptions(command: Command): Command {
  // Threads and processes that we start look it up where they start Python.
  command.on('option:python', (program: string) => {
    process.env.REVERIE_PYTHON = program;
  });
  return command
    .optionsGroup('Scenario:')
    .option(
      '--python <program>',
      "Python with gymnasium, for environments of Gymnasium's; else REVERIE_PYTHON, else python3",
    )
    .option('--profile <name>', 'lay one of the scenario\'s profiles over it, such as "smoke"')
    .option('--set <path=value>', 'override one key, such as rl.gamma=0.98; repeatable', collected)
    .option('--seed <integer>', 'seed of every random stream; same seed, same bytes', wholeNumber);
}

export function withJobOptions(command: Command, overQueue = false): Command {
  withScenarioOptions(command)
    .optionsGroup('Run:')
    .option('--workers <n>', 'worker threads; 0: none. Never changes results', wholeNumber)
    .option('--out <folder>', 'folder of the run (default: a new one under runs/)')
    .option('--resume <folder>', 'go on with the unfinished run in this folder, with its scenario and seed');
  if (overQueue) {
    command.option('--queue <url>', 'of a tools scenario: have episodes lived by the workers of this queue');
  }
  command.option('--trust-rules', 'run rules of domains as ordinary code of this process, without their sandbox');
  return withOutputOptions(command.option('--quiet', 'no progress'));
}

/** Where learned dynamics run, and gradient steps of learners that vector code is there for. */
export function withDeviceOptions(command: Command): Command {
  const device =
    'what learned dynamics run on: a GPU (cuda), the processor by ONNX Runtime (cpu) or by vector code of our own (native, by which train and fit also fit ensembles, and train takes the gradient steps of SAC, REDQ, DroQ and TD3+BC), or a GPU where there is one, else cpu (auto, the default); emulated: the code for GPUs on the processor, slow, for checking';
  const precision =
    'of the products on a GPU (default: tf32), or by vector code where it dreams (native: fp32, the default, or bf16)';
  return command
    .optionsGroup('Device:')
    .addOption(new Option('--device <name>', device).choices(DEVICES))
    .addOption(new Option('--precision <name>', precision).choices(PRECISIONS));
}

/** Beside the folders it takes. */
export function withFidelityOptions(command: Command): void {
  command
    .option('--url <url>', 'judge a served environment, by the native API of `reverie serve`')
    .option('--compare <source>', 'another model to judge beside it, a folder or a URL; repeatable', collected)
    .option(
      '--fail-under <metric=limit>',
      'exit with 1 where the first model is worse, such as one-step.state-exact=0.95; repeatable',
      collected,
    );
}

/** Where figures are to be compared with another run's. */
export function withPanelOption(command: Command): void {
  command
    .optionsGroup('Evaluation:')
    .option(
      '--evaluation-set <hash|file>',
      'require the same evaluation set as another run: its hash, folder or result.json',
    )
    .addOption(new Option('--panel <hash|file>').hideHelp());
}

export function withOutputOptions(command: Command): Command {
  return command.optionsGroup('Output:').option('--json', 'one JSON object on stdout; text for people goes to stderr');
}

export function collected(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}

export function wholeNumber(value: string): number {
  const number = Number(value);
  if (value.trim() === '' || !Number.isSafeInteger(number) || number < 0) {
    throw new InvalidArgumentError('Expected a whole number, 0 or more.');
  }
  return number;
}

export function positive(value: string): number {
  const number = wholeNumber(value);
  if (number === 0) throw new InvalidArgumentError('Expected a whole number above 0.');
  return number;
}
