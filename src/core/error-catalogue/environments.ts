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
  GAME_CHANGED: {
    status: 409,
    message: 'A state of game "{game}" belongs to other texts ({hash}) than are here ({found}).',
    hint: 'Use the game files the state was made with, or begin the game anew.',
  },
} as const satisfies Record<string, ErrorEntry>;
