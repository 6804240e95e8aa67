// Errors of environments: spaces and actions, typed states, domains of tools and their rules.

import type { ErrorEntry } from './error-entry.js';

export const ENVIRONMENT_ERRORS = {
  // spaces, actions, environments
  ENV_UNKNOWN: { status: 404, message: 'No environment is called "{id}".', hint: 'Known environments: {known}.' },
  ENV_NOT_RESET: {
    status: 409,
    message: 'Environment "{id}" was stepped before reset or after its episode ended.',
    hint: 'Reset it first.',
  },
  ACTION_OUT_OF_SPACE: { status: 400, message: 'Action {action} is outside the action space {space}.', hint: '{hint}' },
  NON_FINITE_VALUE: { status: 422, message: '{what} is not finite ({value}) at {where}.', hint: '{hint}' },
  MJCF_INVALID: {
    status: 400,
    message: 'MuJoCo could not load "{path}": {problem}',
    hint: 'Check that the file is MJCF XML that this MuJoCo version compiles, and that files it includes lie in its folder.',
  },
  ENV_CLOSED: {
    status: 409,
    message: 'Environment "{id}" has been closed.',
    hint: 'Make a new one with makeEnvironment().',
  },
  ENV_SPEC_INVALID: {
    status: 400,
    message: 'Environment: {problem}',
    hint: 'See docs/environments.md for every key and its meaning.',
  },
  SNAPSHOT_MISMATCH: {
    status: 409,
    message: 'Snapshot of "{from}" cannot be restored into "{into}".',
    hint: 'Restore snapshots only into the same environment with the same configuration.',
  },
  // environments of Python's Gymnasium
  GYMNASIUM_NO_PYTHON: {
    status: 422,
    message: 'Environment "{id}" needs Python, and "{python}" could not be started: {problem}.',
    hint: 'Install Python 3.10 or later, or name the program of one that is there: --python PATH, or REVERIE_PYTHON.',
  },
  GYMNASIUM_MISSING: {
    status: 422,
    message: 'Environment "{id}" needs gymnasium, which "{python}" does not have: {problem}.',
    hint: 'Run "{python} -m pip install gymnasium", or name a Python that has it: --python PATH, or REVERIE_PYTHON.',
  },
  GYMNASIUM_IMPORT: {
    status: 422,
    message: 'Environment "{id}" is registered by the module "{module}", which "{python}" could not import: {problem}',
    hint: 'Install the module for that Python, or run from the folder it lies in.',
  },
  GYMNASIUM_UNKNOWN: {
    status: 404,
    message: 'Gymnasium could not make "{id}": {problem}',
    hint: 'Name what registers it ("import: MODULE"), install what it needs for "{python}", or correct the id and "kwargs".',
  },
  GYMNASIUM_SPACE: {
    status: 422,
    message: 'Environment "{id}" has an {which} space that is no row of numbers: {space}.',
    hint: 'Boxes, choices and dictionaries and tuples of them are; of actions, one choice or boxes alone. Wrap the environment in Python (gymnasium.ObservationWrapper, gymnasium.ActionWrapper) and register that.',
  },
  GYMNASIUM_FAILED: {
    status: 502,
    message: 'Environment "{id}" failed in {what}: {problem}',
    hint: 'The exception is that of its Python code. Reset the environment to go on; its package may know the error.',
  },
  GYMNASIUM_DIED: {
    status: 502,
    message: 'The Python process of "{id}" ended {times} times in a row: {problem}.',
    hint: 'The episode was lived again each time and ended at the same place. Run that episode in Python to see why, or begin another.',
  },
  GYMNASIUM_TIMEOUT: {
    status: 504,
    message: 'The Python process of "{id}" took longer than {seconds} s {what}, and was ended.',
    hint: 'Give it longer by "timeoutSeconds" where it is only slow.',
  },
  GYMNASIUM_NOT_REPEATABLE: {
    status: 409,
    message: 'Environment "{id}" did not come out where it was after {steps} steps, lived again from seed {seed}.',
    hint: 'It draws from something else than self.np_random, or keeps something over a reset: neither snapshots nor the end of its process can be survived in mid-episode. Reset it to go on.',
  },
  // typed states
  OPERATION_INVALID: {
    status: 422,
    message: 'Operation {op} at "{path}" does not apply to the state: {problem}.',
    hint: 'Operations are JSON Patch (RFC 6902): paths are JSON Pointers to what is there, or to a key that add makes.',
  },
  SCHEMA_INVALID: {
    status: 400,
    message: 'The schema of {what} is no JSON Schema: {problem}',
    hint: 'Write it in JSON Schema, draft 2020-12 or 7.',
  },
  // tools environments, their domains and rules
  DOMAIN_NOT_FOUND: {
    status: 404,
    message: 'There is no domain file "{file}".',
    hint: 'A domain folder holds policy.md, tools.yaml, state.json, state.schema.json, tasks.yaml and, where there is one, rules.js.',
  },
  DOMAIN_INVALID: { status: 400, message: 'Domain file "{file}": {problem}', hint: '{hint}' },
  INDUCED_RULES_INVALID: {
    status: 400,
    message: 'Rules from logs "{file}", rule "{rule}": {problem}.',
    hint: 'Correct the expression; docs/rules-from-logs.md says what one may hold.',
  },
  INDUCED_RULE_UNKNOWN: {
    status: 404,
    message: '"{file}" has no rule "{rule}".',
    hint: 'It has: {known}.',
  },
  INDUCTION_EMPTY: {
    status: 422,
    message: 'The logs {logs} hold no answered call of a tool of "{folder}".',
    hint: 'Name logs of these tools: records with calls and their answers (docs/domains.md, "logs").',
  },
  OPERATORS_INVALID: {
    status: 422,
    message: 'Operators "{file}": {problem}.',
    hint: 'Write the file with reverie induce SCENARIO --operators FILE --logs RECORDS; model.operators.file is relative to the scenario.',
  },
  OPERATORS_NO_FACTS: {
    status: 422,
    message: 'The states of domain "{domain}" are no facts about objects, so operators cannot be found in its records.',
    hint: 'Take a domain of PDDL games (text-games, alfworld). Rules of other domains: reverie induce FOLDER --logs RECORDS.',
  },
  AGENT_UNFIT: {
    status: 422,
    message: 'The agent "{agent}" cannot act in domain "{domain}", whose rules do not list the commands of a state.',
    hint: 'Take a domain of PDDL games (text-games, alfworld), or another agent.kind.',
  },
  SCREENS_NEEDED: {
    status: 422,
    message: '{what} needs a domain of screens, and "{domain}" has none.',
    hint: 'Take a domain of screens: miniwob, screen-graph, or an application.',
  },
  TASK_UNKNOWN: {
    status: 404,
    message: 'Environment "{id}" has no task "{task}" (it has {count}).',
    hint: 'Did you mean "{nearest}"?',
  },
  TOOL_WITHOUT_RULE: {
    status: 422,
    message: 'Domain "{domain}" has no rule for the tool "{tool}".',
    hint: 'Write it in the rules of the domain (rules.js), or let another backend answer this tool.',
  },
  ENV_BUSY: {
    status: 409,
    message: 'Environment "{id}" was asked while it was still answering.',
    hint: 'Await each answer before the next call, or fork the environment: snapshot() and restore() in another instance.',
  },
  RULES_INVALID: {
    status: 400,
    message: 'Rules "{file}" cannot be used: {problem}',
    hint: 'Rules are one ES module without imports that exports tools, preconditions, invariants and checks; see docs/domains.md.',
  },
  RULES_FAILED: {
    status: 422,
    message: 'Rules "{file}", {where}: {problem}',
    hint: 'Correct the rule. To refuse a call, throw new ToolError("reason"): the agent is shown it, and no state is changed.',
  },
  // games of text
  PDDL_INVALID: {
    status: 422,
    message: '{what}: {problem}.',
    hint: 'Correct it there, or take the file from where it came once more if it was cut off; docs/text-games.md says what a game consists of.',
  },
  PDDL_UNSUPPORTED: {
    status: 422,
    message: '{what} asks for "{value}", which is not supported here.',
    hint: 'Known: {known}. Write the domain without it: what follows from other facts can be an effect of the actions, numbers can be objects.',
  },
  GAMES_NOT_FOUND: {
    status: 404,
    message: 'No games are in "{folder}": {problem}.',
    hint: 'Name the folder that the games lie in; docs/text-games.md says where ALFWorld keeps its own, and how to lay out yours.',
  },
  GAME_FILE_INVALID: {
    status: 422,
    message: '"{file}" is no game file: {problem}.',
    hint: 'Get the file from where it came once more if it was cut off; docs/text-games.md says what a game file holds.',
  },
  BROWSER_MISSING: {
    status: 422,
    message: 'This world runs in {browser}, which could not be started: {problem}.',
    hint: '{install}',
  },
  PAGES_NOT_FOUND: {
    status: 404,
    message: 'The pages of {what} were not found by "{place}": {problem}.',
    hint: 'Run "pip install {package}" for the Python that REVERIE_PYTHON names (python3 by default), or name their folder or the package\'s wheel: domain.pages, or {variable}.',
  },
  ARCHIVE_UNREADABLE: {
    status: 422,
    message: 'The archive "{path}" cannot be unpacked: {problem}.',
    hint: 'Download it again, whole (a wheel of Python by "pip download PACKAGE --no-deps"), or unpack it and name the folder.',
  },
  SCREENSHOTS_UNAVAILABLE: {
    status: 422,
    message: 'There are no screenshots here: {problem}.',
    hint: '{hint}, or leave out domain.screenshots.',
  },
  UPLOADS_UNAVAILABLE: {
    status: 422,
    message: 'No files of "{folder}" can be uploaded: {problem}.',
    hint: 'Name a folder of 1 to 100 files, none of them a link, and "browser: chromium"; or leave out domain.uploads.',
  },
  APP_NOT_FOUND: {
    status: 404,
    message: 'The application {app} was not found by "{place}".',
    hint: '{install}',
  },
  GRAPH_INVALID: {
    status: 422,
    message: 'The navigation graph "{file}" cannot be used: {place}: {problem}.',
    hint: 'See docs/screens.md for what pages, edges, data and tasks may say.',
  },
  PAGE_UNKNOWN: {
    status: 404,
    message: '{what} has no task "{value}"{where}.',
    hint: 'Did you mean "{nearest}"? There are: {known}.',
  },
  PAGE_FAILED: {
    status: 502,
    costs: 'attempt',
    message: 'Page "{page}" failed in {where}, and once more when it was opened again: {problem}',
    hint: 'The fault is in the page, or in what this browser cannot do. Leave the task out, or try the other browser: domain.browser.',
  },
  BROWSER_DIED: {
    status: 502,
    costs: 'episode',
    message: 'The browser of "{page}" ended {times} times in a row, in {where}: {problem}.',
    hint: 'The page was opened again each time and the browser ended at the same place. Leave the task out, or try the other browser: domain.browser.',
  },
  PAGE_NOT_REPEATABLE: {
    status: 409,
    costs: 'attempt',
    message: 'Page "{page}" did not come out where it was after {steps} actions, done again.',
    hint: 'Begin the episode anew. Files that were replaced meanwhile do this; so does a page that asks for something else than time and chance.',
  },
  GAME_CHANGED: {
    status: 409,
    message: 'A state of game "{game}" belongs to other texts ({hash}) than are here ({found}).',
    hint: 'Use the game files the state was made with, or begin the game anew.',
  },
  TEXT_COMMANDS_UNKNOWN: {
    status: 422,
    message: 'A policy of text chooses among commands, and "{id}" does not say which do something (task "{task}").',
    hint: "Train in a domain of the one tool act whose rules have admissible(state), or whose state lists texts as admissible: ALFWorld's games and games of PDDL do.",
  },
  TEXT_TOO_MANY_COMMANDS: {
    status: 422,
    message: 'A situation has {count} commands to choose from; a policy of text takes 1 to {max}.',
    hint: 'Let the rules of the domain offer fewer commands at a time.',
  },
  TEXT_CHOICES_TOO_MANY: {
    status: 422,
    message:
      'The commands of a situation go on in {count} ways after the same beginning; the decoder chooses among {max}.',
    hint: 'Raise rl.decoder.choices, and train from the start.',
  },
  TEXT_WRITING_UNFIT: {
    status: 422,
    message: 'Actions cannot be written here (rl.decoder.written): {problem}.',
    hint: 'Raise rl.decoder.written, and rl.decoder.context to four times as much, where actions are too long; or leave it out, and the policy chooses among actions that are listed. It is for worlds of tools, in all modes of training but value.',
  },
  TEXT_SCREEN_UNREADABLE: {
    status: 422,
    message: 'The network "elements" cannot read what a situation shows: {problem}.',
    hint: 'Use rl.network=relevance, which reads any world of text; "elements" is for screens of up to 512 elements.',
  },
  TEXT_VALUES_UNFIT: {
    status: 422,
    message: 'The value model of {steps} recorded steps is not learned from: {problem}.',
    hint: 'Gather more episodes, some of which are won (train.gather.episodes, train.gather.agent), hold out more of them (train.gather.heldOut), or change its passes (train.value.epochs).',
  },
  TEXT_TASKS_MISSING: {
    status: 422,
    message: 'Domain "{domain}" has no task {purpose}: {problem}.',
    hint: 'Name splits that have tasks, in train.splits and train.evalSplits, or give the domain more of them (train.domain).',
  },
} as const satisfies Record<string, ErrorEntry>;
