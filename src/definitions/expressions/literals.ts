// definitions/expressions: the value of a literal. Numbers are decimal, and octal escapes are refused, as in strict
// mode.
import type { Literal } from 'acorn'
import { ExpressionFault } from './expression.ts'
import { unexpected } from './unexpected.ts'

const DECIMAL = /^(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const OCTAL_ESCAPE = /\\(?:[1-9]|0\d)/

export function literalValue({ value, raw = '', start }: Literal, source: string): string | number | boolean | null {
  switch (typeof value) {
    case 'string':
      if (OCTAL_ESCAPE.test(raw.replaceAll('\\\\', '__'))) throw new ExpressionFault(`an octal escape in ${raw}`, start)
      return value
    case 'number':
      if (!DECIMAL.test(raw)) throw new ExpressionFault(`'${raw}' is no decimal number,`, start)
      return value
    case 'boolean': return value
    default:
      if (value === null) return null
      throw unexpected(source, start)
  }
}
