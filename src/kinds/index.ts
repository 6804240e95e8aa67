// The room of kinds: what differs between worlds of numbers, of tool calls and of text, a folder each. Light: what a kind
// reads, computes or draws is loaded when it is asked for.

import './built-in.js';

export { pluginsKey } from './common-keys.js';
export { DEFAULT_KIND, faceOf, kinds } from './registry.js';
export { isToolsScenario, type ToolsScenario, toolsScenario } from './tools/kind.js';
export type { LlmRole, ToolsScenarioConfig } from './tools/scenario.js';
export { type Scenario, vectorScenario } from './vector/kind.js';
export type { ScenarioConfig } from './vector/scenario.js';
export { kindOfDomain, viewOf } from './views.js';
