// The commands that make domains of tools: from logs (induce) and from a description (draft).

import type { Command } from 'commander';
import type { DraftOptions } from '../run/draft.js';
import { listenForInterrupt } from '../run/interrupt.js';
import { collected, examplesText, type OutputFlags, wholeNumber, withOutputOptions } from './options.js';
import { EXIT, type Outcome, print, type Terminal } from './terminal.js';

interface InduceFlags extends OutputFlags {
  readonly logs?: readonly string[];
  readonly tolerant?: boolean;
  readonly operators?: string;
}

interface DraftFlags extends OutputFlags, Omit<DraftOptions, 'into' | 'signal' | 'log'> {
  readonly into?: string;
  readonly write?: readonly string[];
  readonly logs?: readonly string[];
}

export function addDomainCommands(program: Command, terminal: Terminal, outcome: Outcome): void {
  addInduce(program, terminal);
  addDraft(program, terminal, outcome);
}

function addInduce(program: Command, terminal: Terminal): void {
  const command = program
    .command('induce')
    .summary('propose rules, state and tasks of a domain from its logs')
    .description(
      'For a folder with tools.yaml: induces answers, effects, refusals, id patterns and invariants from records of its tools, tests the rules on held-out logs, and writes them to rules.yaml for a person to review. Also writes the missing files among state.json, state.schema.json, tasks.yaml and scenario.yaml. With --operators, of a scenario whose states are facts about objects (games of PDDL): finds for each action what it needs and what it makes so, and writes that to a file for the backend `operators`. See docs/rules-from-logs.md.',
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
    const { induceDomain, induceScenarioOperators, inductionText, operatorsText } = await import('../run/induce.js');
    const { logs, operators, tolerant, json } = flags;
    if (operators !== undefined) {
      const result = await induceScenarioOperators(folder, { logs, tolerant, operators });
      return print(terminal, json, result, operatorsText(result));
    }
    if (logs === undefined) return command.error("error: required option '--logs <paths...>' not specified");
    const result = await induceDomain(folder, { logs, tolerant });
    print(terminal, json, result, inductionText(result));
  });
}

function addDraft(program: Command, terminal: Terminal, outcome: Outcome): void {
  const command = program
    .command('draft')
    .summary('have a language model write a domain and its tasks')
    .description(
      "Has a language model write policy, tools, data, tasks, probes and rules of a domain from a description, runs them, tests them with must-fail and must-succeed probes and the tasks' solutions, and returns the faults for repair. Writes the folder only if the domain passes; draft.json has every draft. With --into, for an existing domain: writes its missing rules, tasks or probes from its tools, policy, snapshot and logs, and tests rules on the logs. See docs/drafted-domains.md.",
    )
    .argument('[folder]', 'folder of the new domain')
    .option('--into <folder>', 'an existing domain: write its missing files')
    .option('--write <parts...>', 'with --into: rules, tasks, probes')
    .option('--logs <paths...>', 'with --into: records of its tools')
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
        ['reverie draft --into desk --logs desk/logs --set ...', 'rules, tasks and probes for a domain without them'],
        ['reverie draft pool --about "A swimming pool: members, courses, lockers" --repairs 8 --set ...', ''],
      ]),
    );
  withOutputOptions(command).action(async (given: string | undefined, flags: DraftFlags) => {
    const folder = flags.into ?? given;
    if (folder === undefined || (flags.into !== undefined && given !== undefined))
      return command.error('error: name one folder: of a new domain, or with --into of an existing one');
    const into = flags.into === undefined ? undefined : { write: flags.write, logs: flags.logs };
    const { draftInto, draftText } = await import('../run/draft.js');
    const tell = (line: string) => terminal.stderr.write(`${line}\n`);
    const interrupt = listenForInterrupt({
      onFirst: () =>
        tell('Stopping. Nothing is written; with --cache the same command resumes from the cached replies.'),
      onSecond: () => tell('Stopped.'),
    });
    try {
      const result = await draftInto(folder, { ...flags, into, signal: interrupt.signal, log: tell });
      print(terminal, flags.json, result, draftText(result));
    } catch (error) {
      if (!interrupt.signal.aborted) throw error;
      outcome.exitCode = EXIT.interrupted;
    } finally {
      interrupt.dispose();
    }
  });
}
