// Errors of rewards and tasks: judges, their audits, the must-fail suite, curricula.

import type { ErrorEntry } from './error-entry.js';

export const JUDGEMENT_ERRORS = {
  // reward: judges, their audits, and the must-fail suite
  LABEL_INVALID: {
    status: 422,
    message: 'Labelled episodes "{path}", {where}: {problem}.',
    hint: 'Give JSON lines {"id", "task", "messages", "success": true or false, "reason"} of tasks of the domain.',
  },
  AUDIT_INVALID: {
    status: 422,
    message: 'The judge audit "{path}" cannot be used: {problem}.',
    hint: 'Make the audit anew; its file is not to be edited.',
  },
  JUDGE_UNAUDITED: {
    status: 409,
    message: 'Judge {judge} may give no reward on "{domain}": {problem}.',
    hint: 'Audit exactly this judge on labelled episodes of this domain, or train on what exact checks decide.',
  },
  JUDGE_UNRELIABLE: {
    status: 409,
    message: 'Judge {judge} is not good enough on "{domain}": {faults}.',
    hint: 'Use a better model or more votes, label more episodes (few prove little), or sharpen the rubrics.',
  },
  MUST_FAIL_INVALID: {
    status: 422,
    message: 'Probes "{path}": {problem}.',
    hint: 'See docs/domains.md for the keys of a probe.',
  },
  SIMULATOR_UNSOUND: {
    status: 409,
    message:
      'The simulator of "{domain}" passed {passed} of {total} probes that must fail to please it ({share} %, needed {limit} %): {failures}.',
    hint: 'Use a better model or more exact rules; until then its episodes are given no reward.',
  },
  SIMULATOR_USELESS: {
    status: 409,
    message:
      'The simulator of "{domain}" did {passed} of {total} things that are possible ({share} %, needed {limit} %; {faults}): {failures}.',
    hint: 'Look at its replies (cut off? refused? untrue?): raise `llm.maxTokens`, use a better model or more exact rules. Until then its episodes are given no reward, and no dataset is written; `reward.mustSucceed.enabled=false` writes them all the same.',
  },
  REWARD_HACKED: {
    status: 409,
    message:
      'Rewards of "{domain}" can be had for nothing: in {tricks} of {tasks} tasks the {by} gave reward where exact checks find nothing earned; in "{task}" an agent {moves}.',
    hint: 'Read the trick in report.html; give the task exact checks beside its rubric, use a better judge or more exact rules. Until then no reward is given and no dataset is written; `reward.hacker.enabled=false` does not look for tricks.',
  },
  // tasks and curricula
  ADMISSION_NEEDS_ANSWERS: {
    status: 400,
    message: 'Domain "{domain}" has no rules to play new tasks by, and nobody else was named who answers calls.',
    hint: 'Give the domain rules, or a world model that answers in their place.',
  },
  VARIATION_NEEDS_MODEL: {
    status: 400,
    message: 'Strategy "{strategy}" writes tasks with a language model, and none was given.',
    hint: 'Name a language model, or use the strategies entity-swap, compose and persona alone.',
  },
  CURRICULUM_INVALID: {
    status: 400,
    message: 'Curriculum: {problem}.',
    hint: 'Give each task an id of its own and each row one outcome; scores answer finite numbers.',
  },
  CURRICULUM_NOT_READY: {
    status: 409,
    message:
      'Row {row} cannot pick a task yet: it sees the outcomes of {needed} rows, and the first {complete} are in.',
    hint: 'Ask ready(row) first, or raise the lag so that rows wait for fewer.',
  },
} as const satisfies Record<string, ErrorEntry>;
