// model: how a definition refers to a secret: `$secrets.NAME`; and the arguments of a step that refer to secrets, as they
// are stored: texts have a mark in the place of each secret, and the argument `$secrets` is what these marks begin with. No
// user's data can be mistaken for a mark, which was drawn after that data was there; nor for that argument: no line of a
// definition that refers to secrets can write one of that name, and only the arguments of such a definition are read
// this way.
import { copyOf, isObject, mapJson, setOwn, type JsonObject } from './json/value.ts'

/** The name under which expressions see the secrets. */
export const SECRETS = '$secrets'

const NAME = /^[A-Z][A-Z0-9_]*$/

/** Why the text can't name a secret; null: it can. */
export function secretNameFault(name: string): string | null {
  if (!NAME.test(name)) return `"${name}" is no name of a secret: it is made of capital letters, digits and _`
  return name.endsWith('_FILE') ? `"${name}" is no name of a secret: none ends in _FILE` : null
}

/** NAME of a text that is `$secrets.NAME` and nothing else; null for any other text. */
export const referredSecret = (text: string): string | null => /^\$secrets\.(\w+)$/.exec(text)?.[1] ?? null

/**
 * The value of the name `$secrets` while lines are run: a mark for each secret.
 *
 * @param random drawn after all data that the lines can read was there, so that no data contains it
 */
export function marksOf(names: readonly string[], random: string): JsonObject {
  const marks: JsonObject = {}
  for (const name of names) setOwn(marks, name, `<${random}:${name}>`)
  return marks
}

/** The arguments as they are stored: with the marks that the lines have written, and what these begin with. */
export const storeReferences = (args: JsonObject, random: string): JsonObject => ({ ...args, [SECRETS]: random })

/**
 * A copy of stored arguments with the values of the secrets.
 *
 * @throws Error when a secret is missing; its message names the secret
 */
export function argumentsWithSecrets(stored: JsonObject, get: (name: string) => string | null): JsonObject {
  const { [SECRETS]: random, ...args } = copyOf(stored)
  const marks = new RegExp(`<${String(random)}:(\\w+)>`, 'g')
  const valueOf = (_: string, name: string): string => {
    const value = get(name)
    if (value === null) throw new MissingSecret(`there is no secret ${name}`)
    return value
  }
  const filled = mapJson(args, (item) => (typeof item === 'string' ? item.replace(marks, valueOf) : item))
  return isObject(filled) ? filled : args
}

class MissingSecret extends Error {
  override readonly name = 'MissingSecret'
}
