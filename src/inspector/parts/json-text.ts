// inspector/parts: the beginning of a value as JSON. It takes time and memory by what is shown, not by what there is.
import type { Json } from '../../model/json/value.ts'

export interface Cut {
  readonly text: string
  /** Whether there is more. */
  readonly isCut: boolean
}

/** At most so many characters of the JSON. `indent`: spaces of each level; 0: all in one line. */
export function jsonText(value: object | Json, max: number, indent = 0): Cut {
  const parts: string[] = []
  let length = 0
  const isFull = () => length > max
  const add = (text: string) => {
    parts.push(text)
    length += text.length
  }
  const entry = (
    value: unknown,
    place: { readonly isFirst: boolean; readonly level: number; readonly name?: string },
  ) => {
    if (!place.isFirst) add(',')
    if (indent > 0) add(`\n${' '.repeat(indent * place.level)}`)
    if (place.name !== undefined) add(`${JSON.stringify(place.name.slice(0, max))}:${indent > 0 ? ' ' : ''}`)
    write(value, place.level)
  }
  const close = (bracket: string, level: number, isEmpty: boolean) =>
    add(isEmpty || indent === 0 ? bracket : `\n${' '.repeat(indent * level)}${bracket}`)
  const write = (value: unknown, level: number): void => {
    if (typeof value === 'string') return add(JSON.stringify(value.slice(0, max + 1)))
    if (typeof value !== 'object' || value === null) return add(JSON.stringify(value) ?? 'null')
    let isFirst = true
    if (Array.isArray(value)) {
      add('[')
      for (const item of value) {
        if (isFull()) return
        entry(item, { isFirst, level: level + 1 })
        isFirst = false
      }
      return close(']', level, isFirst)
    }
    add('{')
    for (const [name, item] of Object.entries(value)) {
      if (isFull()) return
      if (item === undefined) continue
      entry(item, { isFirst, level: level + 1, name })
      isFirst = false
    }
    close('}', level, isFirst)
  }
  write(value, 0)
  const text = parts.join('')
  return { text: text.slice(0, max), isCut: text.length > max }
}
