// inspector/forms: what a retry may be told, of one context or of many: the state, its inputs, the definition, the key.
import type { FC } from 'hono/jsx'
import type { FluxApi } from '../../api/calls.ts'
import { invalid } from '../../model/failure.ts'
import { isObject, type Json, type JsonObject } from '../../model/json/value.ts'
import type { FormValues } from '../host.ts'
import type { Refusal } from './fields.tsx'

export type RetryOptions = Pick<Parameters<FluxApi['retry']>[0], 'state' | 'input' | 'definition' | 'newKey'>

/** Pointers of faults that are told beside the fields. */
export const RETRY_PLACES = ['/state', '/input', '/with/state', '/with/input']

/** What was chosen; nothing for what was left empty. @throws FluxError `invalid` for inputs that are no JSON */
export function retryOptionsOf(form: FormValues): RetryOptions {
  const state = form.get('state')?.[0] ?? ''
  const input = typedObjectOf(form, 'inputs')
  return {
    ...(state !== '' && { state }),
    ...(input && { input }),
    ...(form.has('current') && { definition: 'current' }),
    ...(form.has('newKey') && { newKey: true }),
  }
}

/** A field of JSON; null: it is empty. @throws FluxError `invalid` for what is no object */
export function typedObjectOf(form: FormValues, name: string): JsonObject | null {
  const text = form.get(name)?.[0] ?? ''
  if (text.trim() === '') return null
  const value = parsedOf(text)
  if (!isObject(value))
    throw invalid('the input can not be read', [{ pointer: '/input', detail: 'must be a JSON object' }])
  return value
}

function parsedOf(text: string): Json {
  try {
    const value: Json = JSON.parse(text)
    return value
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

export const RetryFields: FC<{
  /** Those that can be entered; null: not known, so that one is typed. */
  readonly states: readonly string[] | null
  readonly refusal: Refusal | null
}> = ({ states, refusal }) => {
  const valueOf = (name: string) => refusal?.values.get(name)?.[0] ?? ''
  const state = valueOf('state')
  return (
    <>
      <div class="field">
        <label for="retry-state">Enter a state</label>
        {states === null ? (
          <input id="retry-state" name="state" value={state} autocomplete="off" {...faultOf(refusal, 'state')} />
        ) : (
          <select id="retry-state" name="state" {...faultOf(refusal, 'state')}>
            <option value="">where it stands</option>
            {states.map((name) => (
              <option value={name} selected={name === state}>
                {name}
              </option>
            ))}
          </select>
        )}
        <Fault refusal={refusal} of="state" />
      </div>
      <InputsField label="Inputs of that state" refusal={refusal} />
      <label class="row">
        <input type="checkbox" name="current" checked={refusal?.values.has('current') ?? false} /> with the definition
        that is loaded now
      </label>
      <label class="row">
        <input type="checkbox" name="newKey" checked={refusal?.values.has('newKey') ?? false} /> with another stepKey
      </label>
    </>
  )
}

/** JSON of a whole input. */
export const InputsField: FC<{ readonly label: string; readonly refusal: Refusal | null }> = ({ label, refusal }) => (
  <div class="field">
    <label for="retry-input">{label}</label>
    <textarea id="retry-input" name="inputs" spellcheck={false} placeholder="JSON" {...faultOf(refusal, 'input')}>
      {refusal?.values.get('inputs')?.[0] ?? ''}
    </textarea>
    <Fault refusal={refusal} of="input" />
  </div>
)

/** Of an operation, a place is behind `/with`. */
const isOf = (pointer: string, name: string): boolean => /^(?:\/with)?\/([^/]*)/.exec(pointer)?.[1] === name

const faultsOf = (refusal: Refusal | null, name: string) =>
  refusal?.errors.filter(({ pointer }) => isOf(pointer, name)) ?? []

const faultOf = (refusal: Refusal | null, name: string) =>
  faultsOf(refusal, name).length === 0 ? {} : { 'aria-invalid': true, 'aria-describedby': `retry-${name}-wrong` }

const Fault: FC<{ readonly refusal: Refusal | null; readonly of: string }> = ({ refusal, of }) => {
  const faults = faultsOf(refusal, of)
  if (faults.length === 0) return null
  return (
    <span class="wrong" id={`retry-${of}-wrong`}>
      {faults
        .map(({ pointer, detail }) => `${pointer.replace(/^(?:\/with)?\/[^/]*\/?/, '')} ${detail}`.trim())
        .join('; ')}
    </span>
  )
}

/** Names of the states of a definition; null: it has none that can be read. */
export function statesOf(definition: JsonObject | null): readonly string[] | null {
  const states = definition?.['states']
  if (!Array.isArray(states)) return null
  const names = states
    .map((state) => (isObject(state) ? state['name'] : null))
    .filter((name) => typeof name === 'string')
  return names.length === 0 ? null : names
}
