// `reverie client`: prints a ready-to-run file that connects a trainer to a server.

import { type Command, Option } from 'commander';
import { examplesText } from './job-commands.js';
import type { Terminal } from './terminal.js';

const KINDS = {
  trl: 'TRL: GRPOTrainer with an environment_factory',
  verl: 'verl: an agent loop, and the advantage that goes with it',
  gym: 'Gymnasium: an Env and a VectorEnv',
} as const;

type Flags = { readonly [kind in keyof typeof KINDS]?: boolean } & { readonly env?: string };

export function addClientCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('client')
    .summary('print a ready-to-run client script for your trainer')
    .description(
      'Prints a ready-to-run file for one trainer and one environment of a running server: redirect it to a file and run it.',
    )
    .argument('<url>', 'of the server, as reverie serve prints it')
    .option('--env <name>', 'the environment; the first that is served unless given');
  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
  for (const kind of kinds) {
    const others = kinds.filter((other) => other !== kind);
    command.addOption(new Option(`--${kind}`, KINDS[kind]).conflicts(others));
  }
  command
    .addHelpText(
      'after',
      examplesText([
        ['reverie client http://127.0.0.1:8000 --trl > train.py', 'then: python train.py'],
        ['reverie client http://127.0.0.1:8000 --gym --env pendulum', ''],
      ]),
    )
    .action(async (url: string, flags: Flags) => {
      const kind = kinds.find((one) => flags[one]);
      if (kind === undefined) return command.error(`error: name a trainer: --${kinds.join(', --')}`);
      const { fetchGlueTarget, glueText } = await import('../serve/glue/glue.js');
      terminal.stdout.write(glueText(kind, await fetchGlueTarget(url, flags.env, terminal.env['REVERIE_TOKEN'])));
    });
}
