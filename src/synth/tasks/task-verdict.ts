// The verdict on a played task, also where no rules could make the reference's end state: then it is what was played.

import type { JsonObject } from '../../core/canonical-json.js';
import { stateHash } from '../../env/state/state.js';
import type { CheckResult, EpisodeEnd, ToolsDomain, ToolsTask } from '../../env/tools/domain.js';
import { verifyEpisode } from '../../env/tools/verify-episode.js';

/** Checks that need no judge; `referenceState` is the end of the reference as it was played. */
export function checksOf(
  domain: ToolsDomain,
  task: ToolsTask,
  end: EpisodeEnd,
  referenceState: JsonObject,
): readonly CheckResult[] {
  if (domain.rules !== undefined || task.verifier.state === undefined) return verifyEpisode(domain, task, end).checks;
  const { state: _, ...others } = task.verifier;
  const isSame = stateHash(end.finalState) === stateHash(referenceState);
  const reason = isSame ? 'the end state is that of the reference' : 'the end state differs from that of the reference';
  const rest = Object.keys(others).length === 0 ? [] : verifyEpisode(domain, { ...task, verifier: others }, end).checks;
  return [{ name: 'state: reference', passed: isSame, reason }, ...rest];
}
