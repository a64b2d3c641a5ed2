// definitions: compiles the expressions of a webhook's entry, which see `$request` alone.
import type { Json } from '../../model/json/value.ts'
import { suggestion } from '../../model/nearest.ts'
import { SECRETS } from '../../model/secret-reference.ts'
import { compileExpression } from '../expressions/compile.ts'
import type { Expression } from '../expressions/expression.ts'
import { foreignHint } from '../expressions/foreign.ts'
import { notParsed, PLAIN_TEXT } from '../lines/visible.ts'
import type { Report } from '../report.ts'
import { NO_SECRETS } from '../lines/secret-reference.ts'

const REQUEST = '$request'

/** null: there is none, or after a fault, which is reported. */
export function compileRequestExpression(source: Json | undefined, pointer: string, report: Report): Expression | null {
  if (source === undefined || source === null) return null
  if (typeof source !== 'string') {
    report.fault(pointer, 'must be text: an expression over $request')
    return null
  }
  try {
    const compiled = compileExpression(source)
    if (compiled.quotesPlaceholder) report.warn(pointer, PLAIN_TEXT)
    const unseen = [...compiled.names].filter((name) => name !== REQUEST)
    const [first] = unseen
    if (first === undefined) return compiled
    report.fault(
      pointer,
      unseen.includes(SECRETS)
        ? NO_SECRETS
        : `only $request is visible here, and not ${unseen.join(', ')}${suggestion(first, [REQUEST])}${foreignHint(source)}`,
    )
  } catch (error) {
    report.fault(pointer, notParsed(error, source))
  }
  return null
}
