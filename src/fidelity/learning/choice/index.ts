// The learner of worlds of tools.

export {
  type Choice,
  ChoiceModel,
  ChoosingAgent,
  type Demonstration,
  type Propose,
  shownChoices,
} from './choosing-agent.js';
