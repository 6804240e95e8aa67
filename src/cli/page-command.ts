// `reverie page`: a world in a page that is played without a server.

import type { Command } from 'commander';
import { load } from '../run/commands.js';
import { examplesText } from './job-commands.js';
import { collected, type ScenarioFlags, wholeNumber, withOutputOptions, withScenarioOptions } from './options.js';
import type { Terminal } from './terminal.js';

interface PageFlags extends ScenarioFlags {
  readonly tasks: number;
  readonly task?: readonly string[];
  readonly out: string;
  readonly json?: boolean;
}

export function addPageCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('page')
    .summary('write a world into a page that is played without a server')
    .description(
      'Writes a world of text and who answers in it into one file of HTML: the model of a run of fit, the dream that a run of train ended with, or the backends of a scenario. A browser that opens it, from disk or from any web server, plays dreamt episodes and the real ones beside them. Worlds of PDDL games (alfworld, text-games); backends sequence, operators and rules.',
    )
    .argument('<scenario>', 'a run of fit or train, or a built-in scenario or path')
    .option('--tasks <n>', 'tasks to choose from, evenly spaced over all', wholeNumber, 6)
    .option('--task <id>', 'this task and no others; repeatable', collected)
    .option('--out <file>', 'the file to write', 'world.html')
    .addHelpText(
      'after',
      examplesText([
        ['reverie page runs/small', 'the sequence model that was fitted there'],
        ['reverie page runs/player --tasks 20', 'the dream of an agent of text'],
        ['reverie page ./my-games --out games.html', ''],
      ]),
    );
  withOutputOptions(withScenarioOptions(command)).action(async (reference: string, flags: PageFlags) => {
    const { writeWorldPage, worldPageText } = await load.worldPage();
    const result = await writeWorldPage(reference, flags);
    terminal.stdout.write(`${flags.json ? JSON.stringify(result) : worldPageText(result)}\n`);
  });
}
