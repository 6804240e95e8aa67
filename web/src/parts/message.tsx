// One message of a conversation: who said it, what, and which calls were made with it.

import type { MessageView, ToolCallView } from '../../../src/serve/page/wire.js';
import { jsonText, readable } from './json-text.js';
import { type ScreenContext, ScreenTree, screenIn } from './screen-tree.js';

/** Characters of a message that are shown before one asks for all. */
const LONG = 900;

export function Message({ message, screen = {} }: { message: MessageView; screen?: ScreenContext }) {
  const { role, content, toolCalls, reasoning, name, isError } = message;
  const text = content === null ? '' : role === 'tool' ? readable(content) : content;
  return (
    <div class={`message ${role}${isError ? ' failed' : ''}`}>
      <div class="who">
        {role}
        {name === undefined ? null : <small>{breakable(name)}</small>}
        {isError ? <small class="bad">error</small> : null}
      </div>
      <div class="said">
        {reasoning === undefined ? null : (
          <details class="thoughts">
            <summary>thoughts</summary>
            <p>{reasoning}</p>
          </details>
        )}
        {role === 'system' ? <Folded text={text} label="policy" /> : <Told text={text} screen={screen} />}
        {(toolCalls ?? []).map((call) => (
          <Call key={call.id} call={call} />
        ))}
      </div>
    </div>
  );
}

function Told({ text, screen }: { text: string; screen: ScreenContext }) {
  const found = screenIn(text);
  if (found === undefined) return <Text text={text} />;
  return (
    <>
      <Text text={found.said} />
      <ScreenTree tree={found.tree} {...screen} />
    </>
  );
}

function Text({ text }: { text: string }) {
  if (text === '') return null;
  if (text.length <= LONG) return <p class="text">{text}</p>;
  return (
    <details class="long">
      <summary>
        <p class="text">{text.slice(0, LONG)} …</p>
        <span class="more">all {text.length.toLocaleString('en-US')} characters</span>
      </summary>
      <p class="text">{text}</p>
    </details>
  );
}

function Folded({ text, label }: { text: string; label: string }) {
  const first = text.split('\n').find((line) => line.trim() !== '') ?? '';
  return (
    <details>
      <summary>
        {first.replace(/^#+\s*/, '')} <small>({label})</small>
      </summary>
      <p class="text">{text}</p>
    </details>
  );
}

function Call({ call: { name, arguments: given } }: { call: ToolCallView }) {
  const entries = given !== null && typeof given === 'object' && !Array.isArray(given) ? Object.entries(given) : [];
  return (
    <div class="call">
      <code>{name}</code>
      <dl>
        {entries.map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{typeof value === 'string' ? value : jsonText(value)}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** A name that may be broken after its underscores. */
function breakable(name: string) {
  return name.split(/(?<=_)/).map((part, i) => (i === 0 ? part : [<wbr key={part} />, part]));
}
