// The environment behind a URL that is to be judged.

import { ReverieError } from '../core/errors.js';
import { remoteEnvironment } from '../env/remote/remote.js';

/** The environment called as the scenario is, else the server's default one. @throws as `remoteEnvironment` */
export async function judgedEnvironment(url: string, scenario: string): ReturnType<typeof remoteEnvironment> {
  try {
    return await remoteEnvironment(url, { environment: scenario });
  } catch (error) {
    if (!(error instanceof ReverieError && error.code === 'ENV_NOT_SERVED')) throw error;
    return remoteEnvironment(url);
  }
}
