// http: encodes data as JSON text in pieces, so that other requests are served in between.
import { isObject } from '../../../model/json/value.ts'
import { sizeOf } from '../../../model/json/weight.ts'
import { gathered, PIECE_CHARACTERS, slices, type TextPieces } from './pieces.ts'

/**
 * The JSON text of a value, as `JSON.stringify` writes it. Small data is one piece; otherwise each piece is made when
 * it is asked for.
 */
export const jsonPieces = (value: unknown): TextPieces =>
  isSmall(value) ? [JSON.stringify(value) ?? 'null'].values() : gathered(textsOf(value))

const isSmall = (value: unknown): boolean => sizeOf(value, PIECE_CHARACTERS) <= PIECE_CHARACTERS

/** Small data is one text. Of a large list or object, each item has its own. */
function* textsOf(value: unknown): Generator<string, void> {
  if (isSmall(value)) yield JSON.stringify(value) ?? 'null'
  else if (typeof value === 'string') {
    yield '"'
    for (const slice of slices(value)) yield JSON.stringify(slice).slice(1, -1)
    yield '"'
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield index === 0 ? '[' : ','
      yield* textsOf(item)
    }
    yield ']'
  } else if (isObject(value)) {
    let before = '{'
    for (const name of Object.keys(value)) {
      const item = value[name]
      if (item === undefined) continue
      yield `${before}${JSON.stringify(name)}:`
      yield* textsOf(item)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }
}
