// http: reads the query of a URL. Unlike URLSearchParams, it refuses malformed input instead of repairing it.
import { fieldText } from '../../api/call.ts'
import { malformed } from '../../model/failure.ts'
import { unknownFields } from '../../model/unknown-fields.ts'
import type { CallFields, Field, FieldsByName } from './call-fields.ts'
import { formFieldsOf } from './form.ts'

/**
 * The parameters of the URL. A list may be repeated, or separated by commas.
 * @param known left out: there are none
 * @throws FluxError `malformed` for an escape that is invalid or not UTF-8, a list without a value, and a parameter
 * that is repeated without being a list, or not known
 */
export function readQuery(url: string, known: FieldsByName = new Map()): CallFields {
  const query: CallFields = {}
  const start = url.indexOf('?')
  if (start === -1) return query
  const end = url.indexOf('#', start)
  const given = formFieldsOf(url.slice(start + 1, end === -1 ? undefined : end))
  const refusal = unknownFields([...given.keys()], known, 'parameter')
  if (refusal) throw refusal
  for (const [name, texts] of given) query[name] = valueOf(name, texts, known.get(name))
  return query
}

function valueOf(name: string, texts: readonly string[], field: Field | undefined): unknown {
  const type = field?.type
  const [first = '', ...more] = texts
  if (type !== 'array' && more.length === 0) return fieldText(first, type)
  // The elements of a list are a set, and repeated ones cost work.
  const values =
    type !== 'array' ? [] : [...new Set(field?.isSeparated ? texts.flatMap((text) => text.split(',')) : texts)]
  if (values.some((text) => text !== '')) return values
  if (type === 'array') throw malformed(`${name} has no value`)
  throw malformed(`${name} must be given once`, [{ pointer: `/${name}`, detail: 'must be given once' }])
}
