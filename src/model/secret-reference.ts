// model: how a definition refers to a secret: `$secrets.NAME`; and the arguments of a step that refer to secrets, as they
// are stored. A text with secrets is taken out of the arguments, and stands, in parts, in a list under the name
// `$secrets`. No user's data can be mistaken for it: no line of a definition that refers to secrets can write an argument
// of that name, and only the arguments of such a definition are read this way.
import { getOwn, isObject, setOwn, type Json, type JsonObject } from './json/value.ts'

/** The name under which expressions see the secrets. */
export const SECRETS = '$secrets'

const NAME = /^[A-Z][A-Z0-9_]*$/

/** Why the text can't name a secret; null: it can. */
export function secretNameFault(name: string): string | null {
  if (!NAME.test(name)) return `"${name}" is no name of a secret: it is made of capital letters, digits and _`
  return name.endsWith('_FILE') ? `"${name}" is no name of a secret: none ends in _FILE` : null
}

/** Source of a pattern: a reference whose name is one of a secret. */
export const SECRET_REFERENCE_PATTERN = '^\\$secrets\\.(?!\\w*_FILE$)[A-Z][A-Z0-9_]*$'

/** NAME of a text that is `$secrets.NAME` and nothing else; null for any other text. */
export const referredSecret = (text: string): string | null => /^\$secrets\.(\w+)$/.exec(text)?.[1] ?? null

/** What stands for secrets while lines are run, until `storeReferences`. */
export interface SecretMarks {
  /** The value of the name `$secrets`: a mark for each secret. */
  readonly values: JsonObject
  readonly mark: string
}

/**
 * Marks for secrets.
 *
 * @param random drawn after all data that the lines can read was there, so that no data contains it
 */
export function marksOf(names: readonly string[], random: string): SecretMarks {
  const values: JsonObject = {}
  for (const name of names) setOwn(values, name, `<${random}:${name}>`)
  return { values, mark: random }
}

/** The arguments as they are stored: without marks. */
export function storeReferences(args: JsonObject, { mark }: SecretMarks): JsonObject {
  const found: Json[] = []
  const marked = new RegExp(`<${mark}:(\\w+)>`)
  const visit = (value: Json, at: readonly string[]): Json => {
    if (typeof value === 'string') {
      // Every other part is the name of a secret.
      const parts = value.split(marked)
      if (parts.length === 1) return value
      found.push({ at: [...at], text: parts })
      return ''
    }
    if (Array.isArray(value)) return value.map((item: Json, index) => visit(item, [...at, String(index)]))
    return isObject(value) ? fields(value, at) : value
  }
  const fields = (value: JsonObject, at: readonly string[]): JsonObject => {
    const copy: JsonObject = {}
    for (const [key, item] of Object.entries(value)) setOwn(copy, key, visit(item, [...at, key]))
    return copy
  }
  const plain = fields(args, [])
  return { ...plain, [SECRETS]: found }
}

/**
 * A copy of stored arguments with the values of the secrets.
 *
 * @throws Error when a secret is missing; its message names the secret
 */
export function argumentsWithSecrets(stored: JsonObject, get: (name: string) => string | null): JsonObject {
  const { [SECRETS]: list = [], ...plain } = stored
  const args = structuredClone(plain)
  for (const reference of Array.isArray(list) ? list : []) {
    const { at = [], text = [] } = isObject(reference) ? reference : {}
    const [path, parts] = [textsOf(at), textsOf(text)]
    const value = parts.map((part, index) => (index % 2 === 0 ? part : secret(part, get))).join('')
    place(args, path, value)
  }
  return args
}

function secret(name: string, get: (name: string) => string | null): string {
  const value = get(name)
  if (value === null) throw new MissingSecret(`there is no secret ${name}`)
  return value
}

class MissingSecret extends Error {
  override readonly name = 'MissingSecret'
}

function place(args: JsonObject, path: readonly string[], value: string): void {
  let at: Json | undefined = args
  for (const key of path.slice(0, -1)) at = Array.isArray(at) ? at[Number(key)] : isObject(at) ? getOwn(at, key) : at
  const last = path.at(-1) ?? ''
  if (Array.isArray(at)) at[Number(last)] = value
  else if (isObject(at)) setOwn(at, last, value)
}

const textsOf = (list: Json): string[] =>
  Array.isArray(list) ? list.filter((part: Json) => typeof part === 'string') : []
