// model: the header `Authorization`.

/**
 * What follows the name of the authentication scheme, which is not case-sensitive; null if it is another one.
 * @param scheme in lower case
 */
export function credentialsOf(value: string, scheme: string): string | null {
  const space = value.indexOf(' ')
  return space !== -1 && value.slice(0, space).toLowerCase() === scheme ? value.slice(space).replace(/^ +/, '') : null
}
