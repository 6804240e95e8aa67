// As what a domain of tools is lived: as it is, or through the face of another kind.

import type { Environment } from '../core/environment.js';
import type { Kind } from '../core/kind.js';
import type { ToolsDomain } from '../env/tools/domain.js';
import type { ToolsEpisodeEnvironment } from '../env/tools/tools-environment.js';
import { kinds } from './registry.js';
import { toolsKind } from './tools/kind.js';

/** The kind as which episodes of the domain are lived. */
export function kindOfDomain(domain: ToolsDomain): Kind {
  return kinds.list().find(({ view }) => view?.of(domain as never)) ?? toolsKind;
}

/** Environments of the domain, made of those of its tools. */
export function viewOf(domain: ToolsDomain, make: () => ToolsEpisodeEnvironment): () => Environment {
  const { view } = kindOfDomain(domain);
  return view === undefined ? make : () => view.make(make() as never);
}
