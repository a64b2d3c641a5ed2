// model: the key of a context: a text of its user's, which finds it again.

/** Bytes of UTF-8. */
export const MAX_KEY_BYTES = 256

/** Why a text can't be a key; null if it can. Keys are compared byte by byte, so each must have bytes of its own. */
export function keyFault(key: string): string | null {
  if (key === '') return 'must not be empty'
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `must not be longer than ${MAX_KEY_BYTES} bytes`
  return key.isWellFormed() ? null : 'must be well-formed Unicode'
}
