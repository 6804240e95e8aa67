// The commands that look and change nothing: scenarios, inspect, check-env.

import { type Command, Option } from 'commander';
import { load } from '../run/commands.js';
import { EXIT, type Outcome } from './failure.js';
import { examplesText } from './job-commands.js';
import { type ScenarioFlags, withOutputOptions, withScenarioOptions } from './options.js';
import type { Terminal } from './terminal.js';

interface OutputFlags {
  readonly json?: boolean;
}

export function addLookCommands(program: Command, terminal: Terminal, outcome: Outcome): void {
  addScenarios(program, terminal);
  addInspect(program, terminal);
  addCheckEnv(program, terminal, outcome);
}

function addScenarios(program: Command, terminal: Terminal): void {
  const command = program
    .command('scenarios')
    .summary('list the built-in scenarios, or show one in full')
    .description('Lists the built-in scenarios. With a name or path: its effective configuration, defaults filled in.')
    .argument('[scenario]', 'built-in scenario or path')
    .addHelpText(
      'after',
      examplesText([
        ['reverie scenarios', ''],
        ['reverie scenarios hopper --profile smoke --set rl.gamma=0.98', 'what a run would be given'],
      ]),
    );
  withOutputOptions(withScenarioOptions(command)).action(
    async (reference: string | undefined, flags: ScenarioFlags & OutputFlags) => {
      const { listScenarios, loadAnyScenario, scenarioText } = await load.scenarios();
      if (reference !== undefined) {
        const scenario = await loadAnyScenario(reference, flags);
        return print(terminal, flags, scenario, () => scenarioText(scenario));
      }
      const scenarios = await listScenarios();
      const { terminalTable } = await load.resultText();
      const rows = scenarios.map(({ name, description }) => [name, description]);
      print(terminal, flags, { scenarios }, () =>
        terminalTable(
          { columns: ['scenario', 'what is learned'], rows },
          { alignment: 'text', columns: terminal.stdout.columns },
        ),
      );
    },
  );
}

function addInspect(program: Command, terminal: Terminal): void {
  const command = program
    .command('inspect')
    .summary('look at a run, checkpoint, replay snapshot or world model')
    .description('Says what a folder that Reverie wrote holds: what it was made from, how much, and how it went.')
    .argument('<folder>', 'the folder')
    .addHelpText(
      'after',
      examplesText([
        ['reverie inspect runs/policy', ''],
        ['reverie inspect runs/policy --json', ''],
        [
          'reverie inspect runs/policy --evaluation-set runs/other',
          'whether the figures of both may be compared, or what differs',
        ],
      ]),
    );
  command.option(
    '--evaluation-set <hash|file>',
    'say whether its figures and those of this run, file or hash were measured on the same',
  );
  command.addOption(new Option('--panel <hash|file>').hideHelp());
  withOutputOptions(command).action(
    async (folder: string, flags: OutputFlags & { readonly evaluationSet?: string; readonly panel?: string }) => {
      const { inspectFolder, inspectionText } = await load.inspection();
      const inspection = await inspectFolder(folder, { panel: flags.evaluationSet ?? flags.panel });
      print(terminal, flags, inspection, () => inspectionText(inspection, '', terminal.stdout.columns));
    },
  );
}

function addCheckEnv(program: Command, terminal: Terminal, outcome: Outcome): void {
  const command = program
    .command('check-env')
    .summary("check that a scenario's environment keeps its contract")
    .description(
      'Tries the environment: same seed, same bytes; spaces and shapes; snapshot and restore; clean refusals.',
    )
    .argument('<scenario>', 'built-in scenario or path')
    .addHelpText('after', examplesText([['reverie check-env ./my-robot', 'a body of your own before training on it']]));
  withOutputOptions(withScenarioOptions(command)).action(
    async (reference: string, flags: ScenarioFlags & OutputFlags) => {
      const { loadAnyScenario } = await load.scenarios();
      const { checkScenarioEnvironment, environmentReportText } = await load.environmentCheck();
      const report = await checkScenarioEnvironment(await loadAnyScenario(reference, flags));
      print(terminal, flags, report, () => environmentReportText(report));
      if (!report.passed) outcome.exitCode = EXIT.failed;
    },
  );
}

function print(terminal: Terminal, flags: OutputFlags, data: unknown, text: () => string): void {
  terminal.stdout.write(`${flags.json ? JSON.stringify(data) : text()}\n`);
}
