// Names and values, one below the other.

import { Fragment } from 'preact';

export function Facts({ facts }: { facts: readonly (readonly [name: string, value: preact.ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
