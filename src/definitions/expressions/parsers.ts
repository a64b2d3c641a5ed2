// definitions/expressions: subclasses of acorn's parser for the present language and for that of version 0.1. Like
// acorn's plugins, they override methods of the parser.
import { Parser, tokTypes, type TokenType } from 'acorn'
import { ExpressionFault } from './expression.ts'

/** Parses JavaScript without regular expressions, since validating one may take more than linear time. */
export class StrictParser extends Parser {
  declare readonly start: number

  readRegexp(): never {
    throw new ExpressionFault("there are no regular expressions here: unexpected '/'", this.start)
  }
}

/**
 * Accepts everything that version 0.1 accepted, with the same meaning: all words but four are names, `??` has the
 * precedence of `||`, and a line break may precede `=>`. What the strict parser accepts has the same meaning here.
 */
export class PinnedParser extends StrictParser {
  declare readonly input: string
  declare pos: number
  declare readonly finishToken: (type: TokenType, value: string) => void
  readonly keywords = /^(?:this|null|true|false)$/

  finishOp(type: TokenType, size: number): void {
    const operator = this.input.slice(this.pos, this.pos + size)
    this.pos += size
    this.finishToken(type === tokTypes.coalesce ? tokTypes.logicalOR : type, operator)
  }

  canInsertSemicolon(): boolean {
    return false
  }

  raiseRecoverable(): void {}
}
