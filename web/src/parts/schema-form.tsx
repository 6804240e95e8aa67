// A form made from the JSON Schema of a tool's arguments. What no field fits is written as JSON.

import { useId, useState } from 'preact/hooks';
import type { WireJson } from '../../../src/serve/page/wire.js';

interface Property {
  readonly type?: string | readonly string[];
  readonly enum?: readonly WireJson[];
  readonly description?: string;
  readonly default?: WireJson;
}

export interface SchemaFormProps {
  readonly schema: WireJson;
  readonly submit: string;
  readonly disabled: boolean;
  readonly onSubmit: (value: Record<string, WireJson>) => void;
}

export function SchemaForm({ schema, submit, disabled, onSubmit }: SchemaFormProps) {
  const { properties, required } = schema as { properties?: Record<string, Property>; required?: readonly string[] };
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState('');
  const id = useId();
  const entries = Object.entries(properties ?? {});
  const send = (event: Event) => {
    event.preventDefault();
    const read = entries.map(([name, property]) => [name, givenIn(property, texts[name] ?? '')] as const);
    const wrong = read.find(([, value]) => value instanceof Error);
    setProblem(wrong === undefined ? '' : `${wrong[0]}: ${(wrong[1] as Error).message}`);
    if (wrong !== undefined) return;
    const given = read.filter(([, value]) => value !== undefined) as [string, WireJson][];
    onSubmit(Object.fromEntries(given));
    setTexts({});
  };
  return (
    <form class="fields" onSubmit={send}>
      {entries.map(([name, property]) => (
        <label key={name} for={`${id}-${name}`}>
          <span>
            <code>{name}</code> {required?.includes(name) ? null : <small>optional</small>}
          </span>
          <Field
            id={`${id}-${name}`}
            name={name}
            property={property}
            required={required?.includes(name) ?? false}
            text={texts[name] ?? ''}
            onText={(text) => setTexts({ ...texts, [name]: text })}
          />
          {property.description === undefined ? null : <small>{property.description}</small>}
        </label>
      ))}
      {problem === '' ? null : (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="main" disabled={disabled}>
        {submit}
      </button>
    </form>
  );
}

interface FieldProps {
  readonly id: string;
  readonly name: string;
  readonly property: Property;
  readonly required: boolean;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function Field({ id, name, property, required, text, onText }: FieldProps) {
  const choices = property.enum ?? (typeOf(property) === 'boolean' ? [true, false] : undefined);
  const common = { id, name, required, value: text };
  if (choices !== undefined) {
    return (
      <select {...common} onChange={(event) => onText(event.currentTarget.value)}>
        <option value="">–</option>
        {choices.map((choice) => (
          <option key={String(choice)} value={typeof choice === 'string' ? choice : JSON.stringify(choice)}>
            {String(choice)}
          </option>
        ))}
      </select>
    );
  }
  const type = typeOf(property);
  if (type === 'array' || type === 'object') {
    return (
      <textarea
        {...common}
        rows={2}
        placeholder={type === 'array' ? '[ … ] as JSON' : '{ … } as JSON'}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    );
  }
  const onInput = (event: { currentTarget: HTMLInputElement }) => onText(event.currentTarget.value);
  if (type === 'number' || type === 'integer') {
    return <input {...common} type="number" step={type === 'integer' ? 1 : 'any'} onInput={onInput} />;
  }
  return <input {...common} autocomplete="off" onInput={onInput} />;
}

function typeOf({ type }: Property): string | undefined {
  return typeof type === 'string' || type === undefined ? type : type.find((one) => one !== 'null');
}

/** undefined: not given. */
function givenIn(property: Property, text: string): WireJson | Error | undefined {
  if (text === '') return undefined;
  const isChoice = property.enum?.some((choice) => choice === text) ?? false;
  const type = typeOf(property);
  if (isChoice || type === 'string' || (type === undefined && property.enum === undefined && !/^[[{]/.test(text)))
    return text;
  try {
    return JSON.parse(text) as WireJson;
  } catch (error) {
    return error as Error;
  }
}
