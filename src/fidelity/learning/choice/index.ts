// The learner of worlds of tools.

export { type Choice, ChoiceModel } from './choice-model.js';
export { ChoosingAgent, type Demonstration, type Propose, shownChoices } from './choosing-agent.js';
