// inspector/forms: what a retry may be told, of one context or of many: the state, its inputs, the definition, the key.
import type { FC } from 'hono/jsx'
import { invalid } from '../../model/failure.ts'
import { isObject, type JsonObject } from '../../model/json/value.ts'
import type { Refusal, SentForm } from '../routes.tsx'
import { jsonOf } from './controls.ts'
import { CheckBox, Field, Options, typedIn } from './fields.tsx'

/** Pointers of faults that are told beside the fields. */
export const RETRY_POINTERS = ['/state', '/input']

/** What was chosen; nothing for what was left empty. @throws FluxError `invalid` for inputs that are no JSON */
export function retryOptionsOf({ text, values }: SentForm) {
  const input = inputsOf(text('inputs'))
  return {
    ...(text('state') !== '' && { state: text('state') }),
    ...(input && { input }),
    ...(values.has('current') && { definition: 'current' as const }),
    ...(values.has('newKey') && { newKey: true }),
  }
}

/** A whole input; undefined: it is empty. @throws FluxError `invalid` for what is no object */
export function inputsOf(text: string): JsonObject | undefined {
  if (text.trim() === '') return undefined
  const value = jsonOf(text)
  if (isObject(value)) return value
  throw invalid('the input can not be read', [{ pointer: '/input', detail: 'must be a JSON object' }])
}

interface RetryFieldsProps {
  /** Those that can be entered; none: not known, so that one is typed. */
  readonly states: readonly string[]
  readonly refusal: Refusal | null
}

export const RetryFields: FC<RetryFieldsProps> = ({ states, refusal }) => (
  <>
    <Field
      id="retry-state"
      label="Enter a state"
      pointer="/state"
      refusal={refusal}
      control={(attributes) =>
        states.length === 0 ? (
          <input name="state" value={typedIn(refusal, 'state')} autocomplete="off" {...attributes} />
        ) : (
          <select name="state" {...attributes}>
            <Options values={states} selected={typedIn(refusal, 'state')} empty="where it stands" />
          </select>
        )
      }
    />
    <InputsField label="Inputs of that state" refusal={refusal} />
    <CheckBox name="current" refusal={refusal} label="with the definition that is loaded now" />
    <CheckBox name="newKey" refusal={refusal} label="with another stepKey" />
  </>
)

/** JSON of a whole input. */
export const InputsField: FC<{ readonly label: string; readonly refusal: Refusal | null }> = ({ label, refusal }) => (
  <Field
    id="retry-input"
    label={label}
    pointer="/input"
    refusal={refusal}
    control={(attributes) => (
      <textarea name="inputs" spellcheck={false} placeholder="JSON" {...attributes}>
        {typedIn(refusal, 'inputs')}
      </textarea>
    )}
  />
)
