// AgentGym's servers differ in how they name things: the names of these ways, apart from what each of them is.

export const AGENTGYM_DIALECTS = ['todo', 'textcraft', 'game', 'webshop'] as const;

export type AgentGymDialect = (typeof AGENTGYM_DIALECTS)[number];
