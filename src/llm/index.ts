// The room of language models: servers and in-process models behind one interface.

export { type BatchLine, type BatchResults, readBatchResults, writeBatchFiles } from './batch.js';
export { Budget, type BudgetLimit, type BudgetLimits, type Reservation } from './budget.js';
export { type LlmConfig, type LlmConfigInput, llmConfigSchema, parseLlmConfig } from './config.js';
export type { EndpointStats, ModelStats } from './counters.js';
export type * from './language-model.js';
export { type LanguageModelOptions, makeLanguageModel } from './make-language-model.js';
export type { ServedModel } from './served-model.js';
export { estimateTokens } from './usage.js';
