// How far a dream of tools is from the real: instruments for models that answer calls.

export { type AskedOptions, AskedQuestions } from './asked-questions.js';
export { type OneStepOptions, oneStepInstrument } from './one-step.js';
export { patientAnswer, patiently } from './patience.js';
export {
  CHANGE_GROUPS,
  type ChangeGroup,
  changeGroup,
  type DrawOptions,
  drawQuestions,
  questionOf,
  shuffled,
  type ToolsQuestion,
  type TrueAnswer,
} from './question.js';
export { isReadBackRight, isSameObservation, type ReadBack, readBacksOf } from './read-backs.js';
export { askQuestion, type StepOptions, type StepRow } from './step-row.js';
