// Errors of scenario files, flags, run folders, benchmarks and devices.

import type { ErrorEntry } from './error-entry.js';

export const RUN_ERRORS = {
  // panels
  PANEL_DIFFERS: {
    status: 409,
    message: 'The panel of this run is {own}, and not {wanted}: {differs}.',
    hint: 'Figures of two panels cannot be compared. Bring in line what differs, or leave --panel out.',
  },
  PANEL_UNREADABLE: {
    status: 400,
    message: 'No panel is named by "{given}" (--panel).',
    hint: 'Give the 16 hex digits that a result tells, or the result.json or folder of the run to be compared with.',
  },
  // registries and plugins
  NOT_REGISTERED: {
    status: 400,
    message: 'There is no {what} called "{name}".',
    hint: 'Known: {known}.{meant}',
  },
  REGISTRATION_INVALID: {
    status: 400,
    message: 'The {what} "{name}" cannot be registered: {problem}',
    hint: 'Give it another name in the module that registers it.',
  },
  PLUGIN_NOT_FOUND: {
    status: 404,
    message: 'There is no plugin "{plugin}" as seen from {folder}.',
    hint: 'Write ./module.mjs for a file beside the scenario, or the name of a package that is installed there.',
  },
  PLUGIN_FAILED: {
    status: 400,
    message: 'The plugin {path} could not be loaded: {problem}',
    hint: 'It is a module of yours that runs when it is loaded; docs/extending.md says what one looks like.',
  },
  PLUGIN_INVALID: {
    status: 400,
    message: 'The module {path} is no plugin: {problem}.',
    hint: 'Its default export is what definePlugin takes; docs/extending.md has examples.',
  },
  PLUGIN_REFUSED: {
    status: 403,
    message: 'Scenario "{path}" names the plugin "{plugin}", which is not run here.',
    hint: 'Only a command that you give yourself runs plugins; a queue, or a client of a server, cannot have one run.',
  },

  // scenario files, flags and paths
  SCENARIO_NOT_FOUND: {
    status: 404,
    message: 'No scenario at "{path}".',
    hint: 'Give a folder with a scenario.yaml, the file itself, or one of: {known}.',
  },
  SCENARIO_INVALID: {
    status: 400,
    message: 'Scenario "{path}": {problem}',
    hint: 'See docs/scenarios.md (docs/tools.md for family tools) for every key and its meaning.',
  },
  SCENARIO_FAMILY: {
    status: 400,
    message: 'Scenario "{name}" is of family {family}; this is for scenarios of family {wanted}.',
    hint: 'reverie scenarios lists the built-in ones; docs/tools.md says what can be done with which family.',
  },
  SCENARIO_CHANGED: {
    status: 409,
    message:
      'Scenario "{path}", or a file it names, was changed after it was saved (hash {hash}, recorded {recorded}).',
    hint: 'Restore what was changed, or start a new run and name the scenario to use instead of the saved one.',
  },
  UNKNOWN_KEY: { status: 400, message: 'Unknown key "{key}" in {where}.', hint: 'Did you mean "{nearest}"?' },
  PROFILE_UNKNOWN: {
    status: 400,
    message: 'Scenario "{path}" has no profile "{profile}".',
    hint: '{hint}',
  },
  FLAG_INVALID: {
    status: 400,
    message: '{flag} was given as "{value}"; expected {expected}.',
    hint: 'See reverie --help, or --help after a command.',
  },
  TASKS_MISSING: {
    status: 400,
    message: 'Scenario "{name}" has no task in the splits {splits}.',
    hint: 'Name other splits in synth.splits, or give the domain tasks of these.',
  },
  DRAFT_REFUSED: {
    status: 422,
    message: 'The drafted domain was refused after {repairs} repairs: {faults}.',
    hint: 'Read {record}: it has every draft and what was wrong with it. Use a better model, more --repairs, or a description that says more.',
  },
  DRAFT_INVALID: {
    status: 400,
    message: 'No domain can be drafted: {problem}.',
    hint: 'See reverie draft --help.',
  },
  WORLD_NOT_CARRIED: {
    status: 422,
    message: 'World "{name}" cannot be put into a page: {problem}.',
    hint: 'Take a world of PDDL games (alfworld, text-games) whose model.backends has sequence, operators or rules; docs/text-games.md.',
  },
  // run folders and their files
  RUN_EXISTS: {
    status: 409,
    message: 'Folder "{path}" already holds a run.',
    hint: 'Give another --out{hint}.',
  },
  RUN_IN_USE: {
    status: 409,
    message: 'Folder "{path}" is in use by process {pid} on {host}.',
    hint: 'Wait for it or stop it. If no such process lives any more, remove {lock}.',
  },
  OUT_NOT_EMPTY: {
    status: 409,
    message: 'Folder "{path}" is not empty: "{entry}" lies in it.',
    hint: 'Give --out a folder that is new or empty, so that nothing in it is overwritten.',
  },
  RUN_NOT_RESUMABLE: {
    status: 409,
    message: 'Cannot go on with "{path}": {problem}.',
    hint: 'Give the folder that was named when the run stopped; see reverie inspect.',
  },
  INPUT_MISSING: {
    status: 404,
    message: 'There is no {what} in "{path}" (--{input}).',
    hint: 'Give the folder itself, or a run that holds one (reverie inspect shows what a folder holds).',
  },
  INPUT_NEEDED: {
    status: 400,
    message: 'This needs {what}, and --{input} was not given.',
    hint: 'Give --{input} FOLDER: one that holds {what}, or a run that does.',
  },
  INPUT_UNFIT: {
    status: 409,
    message:
      '"{path}" (--{input}) does not fit this scenario (environment "{env}"): its {what} is {theirs}, where {ours} is needed.',
    hint: 'Give one that was made in this environment, or name the scenario it was made with.',
  },
  INPUT_NOT_FOUND: {
    status: 404,
    message: 'There is nothing at "{path}" (--{input}).',
    hint: 'Give the folder of a run, or of what it made.',
  },
  NOTHING_TO_INSPECT: {
    status: 404,
    message: 'Nothing that Reverie wrote lies in "{path}".',
    hint: 'Give the folder of a run, a checkpoint, a replay snapshot or a world model.',
  },
  METRICS_CORRUPT: {
    status: 422,
    message: 'Line {line} of "{path}" is not JSON.',
    hint: 'Restore the file, or delete it: metrics are a record only, no run depends on them.',
  },
  // rollouts spread over machines
  QUEUE_URL_INVALID: {
    status: 400,
    message: '"{url}" names no queue: {problem}.',
    hint: 'Give one of: {forms}.',
  },
  QUEUE_UNREACHABLE: {
    status: 503,
    message: 'The queue at {url} cannot be used: {problem}.',
    hint: 'See that Redis runs there and lets this machine in; docs/distributed.md says how.',
  },
  QUEUE_UNSUITED: {
    status: 400,
    message: '{setting} cannot be used with --queue: {problem}.',
    hint: 'Set it otherwise, or leave --queue out: one process can do it.',
  },
  QUEUE_MESSAGE_INVALID: {
    status: 422,
    message: 'The queue holds something else where {what} should be: {problem}.',
    hint: 'Something other than this version of Reverie wrote to it: use a queue of another name.',
  },
  QUEUE_JOB_REFUSED: {
    status: 409,
    message: 'This worker cannot live rows of "{name}": the {what} of its job is {theirs}, here it is {ours}.',
    hint: 'Give coordinator and workers the same version of Reverie and the same files (--files says where they lie here).',
  },
  QUEUE_JOB_UNKNOWN: {
    status: 404,
    message: 'The queue holds rows of job {job}, but not what they are.',
    hint: 'It was kept for too long, or removed: use a queue of another name, and go on with the run there.',
  },
  ROLLOUT_LOST: {
    status: 500,
    costs: 'episode',
    message: 'Row {row} was given up: {times} workers that took it were lost before it ended.',
    hint: 'See how those workers ended, such as out of memory; the other rows are not affected.',
  },
  ROLLOUT_FAILED: {
    status: 500,
    costs: 'episode',
    message: 'Row {row} was given up after {times} tries: {problem}',
    hint: 'Workers tell the stack with REVERIE_DEBUG=1; the other rows are not affected.',
  },
  // benchmarks
  BENCHMARK_UNKNOWN: {
    status: 404,
    message: 'No benchmark is called "{id}".',
    hint: 'Did you mean "{nearest}"? `npm run bench -- --list` names all.',
  },
  BENCHMARK_USAGE: {
    status: 400,
    message: 'Cannot run benchmarks with: {arguments}',
    hint: 'Usage: npm run bench -- ID [--quick], or npm run bench -- --list.',
  },
  BENCHMARK_PEER_FAILED: {
    status: 500,
    message: 'The peer "{name}" cannot take part: {problem}',
    hint: 'It needs python3 (3.10 or newer) with venv, and pip able to install {requirements}.',
  },
  BENCHMARK_GPU_FAILED: {
    status: 500,
    message: 'The measurement on a GPU gave no figure: {problem}.',
    hint: 'It needs an NVIDIA GPU, nvcc 12.8 or newer, g++, make and python3, with PyTorch for comparisons: see benchmarks/gpu/README.md.',
  },
  // devices that models run on: GPUs, and their emulation
  CUDA_UNAVAILABLE: { status: 503, message: 'No GPU can be used: {problem}.', hint: '{hint}' },
  NATIVE_UNAVAILABLE: { status: 503, message: 'The device native cannot be used: {problem}.', hint: '{hint}' },
  CUDA_OUT_OF_MEMORY: {
    status: 507,
    message: 'The memory of {device} does not suffice: {problem}.',
    hint: 'Close what else uses the GPU (nvidia-smi shows it), give smaller batches (rollout.chunkRows), or use --device cpu.',
  },
  CUDA_FAILED: {
    status: 500,
    message: '{device} failed: {problem}.',
    hint: 'Start the process again, as a GPU may be unusable after a failure; reverie doctor tells its state. --device cpu does without it.',
  },
  DEVICE_UNSUPPORTED: {
    status: 422,
    message: 'World model "{backend}" cannot run on {device}: {problem}.',
    hint: 'Use --device cpu, or --device auto, which uses a GPU only where it can.',
  },
  DEVICE_CHANGED: {
    status: 409,
    message: 'This run was begun on {before}; it cannot go on on {now}.',
    hint: 'Go on on the same device: results of two devices differ in their last digits. Or begin a new run.',
  },
} as const satisfies Record<string, ErrorEntry>;
