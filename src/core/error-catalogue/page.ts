// Errors of the page: runs that are looked at, and the page itself.

import type { ErrorEntry } from './error-entry.js';

export const PAGE_ERRORS = {
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
