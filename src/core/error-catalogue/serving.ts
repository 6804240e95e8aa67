// Errors of served environments (sessions, slots, tokens, what comes over the wire) and of the page.

import type { ErrorEntry } from './error-entry.js';

export const SERVING_ERRORS = {
  // sessions
  ENV_NOT_SERVED: {
    status: 404,
    message: 'No environment "{env}" is served here.',
    hint: 'Served: {known}.',
  },
  ENV_NAME_RESERVED: {
    status: 400,
    message: 'An environment cannot be served as "{name}": a route of the server is called so.',
    hint: 'Give it another name: reverie serve other-name=SCENARIO.',
  },
  ENV_NAME_INVALID: {
    status: 400,
    message: 'An environment cannot be served as "{name}".',
    hint: 'Names are parts of URLs: letters, digits, "_", "." and "-", at most 64, the first a letter or digit.',
  },
  ENV_NAME_TWICE: {
    status: 400,
    message: 'Two environments would be served as "{name}".',
    hint: 'Give one of them another name: reverie serve other-name=SCENARIO.',
  },
  ENV_NOT_VECTOR: {
    status: 400,
    message: '"{env}" is of family {family}: only rows of numbers are stepped as a batch.',
    hint: 'Open sessions and step them together by POST /v1/step.',
  },
  SESSION_UNKNOWN: {
    status: 404,
    message: 'There is no session "{id}".',
    hint: 'Open one first; a session is known to its owner alone.',
  },
  SESSION_GONE: {
    status: 410,
    message: 'Session "{id}" was closed ({reason}).',
    hint: 'Open a new one. An idle session is closed after {idleSeconds} s without a request.',
  },
  SESSION_EXISTS: {
    status: 409,
    message: 'There is a session "{id}" already.',
    hint: 'Give another id, or none: then one is chosen.',
  },
  SESSIONS_CORRUPT: {
    status: 500,
    message: 'The sessions kept in "{path}" cannot be read: {problem}.',
    hint: 'Bring the folder back from a copy, or move it away: then the server starts with no sessions.',
  },
  REQUEST_CONFLICT: {
    status: 409,
    message: 'Request id "{id}" was used before, for another request.',
    hint: 'Send a request again only as it was; give a new one an id of its own.',
  },
  GROUP_INVALID: {
    status: 400,
    message: 'A group of {count} sessions cannot be made: {problem}.',
    hint: 'Ask for 1 to {most} sessions; give as many seeds as sessions, or none.',
  },
  SESSION_OF_OTHER_ENV: {
    status: 409,
    message: 'Session "{id}" is of environment "{env}", not of "{asked}".',
    hint: 'Create it with env_name, or with a task as {asked} lists it: without either it is of the first environment served.',
  },
  SNAPSHOT_UNKNOWN: {
    status: 404,
    message: 'There is no snapshot "{id}".',
    hint: 'A snapshot is known to its owner alone; the server keeps the latest {kept} of each.',
  },
  TASK_NOT_CHOSEN: {
    status: 400,
    message: 'No task {index} in split "{split}" of {env}.',
    hint: 'Splits and their sizes: {splits}.',
  },
  EPISODE_NOT_JUDGED: {
    status: 502,
    message: 'The episode of {env} ended and could not be judged.',
    hint: 'This protocol has no word for that, so leave the episode out: it is no failure of the agent.',
  },
  NOT_VERIFIED_APART: {
    status: 501,
    message: 'Episodes of {env} are judged as they are lived, by /step, not apart from it by /verify.',
    hint: 'Drive it with gymnasium_agent.',
  },
  TOOL_NOT_OFFERED: {
    status: 400,
    message: 'There is no tool "{name}" here.',
    hint: 'Tools: {known}.',
  },
  // slots, time and quotas
  CAPACITY_REACHED: {
    status: 503,
    message: 'Server at capacity: {active}/{slots} sessions active. Cannot accept new connections.',
    hint: 'Close sessions that are done, ask again later, or start the server with more --max-sessions.',
  },
  STEP_DEADLINE: {
    status: 504,
    message: 'Step deadline exceeded after {seconds} s; state unchanged.',
    hint: 'Ask again, or start the server with a longer --step-timeout.',
  },
  QUOTA_EXCEEDED: {
    status: 429,
    message: 'The quota of {what} is used up: {used} of {limit}.',
    hint: 'Close what is no longer needed, or ask the operator for a larger quota.',
  },
  SERVER_STARTING: {
    status: 503,
    message: 'The server is starting and answers soon.',
    hint: 'Ask again in a second; GET /ready says when.',
  },
  SERVER_DRAINING: {
    status: 503,
    message: 'The server is shutting down.',
    hint: 'Ask again in some seconds: the next server has the sessions that were kept (--persist).',
  },
  TOOL_NAME_RESERVED: {
    status: 400,
    message: 'A tool of {env} is called "{tool}", which agents cannot call: it is the name of a message.',
    hint: 'Give it another name in tools.yaml: reset, step, state and close are taken.',
  },
  SESSION_NOT_NAMED: {
    status: 400,
    message: 'Over HTTP {what} has to name its session.',
    hint: 'Send the same header X-Session-ID with /reset and with all that follows, or the same "episode_id"; or connect to /ws.',
  },
  // connecting to a server
  GLUE_UNFIT: {
    status: 400,
    message: 'Nothing connects {kind} to {env}, which is of family {family}: {problem}.',
    hint: 'Try --{other}.',
  },
  SERVER_UNREACHABLE: {
    status: 502,
    message: 'No server of environments answers at {url}: {problem}.',
    hint: 'Start it (one of ours: reverie serve SCENARIO) and give its address; REVERIE_TOKEN holds the token it asks for.',
  },
  REMOTE_URL_INVALID: {
    status: 400,
    message: '"{url}" is no address of a server of environments.',
    hint: 'Give scheme, host and port, such as http://127.0.0.1:8000; a path in front of the API may follow.',
  },
  REMOTE_TIMEOUT: {
    status: 504,
    message: 'The server at {url} did not answer within {seconds} s: {what}.',
    hint: 'Reset the environment and go on, or give a larger timeoutSeconds; the server gives up on a step after its --step-timeout.',
  },
  REMOTE_REFUSED: {
    status: 502,
    message: 'The server at {url} refused {what} ({code}): {problem}',
    hint: '{hint}',
  },
  REMOTE_ANSWER_INVALID: {
    status: 502,
    message: 'What the server at {url} answered to {what} is not understood: {problem}.',
    hint: 'Check that it is reverie serve of this version, and that nothing between changes answers; docs/native-api.md has their form.',
  },
  // servers of somebody else's, as the real environment
  SERVER_REFUSED: {
    status: 502,
    message: 'The {protocol} server at {url} refused {what}: {problem}.',
    hint: 'Its log says why; REVERIE_TOKEN holds the token that it may ask for, and `reverie validate URL` tries what else it does.',
  },
  SERVER_ANSWER_INVALID: {
    status: 502,
    message: 'The {protocol} server at {url} answered {what} with {value}: {problem}.',
    hint: 'That is no answer of the protocol. Check the address and that the server is of this protocol; `reverie validate URL` tells what else it does otherwise.',
  },
  EPISODE_LOST: {
    status: 502,
    costs: 'attempt',
    message: 'An episode on the {protocol} server at {url} was lost after {calls} calls: {problem}',
    hint: 'It was begun again and did not come to where it was, or got no answer. `reverie validate URL` tells whether the server honours seeds; others of its episodes are not affected.',
  },
  // workers
  ENVIRONMENT_LOST: {
    status: 500,
    message:
      'The environment is lost: the same request ({request}) killed the worker it lived in {times} times: {problem}',
    hint: 'Open another session; no other was affected. If memory ran out, give the server fewer sessions or more workers.',
  },
  WORKER_UNUSABLE: {
    status: 503,
    message: 'A worker died {times} times before it was ready: {problem}',
    hint: 'Free memory, or start the server with fewer --workers; 0 serves everything in one thread.',
  },
  WORKERS_INVALID: {
    status: 400,
    message: 'Workers cannot be started with {what} = {value}.',
    hint: 'Give a whole number from 1; workers = 0 serves everything in one thread.',
  },
  // requests
  ROUTE_UNKNOWN: {
    status: 404,
    message: 'There is no {method} {path} here.',
    hint: 'See /docs for every route.',
  },
  SERVER_FAILED: {
    status: 500,
    message: 'The server failed to answer.',
    hint: "The server's log has the reason, under the request's trace id.",
  },
  REQUEST_INVALID: {
    status: 422,
    message: 'Request invalid: {problem}',
    hint: 'See /docs of this server for every route and its fields.',
  },
  // the page: runs that are looked at, and the page itself
  PAGE_NOT_BUILT: {
    status: 503,
    message: 'The page was not built: there is no {file}.',
    hint: 'Run npm run build once; an installed package has it already.',
  },
  RUNS_NOT_SHOWN: {
    status: 404,
    message: 'This server shows no runs.',
    hint: 'Start it with --runs FOLDER, the folder that holds them.',
  },
  RUN_NOT_FOUND: {
    status: 404,
    message: 'There is no "{path}" among the runs.',
    hint: 'It may have been moved or deleted; the list of runs says what is there.',
  },
  RUN_PATH_REFUSED: {
    status: 400,
    message: '"{path}" leads out of the folder of runs.',
    hint: 'Name a folder or file below it, without "..", and not by way of a link.',
  },
  EPISODE_NOT_FOUND: {
    status: 404,
    message: 'No episode begins at byte {at} of the episodes of "{run}".',
    hint: 'The run may have gone on since: look it up in the list again.',
  },
  LINE_TOO_LONG: {
    status: 422,
    message: 'The line at byte {at} of {path} is longer than {limit} bytes.',
    hint: 'It was not written by Reverie; move the file away, or split it.',
  },
} as const satisfies Record<string, ErrorEntry>;
