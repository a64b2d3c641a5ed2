// model: how a definition refers to a secret: `$secrets.NAME`.

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
