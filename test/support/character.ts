// Any character of Unicode, as the unit of random strings: the same that `unit: 'binary'` of fast-check gives, which first
// makes a table of all of them and takes a second for it in each process.
import { integer } from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800

/** All but half surrogates. */
export const character = integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (number) => String.fromCodePoint(number < FIRST_SURROGATE ? number : number + SURROGATES),
  // fast-check asks it whether its dangerous strings, such as `__proto__`, can be made of these characters.
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined
    if (code === undefined || text !== String.fromCodePoint(code)) throw new Error('not one character')
    if (code < FIRST_SURROGATE) return code
    if (code < FIRST_SURROGATE + SURROGATES) throw new Error('half a surrogate')
    return code - SURROGATES
  },
)
