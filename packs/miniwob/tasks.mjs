// Tasks whose screens and rewards came out alike in jsdom and in Chromium (`npm run bench -- miniwob.parity`).

export const IN_JSDOM = [
  'choose-list',
  'click-button',
  'click-checkboxes',
  'click-checkboxes-large',
  'click-checkboxes-soft',
  'click-checkboxes-transfer',
  'click-test',
  'click-test-2',
  'click-test-transfer',
  'enter-password',
  'enter-text',
  'enter-text-2',
  'enter-text-dynamic',
  'login-user',
];
