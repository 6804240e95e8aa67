// What a recipe of episodes is: it stands between who acts and the environment, and decides what of it is worth learning.

import type { z } from 'zod';
import type { ToolsDomain, ToolsPolicy } from '../../../env/index.js';

export interface EpisodeRecipe<Schema extends z.ZodObject> {
  /** The section `synth.recipe`; its `kind` is the recipe's name. */
  readonly schema: Schema;
  /** Who acts, with what the recipe adds. */
  agent(inner: ToolsPolicy, settings: z.output<Schema>, domain: ToolsDomain): ToolsPolicy;
}

/** As it stands, with the types of its settings. */
export function defineRecipe<Schema extends z.ZodObject>(recipe: EpisodeRecipe<Schema>): EpisodeRecipe<Schema> {
  return recipe;
}
