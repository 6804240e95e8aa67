// `reverie induce` and `reverie accept`: rules, state and tasks of a domain from its logs, and which of the rules count.

import { type Command, InvalidArgumentError } from 'commander';
import { load } from '../run/commands.js';
import { examplesText } from './job-commands.js';
import { withOutputOptions } from './options.js';
import type { Terminal } from './terminal.js';

interface InduceFlags {
  readonly logs?: readonly string[];
  readonly tolerant?: boolean;
  readonly operators?: string;
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
      'Of a folder with tools.yaml: finds in records of its tools what calls answer, change and refuse, how ids look and what always holds, each with its support and counter-examples, and writes it to induced.yaml for a person to accept. Also writes what the folder lacks of state.json, state.schema.json, tasks.yaml and scenario.yaml. With --operators, of a scenario whose states are facts about objects (games of PDDL): finds for each action what it needs and what it makes so, and writes that to a file for the backend `operators`. See docs/rules-from-logs.md.',
    )
    .argument('<folder>', "the domain's folder; with --operators: a run of collect, or a scenario")
    .option('--logs <paths...>', "files or folders of records (.jsonl, .json); with --operators by default the run's")
    .option('--tolerant', 'skip records that cannot be read')
    .option('--operators <file>', 'write preconditions and effects of actions to this file')
    .addHelpText(
      'after',
      examplesText([
        ['reverie induce hotel --logs hotel/logs', ''],
        ['reverie induce runs/seen --operators operators.json', ''],
      ]),
    );
  withOutputOptions(command).action(async (folder: string, flags: InduceFlags) => {
    if (flags.operators !== undefined) {
      const { induceScenarioOperators, operatorsText } = await load.operators();
      const result = await induceScenarioOperators(folder, { ...flags, operators: flags.operators });
      terminal.stdout.write(`${flags.json ? JSON.stringify(result) : await operatorsText(result)}\n`);
      return;
    }
    const { logs } = flags;
    if (logs === undefined) return command.error("error: required option '--logs <paths...>' not specified");
    const { induceDomain, inductionText } = await load.induction();
    const result = await induceDomain(folder, { ...flags, logs });
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
