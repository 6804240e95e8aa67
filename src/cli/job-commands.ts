// The commands that run a job: what they take, what their help says, and nothing of what they do.

import type { Command } from 'commander';
import type { Report } from '../core/report.js';
import type { FolderInput, JobInputs } from '../run/job.js';
import type { JobName } from '../run/jobs.js';
import { examplesText, type JobFlags, once, withDeviceOptions, withFidelityFlags, withJobOptions } from './options.js';
import { EXIT, type Outcome, type Terminal } from './terminal.js';

interface JobCommand {
  readonly name: JobName;
  readonly summary: string;
  readonly description: string;
  /** Inputs it can take; those that it cannot do without are listed in `needs`. */
  readonly takes?: readonly FolderInput[];
  readonly needs?: readonly FolderInput[];
  readonly defaultScenario?: string;
  /** Whether learned dynamics may run on a GPU. */
  readonly usesDevice?: boolean;
  readonly examples: readonly (readonly [command: string, comment: string])[];
}

const INPUT_HELP: Record<FolderInput, string> = {
  data: 'recorded transitions: a run of collect or train, or a replay snapshot; of tools: a run of collect or synth',
  model: 'a world model: a run of fit or train, or the folder of the model',
  checkpoint: 'a policy: a run of train, or the folder of a checkpoint',
  episodes: 'episodes of tools: a run of synth, or its folder data',
  heldOut: 'recorded episodes or transitions to judge by; refused where the model was made from any like them',
};

const JOB_COMMANDS: readonly JobCommand[] = [
  {
    name: 'quickstart',
    summary: 'see how many real steps a world model saves, in a few minutes',
    description:
      'Trains one learner to the same return in the real environment: from scratch, with many updates on real rows only, and warm-started in a learned world model. Ends with a table, the price of a real step from which the dream pays, and an HTML report.',
    defaultScenario: 'cartpole-swingup',
    examples: [
      ['reverie quickstart', 'cart-pole swing-up on MuJoCo'],
      ['reverie quickstart --profile smoke', 'the same, tiny, to see that all works'],
    ],
  },
  {
    name: 'collect',
    summary: 'record the real environment',
    description:
      'Runs a random policy, or one from a checkpoint, in the real environment and keeps what happened. Of a tools scenario: runs its agent, or with --checkpoint a policy of text, in the exact rules of its domain and keeps the episodes, also as logs to seed a simulation with.',
    takes: ['checkpoint'],
    examples: [
      ['reverie collect pendulum --set collect.steps=2000 --out runs/seen', ''],
      ['reverie collect hopper --set collect.policy=checkpoint --checkpoint runs/hopper', 'what a trained policy sees'],
    ],
  },
  {
    name: 'fit',
    summary: 'learn a world model from records',
    description:
      'Fits the ensemble of the scenario to recorded transitions; says how well it predicts held-out ones. Of a tools scenario: fits the backend that learns (sequence in games of text, lifted on screens) to the episodes of a run of collect or synth, and says how often it is exactly right on tasks it did not learn from.',
    takes: ['data', 'model'],
    needs: ['data'],
    usesDevice: true,
    examples: [
      ['reverie fit --data runs/seen --out runs/model', "with the scenario of the records' run"],
      ['reverie fit --data runs/seen --model runs/model', 'go on from an earlier model'],
      ['reverie fit --data runs/games --set model.sequence.fit.steps=2000', 'of games of text: the backend sequence'],
    ],
  },
  {
    name: 'synth',
    summary: 'generate a synthetic dataset in a simulation',
    description:
      'Of a tools scenario: runs episodes of its tasks in the simulated environment, judges and filters them, and writes datasets. Of a vector scenario: branches short rollouts from recorded states (--data) inside a world model (--model). All with their provenance.',
    takes: ['model', 'data', 'checkpoint'],
    usesDevice: true,
    examples: [
      ['reverie synth helpdesk --out runs/desk', 'episodes of a service desk, as datasets'],
      ['reverie synth helpdesk --queue redis://localhost/desk', 'rows are run by the workers of that queue'],
      ["reverie synth helpdesk --set 'synth.export=[sharegpt, verl]' --set synth.episodes=1000", ''],
      ['reverie synth --model runs/model --data runs/seen --checkpoint runs/policy --set rollout.horizon=5', ''],
    ],
  },
  {
    name: 'fidelity',
    summary: 'measure how far a simulator is from the real environment',
    description:
      'Judges a world model against the real environment, or against recorded transitions: one step, many steps, rewards and ends, calibration, the ranking of policies, and how many simulated steps can be trusted. Ends with a report (HTML, Markdown and JSON).',
    takes: ['model', 'data', 'checkpoint', 'heldOut'],
    examples: [
      ['reverie fidelity cartpole-swingup --model runs/model --out runs/judged', 'an ensemble'],
      ['reverie fidelity helpdesk', 'the backends of a tools scenario'],
      ['reverie fidelity cartpole-swingup --model runs/a --compare runs/b', 'two models beside each other'],
      ['reverie fidelity helpdesk --fail-under one-step.state-exact=0.95', 'exit code 1 where it is worse'],
    ],
  },
  {
    name: 'audit',
    summary: 'check that a simulator and its judge are safe to take rewards from',
    description:
      'Puts the must-fail suite (what does not exist, what may not happen, what was not earned) and the must-succeed suite (what is possible) to the backends of a tools scenario, audits the judge, if there is one, on labelled episodes, and tries to be rewarded for nothing. Runs each task of the domain with its solution and with cheats, by the exact rules, and says which tasks are not fit to be rewarded.',
    examples: [
      ['reverie audit helpdesk', 'the exact rules'],
      ['reverie audit helpdesk --tasks', 'its tasks alone'],
      [
        'reverie audit tau-airline --tasks --set domain.data=tau2/airline',
        "τ²-bench's tasks, from a folder of its data",
      ],
    ],
  },
  {
    name: 'export',
    summary: 'write the episodes of a run in more formats',
    description: 'Writes the datasets named in synth.export from episodes that an earlier run of synth kept.',
    takes: ['episodes'],
    needs: ['episodes'],
    examples: [["reverie export --episodes runs/desk --set 'synth.export=[trl, verl]' --out runs/desk-trainers", '']],
  },
  {
    name: 'train',
    summary: 'train a policy, in a simulation or in the real environment',
    description:
      'Learns a policy within a budget of real steps: mostly in the dream (train.mode=dream), or in the real environment alone (real); or from records alone (offline, --data). Evaluates in the real environment as it goes. Of a world of text: learns to choose among the commands that do something, by imitation and groups of episodes, in the real environment, in a dream made of a few real episodes, there and then in the real one (dream-then-real), in a dream made anew as records come in (interleaved), or from what recorded choices came to (value), and is judged on tasks of other splits.',
    takes: ['data', 'model', 'checkpoint'],
    usesDevice: true,
    examples: [
      ['reverie train cartpole-swingup --out runs/policy', ''],
      [
        'reverie train cartpole-swingup --set train.mode=real --checkpoint runs/policy',
        'go on in the real environment',
      ],
      [
        'reverie train pendulum --data runs/seen --set train.mode=offline --set rl.algorithm=td3-bc',
        'of records alone',
      ],
      [
        'reverie train alfworld --profile quick --set train.mode=dream-then-real',
        'an agent of text, mostly in a dream',
      ],
      ['reverie train --resume runs/policy', 'go on after Ctrl-C or a crash, exactly as if nothing had happened'],
    ],
  },
  {
    name: 'eval',
    summary: 'evaluate a policy in the real environment',
    description:
      'Runs whole episodes of a policy in the real environment and reports the return with its spread. Of a tools scenario: runs its agent, or with --checkpoint a policy of text, in the exact rules of its domain and reports how often it succeeds.',
    takes: ['checkpoint'],
    examples: [['reverie eval --checkpoint runs/policy', '']],
  },
];

export function addJobCommands(program: Command, terminal: Terminal, commandLine: string, outcome: Outcome): void {
  for (const spec of JOB_COMMANDS) {
    const { name, takes = [], needs = [], defaultScenario } = spec;
    const instead = takes.length > 0 ? ' (default: the one saved with the input)' : '';
    const scenario = defaultScenario === undefined ? instead : ` (default: ${defaultScenario})`;
    const command = program
      .command(name)
      .summary(spec.summary)
      .description(spec.description)
      .argument('[scenario]', `built-in scenario or path${scenario}`)
      .addHelpText('after', examplesText(spec.examples));
    if (takes.length > 0) command.optionsGroup('Input:');
    for (const input of takes) {
      const flag = input === 'heldOut' ? 'held-out' : input;
      command.option(`--${flag} <folder>`, `${INPUT_HELP[input]}${needs.includes(input) ? ' (needed)' : ''}`, once);
    }
    if (spec.usesDevice) withDeviceOptions(command);
    if (name === 'fidelity') withFidelityFlags(command);
    if (name === 'audit')
      command.option('--tasks', 'audit only the tasks, all of them; exit with 1 if one is not fit to be rewarded');
    withJobOptions(command, name === 'synth').action(async (given: string | undefined, flags: JobFlags & JobInputs) => {
      refuseBadUsage(spec, command, given, flags);
      const { data, model, checkpoint, episodes, heldOut, compare, failUnder, tasks, json } = flags;
      const { launch } = await import('../run/launch.js');
      let report: Report | undefined;
      const result = await launch(name, {
        ...flags,
        scenario: given ?? defaultScenario,
        inputs: { data, model, checkpoint, episodes, heldOut, compare, failUnder, tasks },
        stream: terminal.stderr,
        command: commandLine,
        onReport: (one) => {
          report = one;
        },
      });
      if (json) terminal.stdout.write(`${JSON.stringify(result)}\n`);
      const people = json ? terminal.stderr : terminal.stdout;
      if (!json || !flags.quiet) {
        const { resultText } = await import('../run/report.js');
        people.write(`\n${resultText(result, report, people.columns)}\n`);
      }
      if ('passed' in result && result.passed === false) outcome.exitCode = EXIT.failed;
    });
  }
}

/** What may be given with --resume. */
const RESUMING = ['workers', 'queue', 'trustRules', 'json', 'quiet', 'resume'];

/** Combinations that the options alone cannot rule out. Ends the command with exit code 2. */
function refuseBadUsage(
  { name, takes = [], needs = [], defaultScenario }: JobCommand,
  command: Command,
  scenario: string | undefined,
  flags: JobFlags & JobInputs,
): void {
  if (flags.resume !== undefined) {
    if (scenario !== undefined) command.error('error: --resume uses the scenario of its run; leave the scenario out');
    const given = Object.keys(flags).filter((flag) => !RESUMING.includes(flag));
    if (given.length > 0)
      command.error(`error: --resume goes on with what was given then; leave out --${given.join(', --')}`);
    return;
  }
  const missing = needs.filter((input) => flags[input] === undefined);
  if (missing.length > 0)
    command.error(`error: ${name} needs --${missing.join(' and --')} (see reverie ${name} --help)`);
  const found = scenario ?? defaultScenario ?? takes.find((input) => flags[input] !== undefined);
  if (found === undefined) command.error('error: name a scenario (reverie scenarios lists the built-in ones)');
}
