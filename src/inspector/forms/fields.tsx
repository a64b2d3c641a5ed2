// inspector/forms: the fields of an input, with what was typed and what was wrong with it.
import type { FC } from 'hono/jsx'
import type { FieldError } from '../../model/failure.ts'
import type { FormValues } from '../host.ts'
import { emptyBoxOf, fieldNameOf, pointerOf, type Control } from './controls.ts'

/** A form that was sent and refused. */
export interface Refusal {
  readonly values: FormValues
  readonly detail: string
  readonly errors: readonly FieldError[]
}

/** Fields of one form. */
const MAX_FIELDS = 200
/** Lines of a text area. */
const MAX_ROWS = 16

export const InputFields: FC<{
  readonly controls: readonly Control[]
  readonly refusal: Refusal | null
  /** Makes ids of fields unique on the page. */
  readonly prefix: string
}> = ({ controls, refusal, prefix }) => (
  <>
    {controls.slice(0, MAX_FIELDS).map((control, index) => (
      <Field control={control} refusal={refusal} id={`${prefix}-${index}`} />
    ))}
    {controls.length > MAX_FIELDS && (
      <p class="faint">{`${controls.length - MAX_FIELDS} more inputs are left out here: the API takes them.`}</p>
    )}
  </>
)

const Field: FC<{ readonly control: Control; readonly refusal: Refusal | null; readonly id: string }> = ({
  control,
  refusal,
  id,
}) => {
  const { name, isRequired, description, initial, takesEmpty, skeleton } = control
  const pointer = pointerOf(name)
  const wrong = refusal?.errors.filter((error) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`))
  // What must be given begins with what it looks like; what may be left out stays empty, which means that it is.
  const value = refusal ? (refusal.values.get(fieldNameOf(name))?.[0] ?? '') : isRequired ? (skeleton ?? '') : ''
  const hints = [description, initial === null ? null : `${initial} if left empty`].filter(Boolean).join('; ')
  const describedBy = [hints !== '' && `${id}-hint`, wrong?.length && `${id}-wrong`].filter(Boolean).join(' ')
  const common = {
    id,
    name: fieldNameOf(name),
    'aria-required': isRequired,
    'aria-invalid': Boolean(wrong?.length),
    'aria-describedby': describedBy === '' ? undefined : describedBy,
  }
  return (
    <div class="field">
      <div class="row">
        <label for={id}>{name}</label>
        {isRequired && <small>required</small>}
      </div>
      <Input control={control} value={value} common={common} />
      {hints !== '' && <small id={`${id}-hint`}>{hints}</small>}
      {takesEmpty && (
        <label class="row faint">
          <input type="checkbox" name={emptyBoxOf(name)} checked={refusal?.values.has(emptyBoxOf(name)) ?? false} />{' '}
          empty text
        </label>
      )}
      {wrong !== undefined && wrong.length > 0 && (
        <span class="wrong" id={`${id}-wrong`}>
          {wrong.map(({ pointer: place, detail }) => `${place.slice(pointer.length + 1)} ${detail}`.trim()).join('; ')}
        </span>
      )}
    </div>
  )
}

const Input: FC<{ readonly control: Control; readonly value: string; readonly common: object }> = ({
  control: { kind, choices, skeleton },
  value,
  common,
}) => {
  if (kind === 'json')
    return (
      <textarea
        {...common}
        spellcheck={false}
        placeholder={skeleton ?? 'JSON'}
        rows={skeleton === null ? undefined : Math.min(MAX_ROWS, skeleton.split('\n').length)}
      >
        {value}
      </textarea>
    )
  if (kind === 'choice' || kind === 'flag') {
    const options = kind === 'flag' ? ['true', 'false'] : choices
    return (
      <select {...common}>
        <option value="">–</option>
        {options.map((option) => (
          <option value={option} selected={option === value}>
            {option}
          </option>
        ))}
      </select>
    )
  }
  return <input {...common} value={value} inputmode={kind === 'number' ? 'decimal' : undefined} autocomplete="off" />
}

/** What was refused, and of which fields without a place in the form. */
export const RefusalNotice: FC<{
  readonly refusal: Refusal | null
  readonly controls: readonly Control[]
  /** Further pointers whose faults are told beside their fields. */
  readonly places?: readonly string[]
}> = ({ refusal, controls, places = [] }) => {
  if (!refusal) return null
  const own = [...controls.map(({ name }) => pointerOf(name)), ...places]
  const others = refusal.errors.filter(
    ({ pointer }) => !own.some((place) => pointer === place || pointer.startsWith(`${place}/`)),
  )
  return (
    <div class="notice bad" role="alert">
      <p>{refusal.detail}</p>
      {others.length > 0 && (
        <ul>
          {others.map(({ pointer, detail }) => (
            <li>
              <code>{pointer}</code> {detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
