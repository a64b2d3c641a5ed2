// definitions/expressions: the value of a literal, and of a template's text. Numbers must be decimal. Octal escapes are
// refused, as in strict mode.
import type { Literal, TemplateElement } from 'acorn'
import { ExpressionFault } from './expression.ts'
import { unexpected } from './unexpected.ts'

const DECIMAL = /^(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const OCTAL_ESCAPE = /\\(?:[1-9]|0\d)/

export function literalValue({ value, raw = '', start }: Literal, source: string): string | number | boolean | null {
  if (typeof value === 'string' && OCTAL_ESCAPE.test(raw.replaceAll('\\\\', '__'))) {
    throw new ExpressionFault(`an octal escape in ${raw}`, start)
  }
  if (typeof value === 'number' && !DECIMAL.test(raw))
    throw new ExpressionFault(`'${raw}' is no decimal number,`, start)
  if (typeof value === 'bigint' || value instanceof RegExp || value === undefined) throw unexpected(source, start)
  return value
}

/**
 * The text of a literal part of a template.
 * @throws ExpressionFault for a malformed escape
 */
export function templateText({ value: { cooked, raw }, start }: TemplateElement): string {
  if (typeof cooked === 'string') return cooked
  throw new ExpressionFault(`a malformed escape in '${raw}'`, start)
}
