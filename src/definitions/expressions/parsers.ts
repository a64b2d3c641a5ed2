// definitions/expressions: acorn for the language of today, and for that of version 0.1. Both replace methods of
// acorn's, as its plugins do.
import { Parser, tokTypes, type TokenType } from 'acorn'
import { ExpressionFault } from './expression.ts'

/** JavaScript's own parser, but for regular expressions: to read one may take much more than its length. */
export class StrictParser extends Parser {
  declare readonly start: number

  readRegexp(): never {
    throw new ExpressionFault("there are no regular expressions here: unexpected '/'", this.start)
  }
}

/**
 * Takes all that was once accepted, with the meaning that it had then: all words but four are names, `??` is an
 * operator like `||`, and a line may end before `=>`. What the strict parser takes means the same here.
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
