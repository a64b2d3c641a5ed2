// definitions/expressions: the text that a literal stands for, read from its source by JavaScript's rules (the parser knows only some escapes).

const ESCAPE = /\\(?:u\{([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|(\r\n|[^]))/gu
const LETTERS: ReadonlyMap<string, string> = new Map([
  ['n', '\n'], ['r', '\r'], ['t', '\t'], ['b', '\b'], ['f', '\f'], ['v', '\v'], ['0', '\0'],
  ['\n', ''], ['\r', ''], ['\r\n', ''], ['\u2028', ''], ['\u2029', ''],
])
/** Escapes that JavaScript refuses: octal ones, and hexadecimal ones that aren't whole. */
const BROKEN = /^[1-9ux]$/

/**
 * @param raw what stands between the quotes
 * @returns null when an escape in it is malformed
 */
export function unescape(raw: string): string | null {
  let broken = false
  const text = raw.replace(ESCAPE, (_, braced?: string, four?: string, two?: string, letter = '', at = 0) => {
    const digits = braced ?? four ?? two
    if (digits === undefined) {
      broken ||= BROKEN.test(letter) || (letter === '0' && /\d/.test(raw.charAt(at + 2)))
      return LETTERS.get(letter) ?? letter
    }
    const code = Number.parseInt(digits, 16)
    broken ||= code > 0x10ffff
    return broken ? '' : String.fromCodePoint(code)
  })
  return broken ? null : text
}
