// inspector/forms: what a retry may be told, of one context or of many: the state, its inputs, the definition, the key.
import { invalid } from '../../model/failure.ts'
import { isObject, type JsonObject } from '../../model/json/value.ts'
import type { Refusal, SentForm } from '../routes.tsx'
import { jsonOf } from './controls.ts'
import { checkBox, Field, Options, typedIn } from './fields.tsx'

/** Pointers of faults that are told beside the fields. */
export const RETRY_POINTERS = ['/state', '/input']

/** What was chosen; nothing for what was left empty. @throws FluxError `invalid` for inputs that are no JSON */
export const retryOptionsOf = ({ text, values }: SentForm) => ({
  ...(text('state') !== '' && { state: text('state') }),
  ...inputsOf(text('inputs')),
  ...(values.has('current') && { definition: 'current' as const }),
  ...(values.has('newKey') && { newKey: true }),
})

/** A whole input as the field `input`; no field: it is empty. @throws FluxError `invalid` for what is no object */
export function inputsOf(text: string): { readonly input?: JsonObject } {
  if (text.trim() === '') return {}
  const input = jsonOf(text)
  if (isObject(input)) return { input }
  throw invalid('the input can not be read', [{ pointer: '/input', detail: 'must be a JSON object' }])
}

/** @param states those that can be entered; none: not known, so that one is typed */
export const retryFields = (states: readonly string[], refusal: Refusal | null) => (
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
    {inputsField('Inputs of that state', refusal)}
    {checkBox('current', 'with the definition that is loaded now', refusal)}
    {checkBox('newKey', 'with another stepKey', refusal)}
  </>
)

/** JSON of a whole input. */
export const inputsField = (label: string, refusal: Refusal | null) => (
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
