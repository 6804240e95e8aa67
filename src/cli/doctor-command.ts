// `reverie doctor`: what this machine has, and what is missing.

import { type Command, Option } from 'commander';
import { load } from '../run/commands.js';
import { EXIT, type Outcome } from './failure.js';
import { examplesText } from './job-commands.js';
import { withOutputOptions } from './options.js';
import type { Terminal } from './terminal.js';

const ASKED = ['cpu', 'native', 'cuda', 'emulated'] as const;

interface DoctorFlags {
  readonly device?: (typeof ASKED)[number];
  readonly json?: boolean;
}

export function addDoctorCommand(program: Command, terminal: Terminal, outcome: Outcome): void {
  const command = program
    .command('doctor')
    .summary('say what this machine has, and what is missing for a GPU')
    .description(
      'Looks at Node, ONNX Runtime, the addon and the kernels for GPUs, the CUDA driver and the GPUs, tries them, and names the way out where something is missing.',
    )
    .addOption(new Option('--device <name>', 'exit with 1 if this device cannot be used').choices(ASKED))
    .addHelpText(
      'after',
      examplesText([
        ['reverie doctor', ''],
        ['reverie doctor --device cuda --json', 'for scripts: exit code 0 where a GPU can be used'],
      ]),
    );
  withOutputOptions(command).action(async ({ device, json }: DoctorFlags) => {
    const { diagnose, diagnosisText } = await load.doctor();
    const diagnosis = await diagnose();
    terminal.stdout.write(`${json ? JSON.stringify(diagnosis) : diagnosisText(diagnosis)}\n`);
    if (device !== undefined && !diagnosis.devices[device]) outcome.exitCode = EXIT.failed;
  });
}
