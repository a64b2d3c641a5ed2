// engine/idempotency: the hash by which contents under a key are distinguished: that of their JSON text with sorted names.
import { createHash } from 'node:crypto'

/**
 * The same for contents of plain data that differ only in the order of names, and in what is undefined. Stored: it must
 * stay the same for ever.
 */
export const contentHashOf = (content: object): string => createHash('sha256').update(sortedText(content)).digest('hex')

/** The recursion is bounded: inputs were copied, which refuses values nested deeper than 200 (`toJson`). */
function sortedText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`
  const members: string[] = []
  for (const name of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, name)
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${sortedText(member)}`)
  }
  return `{${members.join(',')}}`
}
