import { describe, expect, it } from 'vitest';
import { actionLine, parseAction, SCREEN_ACTIONS } from '../../src/env/screens/screen-actions.js';

describe('a line as an action', () => {
  it.each([
    ["click('12')", { name: 'click', arguments: { bid: '12' } }],
    ["fill('7', 'it\\'s \\\"so\\\"\\n')", { name: 'fill', arguments: { bid: '7', value: 'it\'s "so"\n' } }],
    ["fill(value='b, (c)', bid='7')", { name: 'fill', arguments: { bid: '7', value: 'b, (c)' } }],
    ["fill('7', value=\"it's\")", { name: 'fill', arguments: { bid: '7', value: "it's" } }],
    ["select_option('3', ['a', 'b'])", { name: 'select_option', arguments: { bid: '3', options: ['a', 'b'] } }],
    ['scroll(0, -120.5)', { name: 'scroll', arguments: { delta_x: 0, delta_y: -120.5 } }],
    ["send_msg_to_user('a; (b)')", { name: 'send_msg_to_user', arguments: { text: 'a; (b)' } }],
    ['noop(500)', { name: 'noop', arguments: { wait_ms: 500 } }],
  ])('reads %s', (line, call) => {
    expect(parseAction(line, SCREEN_ACTIONS)).toEqual(call);
    expect(parseAction(actionLine(call as never), SCREEN_ACTIONS)).toEqual(call);
  });

  it.each([
    ['I click the button', /written like click\('12'\)/],
    ["klick('1')", /unknown action "klick"; there are: noop, click/],
    ['click(twelve)', /texts stand in quotes/],
    ["click('12)", /texts stand in quotes/],
    ['click()', /click needs bid/],
    ["fill('7')", /fill needs value/],
    ["click('1', 'x')", /takes 1 arguments at most: bid/],
    ["click(id='1')", /has no argument "id"; it has: bid/],
    ["fill('1', bid='2')", /given twice/],
    ["click('1'); click('2')", /cannot be read at "\); click\('2'": a turn is one action/],
  ])('says what is wrong with %s', (line, problem) => {
    expect(parseAction(line, SCREEN_ACTIONS)).toMatch(problem);
  });
});
