// Recipes of episodes by name: a folder and a line each.

import { z } from 'zod';
import type { ToolsDomain, ToolsPolicy } from '../../../env/index.js';
import { correctionsRecipe } from './corrections/corrections.js';
import { plainRecipe } from './plain.js';
import type { EpisodeRecipe } from './recipe.js';

const recipes = { plain: plainRecipe, corrections: correctionsRecipe };

export const recipeSchema = z
  .discriminatedUnion('kind', [recipes.plain.schema, recipes.corrections.schema])
  .prefault({ kind: 'plain' })
  .describe('What becomes of what the agent would do.');

export type RecipeConfig = z.output<typeof recipeSchema>;

/** The agent as the recipe has it act. */
export function agentOfRecipe(inner: ToolsPolicy, config: RecipeConfig, domain: ToolsDomain): ToolsPolicy {
  // The schema has held the settings against the recipe of that name.
  const recipe: EpisodeRecipe<z.ZodObject> = recipes[config.kind];
  return recipe.agent(inner, config, domain);
}
