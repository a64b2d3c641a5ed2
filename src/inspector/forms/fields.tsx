// inspector/forms: the fields of a form, with what was typed and what was wrong with it.
import type { Child, FC, PropsWithChildren } from 'hono/jsx'
import { getOwn } from '../../model/json/value.ts'
import type { Refusal } from '../routes.tsx'
import { faint } from '../parts/blocks.tsx'
import { emptyBoxOf, fieldNameOf, pointerOf, type Control } from './controls.ts'

interface FieldProps {
  readonly id: string
  readonly label: string
  readonly hint?: string
  readonly isRequired?: boolean
  /** Pointer to its value in the request; faults within it are shown beside the field. */
  readonly pointer: string
  readonly refusal: Refusal | null
  /** What is typed or chosen in, with these attributes. */
  readonly control: (attributes: object) => Child
}

export const Field: FC<PropsWithChildren<FieldProps>> = ({
  id,
  label,
  hint = '',
  isRequired = false,
  pointer,
  refusal,
  control,
  children,
}) => {
  const faults = refusal?.errors.filter((error) => isWithin(error.pointer, pointer)) ?? []
  const isWrong = faults.length > 0
  const described = [hint !== '' && `${id}-hint`, isWrong && `${id}-wrong`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <div class="row">
        <label for={id}>{label}</label>
        {isRequired && <small>required</small>}
      </div>
      {control({
        id,
        'aria-required': isRequired,
        'aria-invalid': isWrong,
        'aria-describedby': described || undefined,
      })}
      {hint !== '' && <small id={`${id}-hint`}>{hint}</small>}
      {children}
      {isWrong && (
        <span class="wrong" id={`${id}-wrong`}>
          {faults.map((fault) => `${fault.pointer.slice(pointer.length + 1)} ${fault.detail}`.trim()).join('; ')}
        </span>
      )}
    </div>
  )
}

const isWithin = (pointer: string, outer: string) => pointer === outer || pointer.startsWith(`${outer}/`)

/** What was typed in a field of a form that was refused. */
export const typedIn = (refusal: Refusal | null, name: string): string => refusal?.values.get(name)?.[0] ?? ''

export const checkBox = (name: string, label: string, refusal: Refusal | null) => (
  <label class="row">
    <input type="checkbox" name={name} checked={refusal?.values.has(name) ?? false} /> {label}
  </label>
)

interface OptionsProps {
  readonly values: readonly string[]
  readonly selected: string
  /** What values are called, where it isn't their own text. */
  readonly texts?: { readonly [value: string]: string } | undefined
  /** What the empty text stands for. */
  readonly empty?: string
}

export const Options: FC<OptionsProps> = ({ values, selected, texts = {}, empty = '–' }) => (
  <>
    <option value="">{empty}</option>
    {values.map((value) => (
      <option value={value} selected={value === selected}>
        {getOwn(texts, value) ?? value}
      </option>
    ))}
  </>
)

/** Fields of one form. */
const MAX_FIELDS = 200

/** The fields of an input, and what was refused. `prefix`: makes ids of fields unique on the page. */
export const inputFields = (controls: readonly Control[], refusal: Refusal | null, prefix: string) => (
  <>
    {refusalNotice(
      refusal,
      controls.map(({ name }) => pointerOf(name)),
    )}
    {controls.slice(0, MAX_FIELDS).map((control, index) => (
      <Field
        id={`${prefix}-${index}`}
        label={control.name}
        hint={[control.description, control.initial !== null && `${control.initial} if left empty`]
          .filter(Boolean)
          .join('; ')}
        isRequired={control.isRequired}
        pointer={pointerOf(control.name)}
        refusal={refusal}
        control={(attributes) => input(control, refusal, { ...attributes, name: fieldNameOf(control.name) })}
      >
        {control.takesEmpty && checkBox(emptyBoxOf(control.name), 'empty text', refusal)}
      </Field>
    ))}
    {controls.length > MAX_FIELDS &&
      faint(`${controls.length - MAX_FIELDS} more inputs are left out here: the API takes them.`)}
  </>
)

/** Lines of a text area. */
const MAX_ROWS = 16

function input({ name, kind, choices, skeleton, isRequired }: Control, refusal: Refusal | null, attributes: object) {
  // What must be given begins with what it looks like; what may be left out stays empty, which means that it is.
  const value = refusal ? typedIn(refusal, fieldNameOf(name)) : (isRequired && skeleton) || ''
  if (kind === 'json')
    return (
      <textarea
        {...attributes}
        spellcheck={false}
        placeholder={skeleton ?? 'JSON'}
        rows={skeleton === null ? undefined : Math.min(MAX_ROWS, skeleton.split('\n').length)}
      >
        {value}
      </textarea>
    )
  if (kind === 'choice' || kind === 'flag')
    return (
      <select {...attributes}>
        <Options values={kind === 'flag' ? ['true', 'false'] : choices} selected={value} />
      </select>
    )
  return (
    <input {...attributes} value={value} inputmode={kind === 'number' ? 'decimal' : undefined} autocomplete="off" />
  )
}

/** What was refused. `pointers`: of what is told beside fields. */
export function refusalNotice(refusal: Refusal | null, pointers: readonly string[]) {
  if (!refusal) return null
  const others = refusal.errors.filter(({ pointer }) => !pointers.some((outer) => isWithin(pointer, outer)))
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
