// The command that lives rows for others: reverie worker.

import type { Command } from 'commander';
import { formatCount, load } from '../run/commands.js';
import type { WorkOptions, WorkResult } from '../run/queue/worker.js';
import { examplesText } from './job-commands.js';
import { positive, wholeNumber, withOutputOptions } from './options.js';
import type { Terminal } from './terminal.js';

interface WorkerFlags extends WorkOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
}

export function addWorkerCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('worker')
    .summary('live episodes for runs on other machines')
    .description(
      'Takes rows of whatever runs of reverie synth a queue brings (--queue there and here), lives them, and sends back the episodes. Any number may work at once, on any machines; one that is lost loses nothing.',
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
    .option('--dir <folder>', 'keep replies of models here, for the next time (default: a temporary folder)')
    .option('--files <folder>', "where the scenario's folder lies on this machine (default: where it lies there)")
    .option('--quiet', 'no progress')
    .addHelpText(
      'after',
      examplesText([
        ['reverie worker --queue redis://localhost/desk', ''],
        ['reverie worker --queue redis://queue:6379/desk --concurrency 64 --idle 600', 'ends when the work is done'],
      ]),
    );
  withOutputOptions(command).action(async (flags: WorkerFlags) => {
    const { loadWorker } = await load.jobs();
    const workUntilInterrupted = await loadWorker();
    const result = await workUntilInterrupted(flags, terminal.stderr);
    terminal.stdout.write(`${flags.json ? JSON.stringify(result) : resultLine(result)}\n`);
  });
}

function resultLine({ rows, failed, givenBack, spent }: WorkResult): string {
  const calls = spent.calls === 0 ? '' : `, ${formatCount(spent.calls)} calls of language models`;
  return `Lived ${rows} rows (${failed} failed, ${givenBack} given back)${calls}.`;
}
