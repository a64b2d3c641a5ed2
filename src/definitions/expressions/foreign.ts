// definitions: recognizes syntax of Groovy, the product's own expression language, and of JavaScript that expressions
// lack, and suggests what to write instead. It is used only after a fault. Every pattern takes time linear in the length
// of the text.

/** Maximum number of hints for one fault. */
const MAX_HINTS = 3

/** What to search for, in a text whose string literals have been emptied, and what to write instead. */
const HINTS = [
  [/\bRandom\b/, 'random(n) for a whole number below n, random() for a fraction'],
  [/\bUUID\b/, 'uuid()'],
  [
    /\bTimeCategory\b|\d\.(?:second|minute|hour|day|week|month|year)/,
    'now() + milliseconds, such as now() + 5 * 60000',
  ],
  [
    /\b(?:Date|System|Instant|LocalDate|LocalDateTime|Calendar)\b/,
    'now(), or date(text) for the time that a text names; times are epoch milliseconds',
  ],
  [
    /\binvoke(?:Gloop|Flux|Service)\b/,
    'no call here: an action of type invokeFlux runs a service, one of type invokeCode a function',
  ],
  [/\bif\b|\belse\b/, 'condition ? value : other'],
  [/\?:/, 'a || b, or a ?? b, which keeps false, 0 and empty text'],
  [/\bJson|\bJSON\b/, 'parseJson(text) and json(value)'],
  [
    /\bas\b|(?:\.to|\b)(?:Integer|Long|Double|Float|BigDecimal|BigInteger|Boolean)\b/,
    'number(x), string(x), boolean(x) or date(x)',
  ],
  [/\bMath\b/, 'min, max, abs, round, floor and ceil without "Math."'],
  [
    /\b(?:def|var|let|const)\b|\+\+|--|[-+*/]=|[^=!<>]=[^=>~]/,
    'the value where it is used: there are no variables; a line of its own sets an output',
  ],
  [/\b(?:print|println|console)\b/, 'no output here: an action of type invokeCode with the class Logger logs'],
  [
    /->|\bit\b|\.(?:collect|each|findAll|any|inject)\b/,
    'list.map(item => …), filter, find, some, every, reduce or flatMap with an arrow function',
  ],
  [/\[\s*[\w$']+\s*:|\[\s*:/, '{ name: value } for a map'],
  [/=~|==~/, 'includes, startsWith, endsWith, split or replaceAll: there are no regular expressions'],
  [/\.(?:size|isEmpty|contains)\(/, 'x.length, size(x) or x.includes(y)'],
  [/<<|\.(?:add|push|put)\(/, '[...list, x] or { ...object, name: x }'],
  [/\*\./, 'list.map(item => item.name)'],
  [
    /\b(?:return|for|while|switch|try|throw)\b/,
    'the value alone, without return: an action of type script takes statements',
  ],
] as const

/** Returns the hints for an expression, to append to a message; empty if there are none. */
export function foreignHint(source: string): string {
  const text = source.replace(LITERALS, "''")
  const hints = HINTS.filter(([found]) => found.test(text)).slice(0, MAX_HINTS)
  if (hints.length === 0) return ''
  return `; expressions here are a small part of JavaScript: write ${hints.map(([, write]) => write).join('; write ')}`
}

/** Texts in single and double quotes, whose content is not code. The last one may be open. */
const LITERALS = /"(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?/g

const GROOVY_STATEMENT = /(?<![\w$.])(?:def|println)[ \t]+[\w$"']/

/** Returns the hint for a script, which may have all of JavaScript; empty if there is none. */
export const scriptHint = (script: string): string =>
  GROOVY_STATEMENT.test(script) ? '; scripts are JavaScript, not Groovy' : ''

/** Returns what to use instead of an action type of another server; null if it is not known. */
export function actionHint(type: string): string | null {
  if (/gloop|service|workflow/i.test(type)) return 'use "invokeFlux" for a service, or "invokeCode" for a function'
  if (/groovy|java|code|function/i.test(type) && !/^invokecod/i.test(type))
    return 'use "invokeCode" for a function of a module, or "script" for JavaScript in the file'
  return null
}

/** Whether a quoted text contains `${…}`, which is a placeholder only in a template. */
export function looksLikeTemplate(literal: string): boolean {
  const start = literal.indexOf('${')
  return start >= 0 && literal.indexOf('}', start) > start + 2
}
