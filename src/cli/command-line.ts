// The command line as a whole: the program and its commands.

import { Command } from 'commander';
import { quoted } from '../run/format.js';
import { versions } from '../run/versions.js';
import { addDomainCommands } from './domain-commands.js';
import { addJobCommands } from './job-commands.js';
import { addLookCommands } from './look-commands.js';
import { examplesText } from './options.js';
import { addServerCommands } from './server-commands.js';
import { EXIT, type Outcome, type Terminal, tellFailure } from './terminal.js';

/** Runs one command and answers the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const outcome: Outcome = { exitCode: EXIT.ok };
  const program = makeProgram(terminal, ['reverie', ...args].map(quoted).join(' '), outcome);
  try {
    const [first, named] = args;
    const isUnknown = first === 'help' && named !== undefined && !program.commands.some((one) => one.name() === named);
    // Commander answers help for an unknown command with the general help, and success.
    await program.parseAsync(isUnknown ? [named] : args, { from: 'user' });
    return outcome.exitCode;
  } catch (error) {
    return tellFailure(error, terminal, args.includes('--json'));
  }
}

/** The program with all its commands; also what docs/cli.md is checked against. */
export function makeProgram(terminal: Terminal, commandLine: string, outcome: Outcome): Command {
  const program = new Command('reverie')
    .description(
      'Reverie builds simulators of real environments, from data, from rules, or from a language model under exact checks, so that you can train agents and generate data while spending few real steps.',
    )
    .version(versions().reverie, '--version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      getOutHelpWidth: () => Math.min(terminal.stdout.columns ?? 100, 100),
      getErrHelpWidth: () => Math.min(terminal.stderr.columns ?? 100, 100),
    })
    .addHelpText(
      'after',
      examplesText([
        ['reverie quickstart', 'the whole way once, with a report at the end'],
        ['reverie scenarios', 'what there is to learn'],
        ['reverie train cartpole-swingup --set rl.gamma=0.98 --seed 3', ''],
        ['reverie train --help', 'what a command takes'],
      ]),
    );
  program.commandsGroup('Jobs:');
  addJobCommands(program, terminal, commandLine, outcome);
  program.commandsGroup('Domains:');
  addDomainCommands(program, terminal, outcome);
  program.commandsGroup('Serving and workers:');
  addServerCommands(program, terminal, outcome);
  program.commandsGroup('Looking around:');
  addLookCommands(program, terminal, outcome);
  return program;
}
