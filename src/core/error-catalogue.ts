// Every failure that a user can cause: code, sentence, way out and HTTP status. Where the sentence is "{problem}", several failures share
// a code that no caller distinguishes, and the place that throws writes the sentence.

export interface ErrorEntry {
  /** HTTP status a server answers with. */
  readonly status: number;
  /** The sentence; `{name}` is replaced by the value of that name. */
  readonly message: string;
  /** What the user can do about it; same placeholders. */
  readonly hint: string;
  /**
   * What is lost of a job of many episodes: `episode`, the one that met it, which would end alike if it were run again; `attempt`, this
   * try at the episode, which is begun again a few times before it is given up. Absent: the job ends.
   */
  readonly costs?: 'episode' | 'attempt';
}

export const ERROR_CATALOGUE = {
  ADDRESS_UNUSABLE: { status: 400, message: '{problem}', hint: '{hint}' },
  TOKENS_INVALID: {
    status: 400,
    message: 'Tokens of {source}: {problem}.',
    hint: 'docs/serving.md shows a token file: a list of {name, token or sha256, operator, quota}.',
  },
  TOKEN_NEEDED: {
    status: 401,
    message: 'This server asks for a token.',
    hint: 'Send it as "Authorization: Bearer TOKEN" or "X-API-Key: TOKEN"; clients that can set no header take http://user:TOKEN@host.',
  },
  TOKEN_WRONG: {
    status: 401,
    message: 'The token is none of this server.',
    hint: 'Ask the operator for one; tokens are told apart to the last character.',
  },
  OPERATOR_NEEDED: {
    status: 403,
    message: 'This is for operators of the server.',
    hint: 'Use a token that the token file marks with operator: true.',
  },
  HOST_REFUSED: {
    status: 421,
    message: 'This server is not called "{host}".',
    hint: 'Ask it by the address it listens on, or start it with --allow-host NAME.',
  },
  ORIGIN_REFUSED: {
    status: 403,
    message: 'Requests from pages of "{origin}" are refused.',
    hint: 'Pages of other sites may not use this server; --allow-host NAME lets those of one host in.',
  },
  BODY_TOO_LARGE: {
    status: 413,
    message: 'The request is larger than {limit} bytes.',
    hint: 'Send less at a time, or ask the operator for a larger --max-body-bytes.',
  },
  BODY_TYPE_REFUSED: {
    status: 415,
    message: 'Bodies of type {type} are not read here.',
    hint: 'Send JSON as it is: content-type application/json, and no content-encoding.',
  },
  URL_TOO_LONG: {
    status: 414,
    message: 'The URL is longer than {limit} characters.',
    hint: 'What is long belongs into the body.',
  },
  REQUESTS_TOO_MANY: {
    status: 429,
    message: 'More than {limit} requests wait on this connection.',
    hint: 'Await answers before sending more.',
  },
  NAME_UNKNOWN: { status: 404, message: '{problem}', hint: '{hint}' },
  ENV_NOT_RESET: {
    status: 409,
    message: 'Environment "{id}" was stepped before reset or after its episode ended.',
    hint: 'Reset it first.',
  },
  ACTION_OUT_OF_SPACE: { status: 400, message: 'Action {action} is outside the action space {space}.', hint: '{hint}' },
  NON_FINITE_VALUE: { status: 422, message: '{what} is not finite ({value}) at {where}.', hint: '{hint}' },
  ENV_UNUSABLE: { status: 422, message: '{problem}', hint: '{hint}' },
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
  GYMNASIUM_MISSING: {
    status: 422,
    message: 'Environment "{id}" needs gymnasium, which "{python}" does not have: {problem}.',
    hint: 'Run "{python} -m pip install gymnasium", or name a Python that has it by the environment variable REVERIE_PYTHON.',
  },
  GYMNASIUM_UNKNOWN: {
    status: 404,
    message: 'Gymnasium could not make "{id}": {problem}',
    hint: 'Name what registers it ("import: MODULE"), install what it needs for "{python}", or correct the id and "kwargs". Run from the folder that a module of your own lies in.',
  },
  GYMNASIUM_SPACE: {
    status: 422,
    message: 'Environment "{id}" has an {which} space that is no row of numbers: {space}.',
    hint: 'Boxes, choices and dictionaries and tuples of them are; of actions, one choice or boxes alone. Wrap the environment in Python (gymnasium.ObservationWrapper, gymnasium.ActionWrapper) and register that.',
  },
  GYMNASIUM_FAILED: {
    status: 502,
    message: 'Environment "{id}" failed in {what}: {problem}',
    hint: 'Its Python code is at fault, or what its spaces say of it. Reset the environment to go on; its package may know the error.',
  },
  GYMNASIUM_DIED: {
    status: 502,
    message: 'The Python process of "{id}" ended {times} times in a row: {problem}.',
    hint: 'The episode was replayed each time and ended at the same step. Run that episode in Python to see why, or start another.',
  },
  GYMNASIUM_TIMEOUT: {
    status: 504,
    message: 'The Python process of "{id}" took longer than {seconds} s {what}, and was ended.',
    hint: 'Give it longer by "timeoutSeconds" where it is only slow.',
  },
  GYMNASIUM_NOT_REPEATABLE: {
    status: 409,
    message: 'Environment "{id}" is not reproducible: replaying {steps} steps from seed {seed} gave a different state.',
    hint: 'It draws from something else than self.np_random, or keeps something over a reset: neither snapshots nor the end of its process can be survived in mid-episode. Reset it to go on.',
  },
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
  DOMAIN_FILE_INVALID: { status: 400, message: '{problem}', hint: '{hint}' },
  FILE_INVALID: { status: 422, message: '{problem}', hint: '{hint}' },
  SCENARIO_UNFIT: { status: 400, message: '{problem}', hint: '{hint}' },
  DOMAIN_UNFIT: { status: 422, message: '{problem}', hint: '{hint}' },
  TASK_UNKNOWN: {
    status: 404,
    message: 'Environment "{id}" has no task "{task}" (it has {count}).',
    hint: '{hint}',
  },
  TOOL_WITHOUT_RULE: {
    status: 422,
    message: 'Domain "{domain}" has no rule for the tool "{tool}".',
    hint: 'Write it in the rules of the domain (rules.yaml or rules.js), or let another backend answer this tool.',
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
    hint: 'Correct the rule. A call is refused by an entry of "enforces" in rules.yaml, and by throw new ToolError("reason") in rules.js.',
  },
  PDDL_UNFIT: { status: 422, message: '{problem}', hint: '{hint}' },
  PAGE_FAILED: {
    status: 502,
    message: 'Page "{page}" failed in {where}, and once more when it was opened again: {problem}',
    hint: 'The fault is in the page, or in what this browser cannot do. Leave the task out, or try the other browser: domain.browser.',
    costs: 'attempt',
  },
  BROWSER_DIED: {
    status: 502,
    message: 'The browser of "{page}" ended {times} times in a row, in {where}: {problem}.',
    hint: 'The page was opened again each time and the browser ended at the same place. Leave the task out, or try the other browser: domain.browser.',
    costs: 'episode',
  },
  PAGE_NOT_REPEATABLE: {
    status: 409,
    message: 'Page "{page}" did not come out where it was after {steps} actions, done again.',
    hint: 'Begin the episode anew. Files that were replaced meanwhile do this; so does a page that asks for something else than time and chance.',
    costs: 'attempt',
  },
  GAME_CHANGED: {
    status: 409,
    message: 'A state of game "{game}" belongs to other texts ({hash}) than are here ({found}).',
    hint: 'Use the game files the state was made with, or begin the game anew.',
  },
  DATA_MISMATCH: { status: 400, message: '{problem}', hint: '{hint}' },
  INPUT_INVALID: { status: 409, message: '{problem}', hint: '{hint}' },
  INPUT_NEEDED: { status: 404, message: '{problem}', hint: '{hint}' },
  JUDGE_UNRELIABLE: {
    status: 409,
    message: 'Judge {judge} may give no reward on "{domain}": {problem}.',
    hint: 'Audit exactly this judge on labelled episodes of this domain (few prove little), use a better model, more votes or sharper rubrics, or train on what exact checks decide.',
  },
  SIMULATOR_UNSOUND: {
    status: 409,
    message:
      'The simulator of "{domain}" passed {passed} of {total} probes that must fail to please it ({share} %, needed {limit} %): {failures}.',
    hint: 'Use a better model or more exact rules; until then its episodes are given no reward.',
  },
  SIMULATOR_USELESS: {
    status: 409,
    message:
      'The simulator of "{domain}" did {passed} of {total} things that are possible ({share} %, needed {limit} %; {faults}): {failures}.',
    hint: 'Look at its replies (cut off? refused? untrue?): raise `llm.maxTokens`, use a better model or more exact rules. Until then its episodes are given no reward, and no dataset is written; `reward.mustSucceed.enabled=false` writes them all the same.',
  },
  REWARD_HACKED: {
    status: 409,
    message:
      'Rewards of "{domain}" can be had for nothing: in {tricks} of {tasks} tasks the {by} gave reward where exact checks find nothing earned; in "{task}" an agent {moves}.',
    hint: 'Read the trick in report.html; give the task exact checks beside its rubric, use a better judge or more exact rules. Until then no reward is given and no dataset is written; `reward.hacker.enabled=false` does not look for tricks.',
  },
  SETTING_INVALID: { status: 400, message: '{problem}', hint: '{hint}' },
  MODEL_FILE_INVALID: { status: 400, message: '{problem}', hint: '{hint}' },
  SESSION_RELEASED: {
    status: 409,
    message: '"{origin}" was run after it was released.',
    hint: 'Make a new session or trainer.',
  },
  NOT_PORTABLE: { status: 409, message: '{problem}', hint: '{hint}' },
  MODEL_BACKEND_UNAVAILABLE: {
    status: 400,
    message: 'Backend "{backend}" in model.backends cannot be used in domain "{domain}": {reason}.',
    hint: 'Provide what it needs (llm: a section llm; replay: experience.logs whose state is known; rules: rules.js), or remove it from model.backends.',
  },
  USER_TURN_INVALID: {
    status: 502,
    message: 'The simulated user of task "{task}" said nothing that can be used, twice: {problem}',
    hint: 'Use a model that follows instructions for the user (roles.user), raise its maxTokens, or give the task a script.',
    costs: 'episode',
  },
  TRAJECTORY_INVALID: { status: 422, message: '{problem}', hint: '{hint}', costs: 'episode' },
  EPISODES_ALL_FAILED: {
    status: 502,
    message: 'All {rows} episodes failed: {reasons}.',
    hint: 'Fix the cause and start a new run; failed rows are not retried.',
  },
  LLM_UNREACHABLE: {
    status: 502,
    message: 'No answer from {url} (tries: {tries}): {problem}.',
    hint: 'Check that the server runs and has room (429: lower concurrency, or raise the quota at the provider).',
  },
  LLM_TIMEOUT: {
    status: 504,
    message: 'No whole reply from {url} in time (tries: {tries}): {problem}.',
    hint: 'Raise timeoutSeconds or deadlineSeconds, lower maxTokens or concurrency, or use a faster server.',
  },
  LLM_REPLY_UNREADABLE: {
    status: 502,
    message: 'What {url} answers is no chat completion (tries: {tries}): {problem}.',
    hint: 'Check that the URL is that of an OpenAI-compatible server (it usually ends in /v1), not of a page or proxy before it.',
  },
  LLM_CONTEXT_EXCEEDED: {
    status: 400,
    message: 'The prompt is longer than the model at {url} can read: {problem}.',
    hint: 'Serve the model with a longer context, or shorten episodes (synth.maxSteps) and what is shown (model.llm.stateTokens, model.llm.retrieval.k).',
  },
  LLM_REFUSED: { status: 502, message: 'The request was refused: {problem}.', hint: '{hint}' },
  LLM_REPLY_INVALID: {
    status: 502,
    message: 'The reply of {model} cannot be used: {problem}.',
    hint: 'Ask again (another attempt is another request), raise maxTokens, or use a model that keeps to schemas.',
  },
  LLM_REPLY_TOO_LARGE: {
    status: 502,
    message: 'The reply of {model} is too large ({size}): no more than {limit} are read.',
    hint: 'Lower maxTokens, or raise maxReplyBytes.',
  },
  LLM_REPLAY_MISS: {
    status: 404,
    message: 'The cache holds no reply to request {key}, and in mode "replay" nothing is asked.',
    hint: 'Use the cache of the run to be repeated, with the same scenario and seed; or mode "record" to ask.',
  },
  BUDGET_SPENT: {
    status: 429,
    message: 'The budget of {limit} is spent: {spent} of {allowed}.',
    hint: 'Go on with --resume RUN, which has the same budget anew, or begin again with a larger one; what was answered and cached so far is not paid for again.',
  },
  STATE_MISMATCH: { status: 409, message: '{problem}', hint: '{hint}' },
  PLUGIN_UNUSABLE: { status: 400, message: '{problem}', hint: '{hint}' },
  SCENARIO_NOT_FOUND: {
    status: 404,
    message: 'No scenario at "{path}".',
    hint: 'Give a folder with a scenario.yaml, the file itself, or one of: {known}.',
  },
  SCENARIO_INVALID: {
    status: 400,
    message: 'Scenario "{path}": {problem}',
    hint: 'See docs/scenarios.md (docs/tools-reference.md for family tools) for every key and its meaning.',
  },
  SCENARIO_CHANGED: {
    status: 409,
    message:
      'Scenario "{path}", or a file it names, was changed after it was saved (hash {hash}, recorded {recorded}).',
    hint: 'Restore what was changed, or start a new run and name the scenario to use instead of the saved one.',
  },
  UNKNOWN_KEY: { status: 400, message: 'Unknown key "{key}" in {where}.', hint: '{hint}' },
  FLAG_INVALID: {
    status: 400,
    message: '{flag} was given as "{value}"; expected {expected}.',
    hint: 'See reverie --help, or --help after a command.',
  },
  DRAFT_UNUSABLE: { status: 422, message: '{problem}', hint: '{hint}' },
  OUTPUT_EXISTS: { status: 409, message: '{problem}', hint: '{hint}' },
  RUN_IN_USE: {
    status: 409,
    message: 'Folder "{path}" is in use by process {pid} on {host}.',
    hint: 'Wait for it or stop it. If no such process lives any more, remove {lock}.',
  },
  INPUT_MISSING: {
    status: 404,
    message: 'There is no {what} in "{path}" (--{input}).',
    hint: 'Give the folder itself, or a run that holds one (reverie inspect shows what a folder holds).',
  },
  INPUT_UNFIT: {
    status: 409,
    message:
      '"{path}" (--{input}) does not fit this scenario (environment "{env}"): its {what} is {theirs}; this environment needs {ours}.',
    hint: 'Give one that was made in this environment, or name the scenario it was made with.',
  },
  QUEUE_REFUSED: { status: 409, message: '{problem}', hint: '{hint}' },
  QUEUE_JOB_UNKNOWN: {
    status: 404,
    message: 'The queue holds rows of job {job}, but not what they are.',
    hint: 'It was kept for too long, or removed: use a queue of another name, and go on with the run there.',
  },
  ROLLOUT_GIVEN_UP: { status: 500, message: '{problem}', hint: '{hint}', costs: 'episode' },
  CUDA_UNAVAILABLE: { status: 503, message: 'No GPU can be used: {problem}.', hint: '{hint}' },
  DEVICE_UNAVAILABLE: { status: 503, message: '{problem}', hint: '{hint}' },
  DEVICE_FAILED: { status: 500, message: '{problem}', hint: '{hint}' },
  ENV_NOT_SERVED: { status: 404, message: 'No environment "{env}" is served here.', hint: 'Served: {known}.' },
  ENV_NAME_INVALID: { status: 400, message: '{problem}', hint: '{hint}' },
  ENV_NOT_VECTOR: {
    status: 400,
    message: '"{env}" is of family {family}: only rows of numbers are stepped as a batch.',
    hint: 'Open sessions instead: POST /v1/sessions.',
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
    message: 'Episode {attempt} of {env} ended without a reward ({kind}: {cause}).',
    hint: 'A missing reward is not 0, and this protocol cannot express it: drop the episode, or reset and run it again.',
  },
  NOT_VERIFIED_APART: {
    status: 501,
    message: 'Episodes of {env} are judged step by step, by /step, not afterwards by /verify.',
    hint: 'Drive it with gymnasium_agent.',
  },
  TOOL_NOT_OFFERED: { status: 400, message: 'There is no tool "{name}" here.', hint: 'Tools: {known}.' },
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
  SESSION_NOT_NAMED: {
    status: 400,
    message: 'Over HTTP {what} has no session here.',
    hint: 'Connect to /ws, where a connection is a session, or use the native API: POST /v1/sessions.',
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
  SERVER_FAULT: { status: 502, message: '{problem}', hint: '{hint}' },
  EPISODE_LOST: {
    status: 502,
    message: 'An episode on the {protocol} server at {url} was lost after {calls} calls: {problem}',
    hint: 'It was begun again and did not come to where it was, or got no answer. `reverie validate URL` tells whether the server honours seeds; others of its episodes are not affected.',
    costs: 'attempt',
  },
  ENVIRONMENT_LOST: {
    status: 500,
    message: 'The same request ({request}) killed the worker of its environment {times} times: {problem}',
    hint: 'The session is where it was before: ask something else. If memory ran out, give the server fewer sessions or more workers.',
  },
  WORKER_UNUSABLE: {
    status: 503,
    message: 'A worker died {times} times before it was ready: {problem}',
    hint: 'Free memory, or start the server with fewer --workers; 0 serves everything in one thread.',
  },
  ROUTE_UNKNOWN: {
    status: 404,
    message: 'There is no {method} {path} here.',
    hint: 'docs/native-api.md lists the routes; /openapi.json describes them.',
  },
  SERVER_FAILED: {
    status: 500,
    message: 'The server failed to answer.',
    hint: "The server's log has the reason, under the request's trace id.",
  },
  REQUEST_INVALID: {
    status: 422,
    message: 'Request invalid: {problem}',
    hint: '/openapi.json of this server describes every route and its fields.',
  },
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
  REPLAY_EMPTY: { status: 409, message: 'Nothing to sample: the {source} buffer is empty.', hint: '{hint}' },
  CHECKPOINT_CORRUPT: {
    status: 422,
    message: 'Checkpoint file "{path}" is damaged: {problem}',
    hint: 'Restore the file from a copy, or start the run anew; nothing was changed.',
  },
  STORAGE_FULL: {
    status: 507,
    message: 'No space left while writing "{path}".',
    hint: 'Free space or write elsewhere; what was stored there before is intact.',
  },
  STORAGE_FAILED: {
    status: 500,
    message: 'Could not write "{path}": {problem}',
    hint: 'Check that the folder exists, is writable and its device healthy; what was stored there before is intact.',
  },
  STORAGE_DENIED: {
    status: 403,
    message: 'May not read or write "{path}": {problem}.',
    hint: 'Write to a folder of your own with --out, or copy the run there to go on with it; nothing was changed.',
  },
  EXPERIENCE_FULL: {
    status: 507,
    message: 'Experience would take {bytes} bytes; the limit is {limit}.',
    hint: 'Raise experience.maxBytes, or remember less (experience.enrich); what was there before is intact.',
  },
  LOG_INVALID: {
    status: 422,
    message: 'Log "{path}", {where}: {problem}.',
    hint: 'Correct the record, or read tolerantly (experience.tolerant) to skip such records and count them.',
  },
  WORKER_LOST: {
    status: 500,
    message: 'A worker thread died {attempts} times on {task}: {problem}',
    hint: 'If memory ran out, use fewer workers or smaller chunks, or raise resourceLimits; otherwise look at the model or policy that runs there.',
  },
  POOL_CLOSED: {
    status: 409,
    message: 'The pool of workers is closed.',
    hint: 'Make a new pool, or close this one only when its work has ended.',
  },
} as const satisfies Record<string, ErrorEntry>;
