// definitions: texts with `${…}` in the lines of the Logger: they are templates, as the product's own texts in double
// quotes are.
import { tokTypes } from 'acorn'
import { compileExpression, compileTemplate } from '../expressions/compile.ts'
import { ExpressionError, type Expression } from '../expressions/expression.ts'
import { looksLikeTemplate } from '../expressions/foreign.ts'
import { parse } from '../expressions/parse.ts'
import { faultOfNames, notParsed, type SeenAt } from './names.ts'

/**
 * What stands for a text with placeholders, or for an expression that has such texts in double quotes; null if there is
 * nothing to replace. What can't be replaced is logged as it stands, with a warning, and so is what can't be computed.
 */
export function loggedText(text: string, isExpression: boolean, at: SeenAt): Expression | null {
  if (!looksLikeTemplate(text)) return null
  let plain: Expression | null = null
  try {
    if (isExpression) plain = compileExpression(text)
  } catch {
    // The caller reports it.
    return null
  }
  try {
    const compiled = plain ? compileExpression(withTemplates(text)) : compileTemplate(text)
    if (compiled.source === plain?.source) return null
    const fault = faultOfNames(compiled, at)
    if (fault === null)
      return {
        ...compiled,
        evaluate(scope) {
          try {
            return compiled.evaluate(scope)
          } catch (error) {
            if (error instanceof ExpressionError) return plain ? plain.evaluate(scope) : text
            throw error
          }
        },
      }
    at.report.warn(at.pointer, `logged as it stands: ${fault}`)
  } catch (error) {
    at.report.warn(at.pointer, `logged as it stands: ${notParsed(error, text)}`)
  }
  return null
}

/** The expression, with template literals in place of the texts in double quotes that look like templates. */
const withTemplates = (source: string) =>
  parse(source).tokens.reduceRight((written, { type, start, end }) => {
    const quoted = source.slice(start, end)
    if (type !== tokTypes.string || !quoted.startsWith('"') || !looksLikeTemplate(quoted)) return written
    return `${written.slice(0, start)}\`${quoted.slice(1, -1).replaceAll('`', '\\`')}\`${written.slice(end)}`
  }, source)
