// From the file of a graph to its domain: the same actions, tree and refusals as of any screen, played without a browser.

import { basename, extname } from 'node:path';
import type { JsonObject } from '../../core/canonical-json.js';
import { contentHash } from '../../core/canonical-json.js';
import { ANSWERS, SCREEN_ACTIONS, type ScreenAction } from '../../env/screens/screen-actions.js';
import type { ToolsDomain } from '../../env/tools/domain.js';
import type { Perturbation } from '../perturbation.js';
import { pageUnknown, playedScreens } from '../screens-domain.js';
import { seededPages } from '../seeded-pages.js';
import { GraphPlayer } from './graph-player.js';
import { readGraph } from './read-graph.js';

export interface GraphDomainOptions {
  /** Tasks by their names; default: all. */
  readonly screens?: readonly string[];
  /** Of each task and split. */
  readonly seeds: number;
  readonly perturb?: Perturbation;
}

/** Changes whenever the same action in the same graph could be answered otherwise. */
const RULES_VERSION = '1';
/** Those for which a page needs no layout, no address and no second tab. */
const OFFERED: readonly ScreenAction[] = [
  ...(['noop', 'click', 'dblclick', 'hover', 'focus', 'fill', 'clear', 'press', 'select_option'] as const),
  ...(['go_back', 'go_forward'] as const),
];

/**
 * @param file absolute path
 * @throws FILE_INVALID, UNKNOWN_KEY, NAME_UNKNOWN
 */
export function graphDomain(file: string, { screens, seeds, perturb }: GraphDomainOptions): ToolsDomain {
  const graph = readGraph(file);
  const names = graph.tasks.map(({ name }) => name);
  const unknown = screens?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw pageUnknown(graph.title, unknown, '', names);
  const pages = seededPages(screens ?? names, seeds, () => ({ file: '' }));
  const asks = graph.tasks.some(({ answer }) => answer !== undefined);
  const actions = SCREEN_ACTIONS.filter((name) => OFFERED.includes(name) || (asks && name === ANSWERS));
  const otherwise = perturb === undefined ? '' : ` ${contentHash(perturb)}`;
  const played = pages.map(({ id, seed }) => ({ id, seed, name: id.slice(0, id.lastIndexOf('.')) }));
  const version = contentHash(graph as unknown as JsonObject);
  const domain = playedScreens({
    id: basename(file, extname(file)),
    pages,
    version,
    policy: graph.policy,
    perturb,
    player: new GraphPlayer(graph, played, file),
    actions,
    rules: `screen-graph ${RULES_VERSION} ${version}${otherwise}`,
  });
  return graph.goalKinds === undefined ? domain : { ...domain, goalKinds: graph.goalKinds };
}
