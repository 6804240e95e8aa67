// Errors of learners, networks, world models and language models.

import type { ErrorEntry } from './error-entry.js';

export const MODEL_ERRORS = {
  // learners and policies
  SPACE_UNSUPPORTED: { status: 400, message: 'The {learner} cannot use {space}.', hint: '{hint}' },
  LEARNER_CONFIG_INVALID: {
    status: 400,
    message: 'Settings of the {learner}: {problem}',
    hint: 'See src/rl/config.ts for every setting, its meaning and its default.',
  },
  BATCH_SHAPE_MISMATCH: {
    status: 400,
    message: '{what} has {got} elements where {expected} are needed.',
    hint: '{hint}',
  },
  POLICY_INVALID: {
    status: 400,
    message: 'This is not a policy that can be loaded: {problem}.',
    hint: 'Give the payload of a PolicySnapshot made by this version of reverie.',
  },
  // networks and models
  GRAPH_MISMATCH: { status: 422, message: 'Graph "{graph}", {op}: {problem}.', hint: 'Its inputs were: {inputs}.' },
  FEED_MISMATCH: { status: 400, message: '"{model}" was fed {problem}.', hint: 'It takes: {expected}.' },
  PARAMETER_UNKNOWN: { status: 422, message: 'Parameter "{name}" {problem}.', hint: 'The parameters are: {known}.' },
  SESSION_RELEASED: {
    status: 409,
    message: '"{origin}" was run after it was released.',
    hint: 'Make a new session or trainer.',
  },
  MODEL_RUN_FAILED: {
    status: 422,
    message: '"{origin}" failed while running: {problem}',
    hint: 'Check the values fed, above all that indices lie within the tensors they point into.',
  },
  MODEL_NOT_FOUND: {
    status: 404,
    message: 'No model at "{path}": {problem}.',
    hint: 'Give the path of a readable .onnx file.',
  },
  MODEL_NOT_A_FILE: {
    status: 400,
    message: '"{path}" is not a regular file.',
    hint: 'Give the path of an .onnx file, not a folder, pipe or device.',
  },
  MODEL_TOO_LARGE: {
    status: 413,
    message: 'Model "{path}" has {bytes} bytes; the limit is {maxBytes}.',
    hint: 'Give a smaller model or raise maxBytes.',
  },
  MODEL_INVALID: {
    status: 400,
    message: 'Model "{origin}" cannot be used: {problem}.',
    hint: 'Give an ONNX model whose inputs and outputs are float32, int32, int64, bool or uint8 tensors.',
  },
  MODEL_EXTERNAL_DATA: {
    status: 400,
    message: 'Model "{origin}" keeps tensors in other files, which are not read.',
    hint: 'Save it with all weights inside: torch.onnx.export(..., external_data=False), or onnx.save(model, path, save_as_external_data=False).',
  },
  // decoders: language models of our own
  DECODER_CONFIG_INVALID: {
    status: 400,
    message: 'Settings of the decoder: {problem}.',
    hint: 'Sizes are whole numbers; heads are a multiple of kvHeads. A config.json must be that of a LlamaForCausalLM without biases or scaled rotations.',
  },
  DECODER_FOLDER_INVALID: {
    status: 422,
    message: 'Decoder "{path}" cannot be loaded: {problem}.',
    hint: 'Give a folder with config.json, model.safetensors and tokenizer.json that belong together, as `saveDecoder` writes it.',
  },
  TOKENIZER_INVALID: {
    status: 422,
    message: 'Tokenizer "{origin}" cannot be used: {problem}.',
    hint: 'Give the tokenizer.json of a byte-level byte-pair tokenizer, as `trainTokenizer` makes it.',
  },
  CONTEXT_TOO_LONG: {
    status: 400,
    message: '{what} has {tokens} tokens where {limit} fit.',
    hint: 'Shorten it, or make the decoder with a longer context.',
  },
  DECODER_INPUT_INVALID: { status: 400, message: 'The decoder was given {problem}.', hint: '{hint}' },
  DECODER_SCHEMA_UNSUPPORTED: {
    status: 422,
    message: 'Nothing can be written under the JSON Schema of {what}: "{at}" {problem}.',
    hint: 'Say it in what docs/learners.md lists under "Writing under a JSON Schema": types with their bounds, enum, const, anyOf and references within the schema.',
  },
  DECODER_VOCABULARY_UNFIT: {
    status: 422,
    message: 'A vocabulary of {size} tokens cannot write JSON: it has no token for {missing}.',
    hint: 'Take a tokenizer with a token for every byte, as byte-level ones have (`trainTokenizer`, GPT-2).',
  },
  // world models
  MODEL_CONFIG_INVALID: {
    status: 400,
    message: 'Settings of the world model: {problem}',
    hint: 'See ensembleConfigSchema for every setting, its meaning and its default.',
  },
  MODEL_DATA_INVALID: {
    status: 400,
    message: 'A world model cannot be fitted to this data: {problem}',
    hint: '{hint}',
  },
  MODEL_INPUT_INVALID: {
    status: 400,
    message: 'World model "{backend}" was asked with {problem}',
    hint: 'Give obs [rows, obsDim] and action [rows, actionDim] as Float32Array, actions within the action space.',
  },
  MODEL_FOLDER_INVALID: { status: 422, message: 'World model "{path}" cannot be loaded: {problem}', hint: '{hint}' },
  MODEL_NOT_PORTABLE: {
    status: 409,
    message: 'This world model cannot be saved or sent to another thread: {problem}',
    hint: 'Give the environment specification (env) whose known functions the model uses.',
  },
  DREAM_INVALID: { status: 400, message: 'Dream: {problem}', hint: '{hint}' },
  // experience models of tools
  SEQUENCE_NOT_READY: {
    status: 409,
    message:
      'Sequence model "{path}" got {exact} % of {steps} held-out steps exactly right, which is below the bar of {bar} %.',
    hint: 'Fit it for more steps or to more records; model.sequence.minExactness is the bar, and 0 uses the model as it is.',
  },
  MODEL_BACKENDS_MISSING: {
    status: 400,
    message: 'No backend of the world model can answer calls of domain "{domain}": {reasons}.',
    hint: 'Give the domain rules.js, records to replay or a language model (section llm), and name it in model.backends.',
  },
  MODEL_BACKEND_UNAVAILABLE: {
    status: 400,
    message: 'Backend "{backend}" in model.backends cannot be used in domain "{domain}": {reason}.',
    hint: 'Provide what it needs (llm: a section llm; replay: experience.logs whose state is known; rules: rules.js), or remove it from model.backends.',
  },
  USER_TURN_INVALID: {
    status: 502,
    costs: 'episode',
    message: 'The simulated user of task "{task}" said nothing that can be used, twice: {problem}',
    hint: 'Use a model that follows instructions for the user (roles.user), raise its maxTokens, or give the task a script.',
  },
  TRAJECTORY_INVALID: {
    status: 502,
    costs: 'episode',
    message: 'The trajectory written for task "{task}" cannot be read: {problem}',
    hint: 'Use a model that can be held to a schema, or live episodes turn by turn (synth.mode: turns).',
  },
  WALK_PRUNED: {
    status: 422,
    costs: 'episode',
    message: 'A walk of task "{task}" was ended after {steps} actions, none of which anyone would ask for.',
    hint: 'This is what agent.prune is for. Where most walks end so, give the agent other goalKinds, or a better model.',
  },
  WALK_REFUSED: {
    status: 422,
    costs: 'episode',
    message: 'A walk of task "{task}" became no example: {problem}.',
    hint: 'See docs/screens.md for what is asked of walks. Another model (roles.tasks), or longer walks, may do better.',
  },
  WALKS_TOO_FEW: {
    status: 422,
    message: 'There are {walks} recorded walks (synth.wrap.walks), and {rows} rows are wanted of them.',
    hint: 'Set synth.episodes to as many as there are walks, or fewer, or name more logs.',
  },
  EPISODES_ALL_FAILED: {
    status: 502,
    message: 'None of {rows} episodes could be lived: {reasons}.',
    hint: 'Mend what they failed by, and begin a new run: rows that failed are not lived again.',
  },
  // language models
  LLM_CONFIG_INVALID: {
    status: 400,
    message: 'Language model: {problem}.',
    hint: 'See section llm in docs/tools.md for every key and its meaning.',
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
  LLM_CACHE_CORRUPT: {
    status: 422,
    message: 'The cache of replies is damaged at "{path}": {problem}.',
    hint: 'Restore it from a copy, or remove it and ask anew.',
  },
  BUDGET_SPENT: {
    status: 429,
    message: 'The budget of {limit} is spent: {spent} of {allowed}.',
    hint: 'Go on with --resume RUN, which has the same budget anew, or begin again with a larger one; what was answered and cached so far is not paid for again.',
  },
} as const satisfies Record<string, ErrorEntry>;
