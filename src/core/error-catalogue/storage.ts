// Errors of what is kept: replay, checkpoints, experience, journals, exports.

import type { ErrorEntry } from './error-entry.js';

export const STORAGE_ERRORS = {
  // replay, checkpoints and storage
  BATCH_MISMATCH: {
    status: 400,
    message: 'Batch column "{column}" has {got} values where {want} are needed.',
    hint: 'Columns are row-major [rows, dim]; check rows ({rows}) and the dimensions of the buffer.',
  },
  ROW_SCHEMA_INVALID: {
    status: 400,
    message: 'Column "{column}" of the schema is not acceptable: {problem}',
    hint: 'A schema gives each column a dtype (float32, float64, uint8, bool, int32, uint32, uint64) and the shape of one row.',
  },
  COLUMN_INVALID: {
    status: 400,
    message: 'Column "{column}" does not fit the schema: {problem}',
    hint: 'Its columns are {known}; values are row-major [rows, ...shape].',
  },
  EPISODE_TOO_LONG: {
    status: 400,
    message: 'An episode of {length} steps cannot be stored: the store keeps {capacity} steps in all.',
    hint: 'Episodes are kept whole and have one step at least; give the store more capacity, or cut the episode.',
  },
  PROVENANCE_INVALID: { status: 400, message: 'Provenance of the batch is not acceptable: {problem}', hint: '{hint}' },
  ROW_OUT_OF_RANGE: {
    status: 400,
    message: 'Row {row} does not exist: the buffer holds {size} rows.',
    hint: 'Rows are numbered 0 to size - 1; a selector of the same buffer never answers others.',
  },
  REPLAY_EMPTY: { status: 409, message: 'Nothing to sample: the {source} buffer is empty.', hint: '{hint}' },
  REPLAY_OPTION_INVALID: {
    status: 400,
    message: 'Replay option {option} = {value} is not acceptable.',
    hint: 'It must be {want}.',
  },
  SELECTOR_STATE_MISMATCH: {
    status: 409,
    message: 'Selector state does not fit: {problem}',
    hint: 'Restore a state only into the same kind of selector over the buffer it was saved with.',
  },
  CHECKPOINT_NOT_FOUND: {
    status: 404,
    message: 'No checkpoint at "{path}".',
    hint: 'Check the path; a checkpoint appears there once the first save has finished.',
  },
  CHECKPOINT_CORRUPT: {
    status: 422,
    message: 'Checkpoint file "{path}" is damaged: {problem}',
    hint: 'Restore the file from a copy or go back to an older checkpoint; nothing was changed.',
  },
  CHECKPOINT_MISMATCH: {
    status: 409,
    message: 'Checkpoint "{path}" was made by {theirs}; this run is {ours}.',
    hint: 'Resume with the scenario, overrides and seed of the checkpoint, or start anew from its policy with --from in another folder.',
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
  // experience: remembered steps and their logs
  EXPERIENCE_INVALID: {
    status: 400,
    message: 'Experience: {what} {problem}.',
    hint: 'See ExperienceStep and RetrievalQuery for what each field must hold.',
  },
  EXPERIENCE_STORE_INVALID: {
    status: 422,
    message: 'The experience in "{path}" cannot be used: {problem}.',
    hint: 'Restore the file from a copy, or name another folder and read the logs anew.',
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
  // dreaming: rollouts, workers, journals and exports
  ROLLOUT_INVALID: { status: 400, message: 'Rollout request: {problem}', hint: '{hint}' },
  DISAGREEMENT_UNAVAILABLE: {
    status: 400,
    message: 'World model "{backend}" gives no disagreement, which this rollout asks for.',
    hint: 'Use an ensemble, or leave out disagreementLimit and confidence.',
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
  POOL_OPTION_INVALID: {
    status: 400,
    message: 'A pool of workers with {option} {value}.',
    hint: 'Give a whole number of {option} >= {least}.',
  },
  TASK_NOT_PORTABLE: {
    status: 400,
    message: 'What {task} needs cannot be sent to a worker thread: {problem}',
    hint: 'Snapshots of models and policies hold plain data and typed arrays only.',
  },
  JOURNAL_MISMATCH: {
    status: 409,
    message: 'The journal in "{path}" belongs to another job: {differences} differ.',
    hint: 'Give each job a folder of its own, or delete this one to start the job anew.',
  },
  JOURNAL_CORRUPT: {
    status: 422,
    message: 'The journal "{path}" is damaged at byte {offset}: {problem}',
    hint: 'Its finished chunks before that byte are intact; restore the file from a copy, or delete it to dream the job anew.',
  },
  EXPORT_INVALID: { status: 400, message: 'Cannot export: {problem}', hint: '{hint}' },
  EXPORT_EXISTS: {
    status: 409,
    message: 'There is already something at "{path}".',
    hint: 'Export into a new folder or file name, or remove that one first.',
  },
  // quality of datasets
  QUALITY_FILE_UNREADABLE: {
    status: 404,
    message: 'Cannot read "{path}", which must not leak into the dataset: {problem}',
    hint: 'Give the path of a text file in quality.decontaminate.files, or take it out.',
  },
} as const satisfies Record<string, ErrorEntry>;
