// The commands that look and change nothing: doctor, scenarios, inspect, check-env.

import type { Command } from 'commander';
import {
  examplesText,
  type OutputFlags,
  type ScenarioFlags,
  withOutputOptions,
  withScenarioOptions,
} from './options.js';
import { EXIT, type Outcome, print, type Terminal } from './terminal.js';

const scenarios = () => import('../run/scenario.js');

export function addLookCommands(program: Command, terminal: Terminal, outcome: Outcome): void {
  addDoctor(program, terminal);
  addScenarios(program, terminal);
  addInspect(program, terminal);
  addCheckEnv(program, terminal, outcome);
}

function addDoctor(program: Command, terminal: Terminal): void {
  const command = program
    .command('doctor')
    .summary('say what this machine has, and what is missing for a GPU')
    .description(
      'Looks at Node, ONNX Runtime, the addon and the kernels for GPUs, the CUDA driver and the GPUs, tries them, and names the way out where something is missing.',
    )
    .addHelpText(
      'after',
      examplesText([['reverie doctor --json', 'for scripts: devices.cuda says whether a GPU can be used']]),
    );
  withOutputOptions(command).action(async ({ json }: OutputFlags) => {
    const { diagnose, diagnosisText } = await import('../run/doctor.js');
    const diagnosis = await diagnose();
    print(terminal, json, diagnosis, diagnosisText(diagnosis));
  });
}

function addScenarios(program: Command, terminal: Terminal): void {
  const command = program
    .command('scenarios')
    .summary('list the built-in scenarios, or show one in full')
    .description('Lists the built-in scenarios. With a name or path: its effective configuration, defaults filled in.')
    .argument('[scenario]', 'built-in scenario or path')
    .addHelpText(
      'after',
      examplesText([['reverie scenarios hopper --profile smoke --set rl.gamma=0.98', 'what a run is given']]),
    );
  withOutputOptions(withScenarioOptions(command)).action(
    async (reference: string | undefined, flags: ScenarioFlags & OutputFlags) => {
      const { listScenarios, loadAnyScenario, scenarioText } = await scenarios();
      if (reference !== undefined) {
        const scenario = await loadAnyScenario(reference, flags);
        return print(terminal, flags.json, scenario, scenarioText(scenario));
      }
      const known = await listScenarios();
      const { terminalTable } = await import('../run/report.js');
      const rows = known.map(({ name, description }) => [name, description]);
      const shown = { columns: ['scenario', 'what is learned'], rows, alignment: 'text' } as const;
      const table = terminalTable(shown, terminal.stdout.columns);
      print(terminal, flags.json, { scenarios: known }, table);
    },
  );
}

function addInspect(program: Command, terminal: Terminal): void {
  const command = program
    .command('inspect')
    .summary('look at a run, checkpoint, replay snapshot or world model')
    .description('Says what a folder that Reverie wrote holds: what it was made from, how much, and how it went.')
    .argument('<folder>', 'the folder')
    .addHelpText('after', examplesText([['reverie inspect runs/policy', '']]));
  withOutputOptions(command).action(async (folder: string, { json }: OutputFlags) => {
    const { inspectFolder, inspectionText } = await import('../run/inspect.js');
    const inspection = await inspectFolder(folder);
    print(terminal, json, inspection, inspectionText(inspection, '', terminal.stdout.columns));
  });
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
      const scenario = await (await scenarios()).loadAnyScenario(reference, flags);
      const { checkedEnvironment } = await import('../run/jobs.js');
      const { report, text } = await checkedEnvironment(scenario);
      print(terminal, flags.json, report, text);
      if (!report.passed) outcome.exitCode = EXIT.failed;
    },
  );
}
