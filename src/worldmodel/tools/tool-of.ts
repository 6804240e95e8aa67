// A domain's tool by its name.

import type { ToolSpec, ToolsDomain } from '../../env/tools/domain.js';

export function toolOf(domain: ToolsDomain, name: string): ToolSpec | undefined {
  return domain.tools.find((tool) => tool.name === name);
}
