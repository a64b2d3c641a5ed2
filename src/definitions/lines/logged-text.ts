// definitions: texts with `${…}` in the lines of the Logger: they are templates, as the product's own texts in double
// quotes are.
import type { AnyNode } from 'acorn'
import type { Json } from '../../model/json/value.ts'
import { SECRETS } from '../../model/secret-reference.ts'
import { compileExpression, compileTemplate } from '../expressions/compile.ts'
import { ExpressionError, type Expression, type Scope } from '../expressions/expression.ts'
import { parse } from '../expressions/parse.ts'
import { secretUses } from '../expressions/secret-uses.ts'
import { looksLikeTemplate } from '../expressions/foreign.ts'
import { notParsed, unseenNames, type Visible } from './visible.ts'
import type { Report } from '../report.ts'
import { NO_SECRETS } from './secret-reference.ts'

interface LoggedText {
  readonly evaluate: boolean
  /** As `PartOptions.carriers`. */
  readonly carriers: ReadonlySet<string> | null
  readonly visible: Visible
  readonly pointer: string
  readonly report: Report
}

/**
 * The expression that stands for the text, or for the expression with such texts in double quotes; null if there is
 * nothing to replace. What can't be replaced is logged as it stands, with a warning.
 */
export function loggedText(text: string, { evaluate, carriers, visible, pointer, report }: LoggedText): string | null {
  if (!looksLikeTemplate(text)) return null
  try {
    const expression = evaluate ? withTemplates(text) : templateOf(text)
    if (expression === text) return null
    const { names } = compileExpression(expression)
    const others = [...names].filter((name) => name !== SECRETS)
    const fault =
      unseenNames(others, visible, text) ?? (names.has(SECRETS) ? faultOfSecrets(expression, carriers) : null)
    if (fault === null) return expression
    report.warn(pointer, `logged as it stands: ${fault}`)
  } catch (error) {
    // Of an expression that can't be parsed, the caller tells.
    if (!evaluate || isParsed(text)) report.warn(pointer, `logged as it stands: ${notParsed(error, text)}`)
  }
  return null
}

const faultOfSecrets = (expression: string, carriers: LoggedText['carriers']): string | null =>
  carriers === null ? NO_SECRETS : secretUses(expression, carriers).fault

/** Evaluates the expression that stands for a text; the text as it stands, where that can't be computed. */
export const orAsItStands =
  (template: Expression, asItStands: (scope: Scope) => Json) =>
  (scope: Scope): Json => {
    try {
      return template.evaluate(scope)
    } catch (error) {
      if (error instanceof ExpressionError) return asItStands(scope)
      throw error
    }
  }

/** The text, as a template literal. */
function templateOf(text: string): string {
  let [rest, written] = [text, '']
  for (const placeholder of compileTemplate(text).placeholders) {
    const opening = `\${${placeholder}}`
    const [before = ''] = rest.split(opening, 1)
    written += before.replace(/[`\\]/g, '\\$&') + opening
    rest = rest.slice(before.length + opening.length)
  }
  return `\`${written}${rest.replace(/[`\\]/g, '\\$&')}\``
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

function isParsed(source: string): boolean {
  try {
    return parse(source).source === source
  } catch {
    return false
  }
}
