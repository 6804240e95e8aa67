// The commands around servers and queues: worker, validate.

import { type Command, InvalidArgumentError } from 'commander';
import { formatCount } from '../run/format.js';
import type { WorkOptions, WorkResult } from '../run/queue/worker.js';
import {
  examplesText,
  type OutputFlags,
  positive,
  type ScenarioFlags,
  wholeNumber,
  withOutputOptions,
  withScenarioOptions,
} from './options.js';
import { addServeCommand } from './serve-command.js';
import { EXIT, type Outcome, print, type Terminal } from './terminal.js';

export function addServerCommands(program: Command, terminal: Terminal, outcome: Outcome): void {
  addWorker(program, terminal);
  addServeCommand(program, terminal);
  addValidate(program, terminal, outcome);
}

function addWorker(program: Command, terminal: Terminal): void {
  const command = program
    .command('worker')
    .summary('run episodes for runs on other machines')
    .description(
      'Takes rows of whatever runs of reverie synth a queue brings (--queue there and here), runs their episodes, and sends them back. Any number may work at once, on any machines; one that is lost loses nothing.',
    )
    .optionsGroup('Queue:')
    .requiredOption('--queue <url>', 'redis://host:port/name')
    .option(
      '--lease <seconds>',
      'a row comes to another worker if it is not heard of for so long (default: 30)',
      positive,
    )
    .optionsGroup('Worker:')
    .option('--concurrency <n>', 'episodes under way at once (default: 32)', positive)
    .option(
      '--grace <seconds>',
      'time for rows under way when asked to stop, then they are given back (default: 20)',
      wholeNumber,
    )
    .option('--idle <seconds>', 'end when no row came for so long (default: never)', positive)
    .option('--files <folder>', "where the scenario's folder lies on this machine (default: where it lies there)")
    .option('--quiet', 'no progress')
    .addHelpText(
      'after',
      examplesText([
        ['reverie worker --queue redis://localhost/desk', ''],
        ['reverie worker --queue redis://queue:6379/desk --concurrency 64 --idle 600', 'ends when the work is done'],
      ]),
    );
  withOutputOptions(command).action(async (flags: WorkOptions & OutputFlags & { readonly quiet?: boolean }) => {
    const { workUntilInterrupted } = await import('../run/queue/worker.js');
    const result = await workUntilInterrupted(flags, terminal.stderr);
    print(terminal, flags.json, result, workText(result));
  });
}

function workText({ rows, failed, givenBack, spent }: WorkResult): string {
  const calls = spent.calls === 0 ? '' : `, ${formatCount(spent.calls)} calls of language models`;
  return `Ran ${rows} rows (${failed} failed, ${givenBack} given back)${calls}.`;
}

interface ValidateFlags extends ScenarioFlags, OutputFlags {
  readonly steps?: number;
  readonly tasks?: number;
  readonly rewardRange?: readonly [number, number];
  readonly real?: boolean;
  readonly model?: string;
}

function addValidate(program: Command, terminal: Terminal, outcome: Outcome): void {
  const command = program
    .command('validate')
    .summary('check that a served environment is sound')
    .description(
      'Checks any server that speaks OpenEnv, or a scenario, which is served for it: schemas, seeds, determinism, many sessions at once, and that reward is neither free nor to be read somewhere. A server of another protocol is checked as a scenario with --real. See docs/validate.md. REVERIE_TOKEN holds the token a server asks for.',
    )
    .argument('<url|scenario>', 'address of a server or of one of its environments (…/envs/NAME), or a scenario')
    .addHelpText(
      'after',
      examplesText([
        ['reverie validate helpdesk', 'a scenario, with its references and hidden goals'],
        ['reverie validate http://127.0.0.1:8000/envs/helpdesk', 'what a client can know of it'],
        ['reverie validate echo --real', 'a server that a scenario names, of any protocol'],
      ]),
    );
  withScenarioOptions(command)
    .option('--real', 'the real environment, even where there is a dream of it')
    .option('--model <folder>', 'the dream of this world model, of a vector scenario')
    .optionsGroup('Checks:')
    .option('--steps <n>', 'steps of each episode that is tried', positive)
    .option('--tasks <n>', 'tasks of each split that are tried', positive)
    .option(
      '--reward-range <low,high>',
      'what rewards and their sum lie within (default: 0,1 where tasks are verified)',
      range,
    );
  withOutputOptions(command).action(async (target: string, flags: ValidateFlags) => {
    const { validationText } = await import('../serve/validate/validate.js');
    const report = await validated(target, flags, terminal);
    print(terminal, flags.json, report, validationText(report));
    if (!report.passed) outcome.exitCode = EXIT.failed;
  });
}

/** @throws as `validateUrl`, `loadAnyScenario` and `validateScenario` */
async function validated(target: string, flags: ValidateFlags, terminal: Terminal) {
  const { validateScenario, validateUrl } = await import('../serve/validate/validate.js');
  const { seed, steps, tasks, rewardRange, real, model, profile, set } = flags;
  const given = Object.entries({ seed, steps, tasks, rewardRange }).filter(([, value]) => value !== undefined);
  const options = Object.fromEntries(given);
  if (/^(https?|wss?):\/\//.test(target)) {
    return validateUrl(target, { ...options, token: terminal.env.REVERIE_TOKEN });
  }
  const { loadAnyScenario } = await import('../run/scenario.js');
  // Loaded where it is asked for, as help is made without it.
  const { temporaryFolder } = await import('../core/files.js');
  const folder = temporaryFolder('validate');
  try {
    const scenario = await loadAnyScenario(target, { profile, set, seed });
    return await validateScenario(scenario, { ...options, folder: folder.path, real, model });
  } finally {
    folder.remove();
  }
}

function range(value: string): readonly [number, number] {
  const numbers = value.split(',').map(Number);
  const [low, high] = numbers;
  if (numbers.length === 2 && Number.isFinite(low) && Number.isFinite(high) && low < high) return [low, high];
  throw new InvalidArgumentError('Expected two numbers, the lower one first, such as -1,1.');
}
