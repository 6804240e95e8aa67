// Recipe: the agent acts, and nothing is added.

import { z } from 'zod';
import { defineRecipe } from './recipe.js';

export const plainRecipe = defineRecipe({
  schema: z.strictObject({ kind: z.literal('plain').describe('The agent acts, nothing is added.') }),
  agent: (inner) => inner,
});
