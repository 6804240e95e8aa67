// Who is played by which language model: one for each role, shared where their settings are the same, paid from one budget.

import { resolve } from 'node:path';
import { canonicalJson } from '../../../core/canonical-json.js';
import { reverieError } from '../../../core/errors.js';
import type { LlmRole, ToolsScenarioConfig } from '../../../kinds/tools.js';
import type { Budget } from '../../../llm/budget.js';
import { type LlmConfig, parseLlmConfig } from '../../../llm/config.js';
import type { LanguageModel } from '../../../llm/language-model.js';
import { makeLanguageModel, type ServedModel } from '../../../llm/served-model.js';
import { type ConfigObject, layered } from '../../overrides.js';

export interface CastOptions {
  readonly cacheFolder: string;
  /** Folder that relative paths start from: the scenario's. */
  readonly folder: string;
  readonly budget: Budget;
}

export class ModelCast {
  private readonly models = new Map<string, Promise<ServedModel>>();
  private readonly made: ServedModel[] = [];

  constructor(
    private readonly config: Pick<ToolsScenarioConfig, 'llm' | 'roles' | 'name'>,
    private readonly options: CastOptions,
  ) {}

  get isPresent(): boolean {
    return this.config.llm !== null;
  }

  /** The model of a role. @throws SCENARIO_INVALID if there is none, SETTING_INVALID */
  async model(role: LlmRole): Promise<LanguageModel> {
    const config = this.configOf(role);
    const key = canonicalJson(config);
    const made = this.models.get(key) ?? this.make(config);
    this.models.set(key, made);
    return made;
  }

  /** How the last request to a server failed, while none has succeeded since; undefined where all is well. */
  get trouble(): string | undefined {
    const endpoints = this.made.flatMap((model) => model.stats().endpoints);
    const failing = endpoints.find(({ problem }) => problem !== undefined);
    return failing && `waiting for ${failing.url}: ${failing.problem}`;
  }

  private async make(config: LlmConfig): Promise<ServedModel> {
    const model = await makeLanguageModel(config, this.options);
    this.made.push(model);
    return model;
  }

  /** The model of a role, or undefined in a scenario without language models. */
  async modelIfAny(role: LlmRole): Promise<LanguageModel | undefined> {
    return this.isPresent ? this.model(role) : undefined;
  }

  /** Makes durable the replies that were kept so far. Throws STORAGE_FULL, STORAGE_FAILED. */
  async flush(): Promise<void> {
    for (const made of this.models.values()) await (await made).flush();
  }

  async close(): Promise<void> {
    for (const made of this.models.values()) await (await made).close();
  }

  private configOf(role: LlmRole): LlmConfig {
    const { llm, roles, name } = this.config;
    if (llm === null) {
      const problem = `"llm" is null, but the ${role} needs a language model.`;
      throw reverieError('SCENARIO_INVALID', { path: name, problem });
    }
    const config = parseLlmConfig(layered(llm as unknown as ConfigObject, roles[role] ?? {}) as never);
    if (config.provider !== 'node-llama-cpp') return config;
    return { ...config, modelPath: resolve(this.options.folder, config.modelPath) };
  }
}
