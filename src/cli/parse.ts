// cli: reads options and words by Node's own parser, and tells what is wrong with them.
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { messageOf } from '../model/error-message.ts'
import { suggestion } from '../model/nearest.ts'
import { UsageError } from './command.ts'

type OptionTypes = NonNullable<ParseArgsConfig['options']>
type Parsed<T extends OptionTypes> = ReturnType<typeof parseArgs<{ options: T; allowPositionals: boolean }>>

/** @throws UsageError for an option that is not known, and for one that lacks its value */
export function parseWords<T extends OptionTypes>(
  args: readonly string[],
  options: T,
  allowPositionals = true,
): Parsed<T> {
  try {
    return parseArgs({ args: [...args], allowPositionals, options })
  } catch (error) {
    const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
    const unknown = tokens.find((token) => token.kind === 'option' && !Object.hasOwn(options, token.name))
    if (unknown?.kind !== 'option') throw new UsageError(messageOf(error))
    const known = Object.keys(options).map((name) => `--${name}`)
    throw new UsageError(`there is no option ${unknown.rawName}${suggestion(unknown.rawName, known)}`)
  }
}
