// engine/record: estimates the length of the JSON text of a value without encoding it. The work is bounded by the
// limit, not by the value.

/** Approximate number of characters of the JSON text. Counting stops beyond the limit. */
export function sizeOf(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let size = 2
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && size <= limit; at += 1) size += 1 + sizeOf(value[at], limit - size)
    return size
  }
  for (const key of Object.keys(value)) {
    size += key.length + 4 + sizeOf(Reflect.get(value, key), limit - size)
    if (size > limit) break
  }
  return size
}
