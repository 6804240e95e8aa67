// `reverie induce` and `reverie accept`: rules, state and tasks of a domain from its logs, and which of the rules count.

import { type Command, InvalidArgumentError } from 'commander';
import { load } from '../run/commands.js';
import { examplesText } from './job-commands.js';
import { withOutputOptions } from './options.js';
import type { Terminal } from './terminal.js';

interface InduceFlags {
  readonly logs: readonly string[];
  readonly tolerant?: boolean;
  readonly json?: boolean;
}

interface AcceptFlags {
  readonly unopposed?: number | true;
  readonly json?: boolean;
}

export function addInduceCommands(program: Command, terminal: Terminal): void {
  addInduce(program, terminal);
  addAccept(program, terminal);
}

function addInduce(program: Command, terminal: Terminal): void {
  const command = program
    .command('induce')
    .summary('propose rules, state and tasks of a domain from its logs')
    .description(
      'Of a folder with tools.yaml: finds in records of its tools what calls answer, change and refuse, how ids look and what always holds, each with its support and counter-examples, and writes it to induced.yaml for a person to accept. Also writes what the folder lacks of state.json, state.schema.json, tasks.yaml and scenario.yaml. See docs/rules-from-logs.md.',
    )
    .argument('<folder>', "the domain's folder")
    .requiredOption('--logs <paths...>', 'files or folders of records (.jsonl, .json)')
    .option('--tolerant', 'skip records that cannot be read')
    .addHelpText('after', examplesText([['reverie induce hotel --logs hotel/logs', '']]));
  withOutputOptions(command).action(async (folder: string, flags: InduceFlags) => {
    const { induceDomain, inductionText } = await load.induction();
    const result = await induceDomain(folder, flags);
    const text = flags.json ? JSON.stringify(result) : await inductionText(result);
    terminal.stdout.write(`${text}\n`);
  });
}

function addAccept(program: Command, terminal: Terminal): void {
  const command = program
    .command('accept')
    .summary('accept rules that were found in logs')
    .description(
      'Sets rules of induced.yaml accepted: those named, and with --unopposed all that nothing in the logs contradicts. Read them first: what is accepted answers calls, and gives rewards. To take a rule back, set "accepted" to false in the file.',
    )
    .argument('<folder>', "the domain's folder")
    .argument('[rules...]', 'names of rules, such as cancel_booking.set')
    .option('--unopposed [support]', 'also all without counter-examples, seen this often or more (default: 1)', counted)
    .addHelpText(
      'after',
      examplesText([
        ['reverie accept hotel get_guest.answer book_room.add book_room.answer', ''],
        ['reverie accept hotel --unopposed 2', ''],
      ]),
    );
  withOutputOptions(command).action(async (folder: string, rules: readonly string[], flags: AcceptFlags) => {
    if (rules.length === 0 && flags.unopposed === undefined) command.error('error: name rules, or give --unopposed');
    const { acceptRules, rulesTable } = await load.induction();
    const unopposed = flags.unopposed === true ? 1 : flags.unopposed;
    const lines = await acceptRules(folder, { rules, unopposed });
    terminal.stdout.write(`${flags.json ? JSON.stringify({ rules: lines }) : await rulesTable(lines)}\n`);
  });
}

function counted(value: string): number {
  const number = Number(value);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('Expected a whole number, 1 or more.');
}
