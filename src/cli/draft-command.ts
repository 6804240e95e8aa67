// `reverie draft`: a domain and its tasks from a description, by a language model.

import type { Command } from 'commander';
import { listenForInterrupt, load } from '../run/commands.js';
import { EXIT, type Outcome } from './failure.js';
import { examplesText } from './job-commands.js';
import { collected, wholeNumber, withOutputOptions } from './options.js';
import type { Terminal } from './terminal.js';

interface DraftFlags {
  readonly from?: string;
  readonly about?: string;
  readonly set?: readonly string[];
  readonly tasks: number;
  readonly repairs: number;
  readonly seed: number;
  readonly cache?: string;
  readonly json?: boolean;
}

export function addDraftCommand(program: Command, terminal: Terminal, outcome: Outcome): void {
  const command = program
    .command('draft')
    .summary('have a language model write a domain and its tasks')
    .description(
      "Has a language model write policy, tools, data, tasks, probes and rules of a domain from a description, runs them in the sandbox, tries them by probes of what must fail and what must succeed and by the tasks' solutions, and gives the faults back to be put right. Writes the folder only of a domain that nothing speaks against; draft.json has every draft. See docs/drafted-domains.md.",
    )
    .argument('<folder>', 'folder of the new domain')
    .option('--from <file>', 'file with the description')
    .option('--about <text>', 'the description itself')
    .option('--set <path=value>', 'a key of the section llm: llm.url and llm.model are needed; repeatable', collected)
    .option('--tasks <n>', 'least number of tasks', wholeNumber, 6)
    .option('--repairs <n>', 'times that faults are given back before the domain is refused', wholeNumber, 5)
    .option('--seed <integer>', 'seed of what the model is asked with', wholeNumber, 0)
    .option('--cache <folder>', 'keep replies here, and answer from them what was asked before')
    .addHelpText(
      'after',
      examplesText([
        [
          'reverie draft garage --from garage.md --set llm.url=http://localhost:8000/v1 --set llm.model=NAME',
          'a model served by vLLM',
        ],
        ['reverie draft pool --about "A swimming pool: members, courses, lockers" --repairs 8 --set ...', ''],
      ]),
    );
  withOutputOptions(command).action(async (folder: string, flags: DraftFlags) => {
    const { draftInto, draftText } = await load.drafting();
    const tell = (line: string) => terminal.stderr.write(`${line}\n`);
    const interrupt = listenForInterrupt({
      onFirst: () =>
        tell('Stopping. Nothing is written; with --cache the same command goes on from what was answered.'),
      onSecond: () => tell('Stopped.'),
    });
    try {
      const result = await draftInto(folder, { ...flags, signal: interrupt.signal, log: tell });
      terminal.stdout.write(`${flags.json ? JSON.stringify(result) : draftText(result)}\n`);
    } catch (error) {
      if (!interrupt.signal.aborted) throw error;
      outcome.exitCode = EXIT.interrupted;
    } finally {
      interrupt.dispose();
    }
  });
}
