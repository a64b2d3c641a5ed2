// definitions: texts with `${…}` in the lines of the Logger: they are templates, as the product's own texts in double
// quotes are.
import type { AnyNode } from 'acorn'
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
  const plain = isExpression ? compiledOf(text) : null
  // Of an expression that can't be parsed, the caller tells.
  if (isExpression && plain === null) return null
  try {
    const template = isExpression ? null : compileTemplate(text)
    const source = template?.placeholders.map((part) => `\${${part}}`).join('') ?? withTemplates(text)
    if (source === text && isExpression) return null
    const compiled = compileExpression(template === null ? source : `\`${source}\``)
    const fault = faultOfNames(compiled, at)
    if (fault === null)
      return {
        ...compiled,
        evaluate(scope) {
          try {
            return (template ?? compiled).evaluate(scope)
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

function compiledOf(source: string): Expression | null {
  try {
    return compileExpression(source)
  } catch {
    return null
  }
}

/** The expression, with template literals in place of texts in double quotes. */
function withTemplates(source: string): string {
  const texts = textsIn(parse(source).tree).toSorted((one, other) => other.start - one.start)
  return texts.reduce((written, { start, end }) => {
    const text = written.slice(start + 1, end - 1).replaceAll('`', '\\`')
    return `${written.slice(0, start)}\`${text}\`${written.slice(end)}`
  }, source)
}

/** The texts in double quotes that look like templates. */
function textsIn(node: AnyNode): AnyNode[] {
  if (node.type === 'Literal') return node.raw?.startsWith('"') === true && looksLikeTemplate(node.raw) ? [node] : []
  return Object.values(node)
    .flat()
    .flatMap((part) => (isNode(part) ? textsIn(part) : []))
}

const isNode = (part: unknown): part is AnyNode => typeof part === 'object' && part !== null && 'type' in part
