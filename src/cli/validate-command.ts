// `reverie validate`: checks a served environment, by its address or as a scenario.

import { type Command, InvalidArgumentError } from 'commander';
import { load } from '../run/commands.js';
import { EXIT, type Outcome } from './failure.js';
import { examplesText } from './job-commands.js';
import { type ScenarioFlags, withOutputOptions, withScenarioOptions } from './options.js';
import type { Terminal } from './terminal.js';

interface ValidateFlags extends ScenarioFlags {
  readonly steps?: number;
  readonly tasks?: number;
  readonly rewardRange?: readonly [number, number];
  readonly real?: boolean;
  readonly model?: string;
  readonly json?: boolean;
  readonly protocol?: string;
}

export function addValidateCommand(program: Command, terminal: Terminal, outcome: Outcome): void {
  const command = program
    .command('validate')
    .summary('check that a served environment is sound')
    .description(
      "Checks any server that speaks OpenEnv, the Open Reward Standard or MCP, or a scenario, which is served for it: OpenEnv's own checks, schemas, seeds, determinism, isolation, many sessions at once, clients that vanish, and that reward is neither free nor to be read somewhere. See docs/validate.md. REVERIE_TOKEN holds the token a server asks for.",
    )
    .argument('<url|scenario>', 'address of a server or of one of its environments (…/envs/NAME), or a scenario')
    .addHelpText(
      'after',
      examplesText([
        ['reverie validate helpdesk', 'a scenario, with its references and hidden goals'],
        ['reverie validate http://127.0.0.1:8000/envs/helpdesk', 'what a client can know of it'],
        ["reverie validate 'python3 server.py' --protocol mcp", 'a program that speaks MCP'],
      ]),
    );
  withScenarioOptions(command)
    .option('--real', 'the real environment, even where there is a dream of it')
    .option('--model <folder>', 'the dream of this world model, of a vector scenario')
    .option('--protocol <name>', 'openenv (default), ors or mcp; an MCP server may be a command')
    .optionsGroup('Checks:')
    .option('--steps <n>', 'steps of each episode that is tried', counted)
    .option('--tasks <n>', 'tasks of each split that are tried', counted)
    .option(
      '--reward-range <low,high>',
      'what rewards and their sum lie within (default: 0,1 where tasks are verified)',
      range,
    );
  withOutputOptions(command);
  command.action(async (target: string, flags: ValidateFlags) => {
    const { validationText } = await import('../serve/validate/validate.js');
    const report = await validated(target, flags, terminal);
    terminal.stdout.write(`${flags.json ? JSON.stringify(report) : validationText(report)}\n`);
    if (!report.passed) outcome.exitCode = EXIT.failed;
  });
}

/** @throws as `validateUrl`, `loadAnyScenario` and `validateScenario` */
async function validated(target: string, flags: ValidateFlags, terminal: Terminal) {
  const { validateScenario, validateUrl } = await import('../serve/validate/validate.js');
  const { seed, steps, tasks, rewardRange, real, model, profile, set } = flags;
  const given = Object.entries({ seed, steps, tasks, rewardRange }).filter(([, value]) => value !== undefined);
  const options = Object.fromEntries(given);
  const { protocol } = flags;
  if (protocol !== undefined || /^(https?|wss?):\/\//.test(target)) {
    return validateUrl(target, { ...options, token: terminal.env.REVERIE_TOKEN, protocol });
  }
  const { loadAnyScenario } = await load.scenarios();
  // Loaded where it is asked for, as help is made without it.
  const { temporaryFolder } = await import('../core/files.js');
  const folder = temporaryFolder('validate');
  try {
    return await validateScenario(await loadAnyScenario(target, { profile, set, seed }), {
      ...options,
      folder: folder.path,
      real,
      model,
    });
  } finally {
    folder.remove();
  }
}

function counted(value: string): number {
  const number = Number(value);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('Expected a whole number, 1 or more.');
}

function range(value: string): readonly [number, number] {
  const numbers = value.split(',').map(Number);
  const [low, high] = numbers;
  if (numbers.length === 2 && Number.isFinite(low) && Number.isFinite(high) && low < high) return [low, high];
  throw new InvalidArgumentError('Expected two numbers, the lower one first, such as -1,1.');
}
