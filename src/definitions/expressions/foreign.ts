// definitions: recognizes syntax of Groovy, the product's own expression language, and of JavaScript that expressions
// lack, and suggests what to write instead. It is used only after a fault. Every pattern takes time linear in the length
// of the text.

/** Maximum number of hints for one fault. */
const MAX_HINTS = 3

const TIMES = 'now() + milliseconds, such as now() + 5 * 60000'
const VARIABLES = 'the value where it is used: there are no variables; a line of its own sets an output'
const LOOPS = 'list.map(item => …), filter, find, some, every, reduce or flatMap with an arrow function'

interface Hint {
  readonly write: string
  /**
   * Words of Groovy and Java, any of which triggers the hint. A property or method begins with a period; a call ends with
   * a bracket.
   */
  readonly words?: readonly string[]
  readonly pattern?: RegExp
  /** Words that trigger the hint and that JavaScript has, too. */
  readonly shared?: readonly string[]
  readonly sharedPattern?: RegExp
}

/** The hints: what to search for, in a text whose string literals have been emptied, and what to write instead. */
const HINTS: readonly Hint[] = [
  { words: ['Random', '.nextInt('], write: 'random(n) for a whole number below n, random() for a fraction' },
  { words: ['UUID', '.randomUUID'], write: 'uuid()' },
  {
    words: ['TimeCategory', 'use(', '.ago'],
    pattern: /\d\.(?:second|minute|hour|day|week|month|year)s?/,
    write: TIMES,
  },
  {
    words: ['System', 'Instant', 'LocalDate', 'LocalDateTime', 'ZonedDateTime', 'Calendar', 'SimpleDateFormat'],
    shared: ['Date', 'Date('],
    write: 'now(), or date(text) for the time that a text names; times are epoch milliseconds',
  },
  {
    words: ['invokeGloop', 'invokeFlux', 'invokeService'],
    write: 'no call here: an action of type invokeFlux runs a service, one of type invokeCode a function',
  },
  { shared: ['if(', 'else'], write: 'condition ? value : other' },
  { pattern: /\?:/, write: 'a || b, or a ?? b, which keeps false, 0 and empty text' },
  { words: ['JsonSlurper', 'JsonOutput', '.parseText('], shared: ['JSON'], write: 'parseJson(text) and json(value)' },
  {
    words: [
      'Integer',
      'Long',
      'Double',
      'Float',
      'BigDecimal',
      'BigInteger',
      '.toInteger',
      '.toLong',
      '.toDouble',
      '.toFloat',
      '.toBigDecimal',
      '.toBigInteger',
      '.intValue',
      '.longValue',
      '.doubleValue',
    ],
    write: 'number(x)',
  },
  { words: ['.toBoolean'], shared: ['Boolean'], write: 'boolean(x)' },
  { words: ['as'], write: 'string(x), number(x), boolean(x) or date(x)' },
  { shared: ['Math'], write: 'min, max, abs, round, floor and ceil without "Math."' },
  {
    words: ['def'],
    shared: ['var', 'let', 'const'],
    sharedPattern: /\+\+|--|[-+*/]=|[^=!<>]=[^=>~]/,
    write: VARIABLES,
  },
  {
    words: ['println', 'print'],
    shared: ['console'],
    write: 'no output here: an action of type invokeCode with the class Logger logs',
  },
  {
    words: [
      '.collect',
      '.collectMany',
      '.collectEntries',
      '.each',
      '.eachWithIndex',
      '.findAll',
      '.any',
      '.inject',
      '.groupBy',
      '.sum(',
      '.sum{',
      '.find{',
      '.every{',
      '.sort{',
      '.max{',
      '.min{',
      'it',
    ],
    pattern: /->/,
    write: LOOPS,
  },
  { pattern: /\[\s*[\w$']+\s*:|\[\s*:/, write: '{ name: value } for a map' },
  {
    words: ['.matches(', '.replaceFirst('],
    pattern: /=~|==~/,
    write: 'includes, startsWith, endsWith, split or replaceAll with plain texts: there are no regular expressions',
  },
  { words: ['.size(', '.length('], write: 'x.length, or size(x)' },
  { words: ['.isEmpty('], write: 'size(x) == 0' },
  { words: ['.contains(', '.containsKey('], shared: ['in'], write: 'x.includes(y), or keys(x).includes(y)' },
  { words: ['.equals(', '.equalsIgnoreCase('], write: 'x == y, or x.toLowerCase() == y.toLowerCase()' },
  { words: ['.first(', '.last(', '.head(', '.getAt(', '.get('], write: 'x[0], x.at(-1) or x["name"]' },
  {
    words: ['.addAll(', '.put(', '.putAll('],
    shared: ['.add(', '.push('],
    pattern: /<</,
    write: '[...list, x] or { ...object, name: x }',
  },
  {
    words: ['.tokenize(', '.padLeft(', '.padRight(', '.capitalize(', '.format(', '.unique(', '.minus(', '.plus('],
    write: 'split, padStart, padEnd, templates in backticks and other methods that JavaScript has',
  },
  { pattern: /<=>/, write: 'x - y, or x.localeCompare(y)' },
  { pattern: /\*\./, write: 'list.map(item => item.name)' },
  { shared: ['return'], write: 'the value alone, without return' },
  {
    shared: ['for(', 'while(', 'switch(', 'try{', 'throw'],
    write: 'no statements here: an action of type script takes them',
  },
  { pattern: /\d\.\.<?\d/, write: 'a list of the numbers: there are no ranges' },
]

/** A name, with a period before it and a bracket after it, if any. */
const WORD = /(\.?[A-Za-z_$][\w$]*)[ \t]*([({]?)/g

/** Returns the hints for an expression, to append to a message; empty if there are none. */
export function foreignHint(source: string): string {
  const text = withoutLiterals(source)
  const present = wordsIn(text)
  const has = (words: readonly string[] = [], pattern?: RegExp) =>
    words.some((word) => present.has(word)) || pattern?.test(text) === true
  const groovy = HINTS.filter(({ words, pattern }) => has(words, pattern))
  const found = HINTS.filter((hint) => groovy.includes(hint) || has(hint.shared, hint.sharedPattern))
  const hints = [...new Set(found.map(({ write }) => write))].slice(0, MAX_HINTS)
  if (hints.length === 0) return ''
  const language = groovy.length > 0 ? "JavaScript's, not Groovy's" : 'a small part of JavaScript'
  return `; expressions here are ${language}: write ${hints.join('; write ')}`
}

const GROOVY_STATEMENT = /(?<![\w$.])(?:def|println)[ \t]+[\w$"']/

/** Returns the hint for a script, which may have all of JavaScript; empty if there is none. */
export const scriptHint = (script: string): string =>
  GROOVY_STATEMENT.test(script) ? '; scripts are JavaScript, not Groovy' : ''

function wordsIn(text: string): ReadonlySet<string> {
  const words = new Set<string>()
  for (const [, name = '', bracket = ''] of text.matchAll(WORD)) words.add(name).add(name + bracket)
  return words
}

/** Returns what to use instead of an action type of another server; null if it is not known. */
export function actionHint(type: string): string | null {
  if (/gloop|service/i.test(type)) return 'use "invokeFlux" for a service, or "invokeCode" for a function'
  if (/workflow/i.test(type)) return 'use "invokeFlux"'
  if (/groovy|java|code|function/i.test(type) && !/^invokecod/i.test(type))
    return 'use "invokeCode" for a function of a module, or "script" for JavaScript in the file'
  return null
}

/** Whether a quoted text contains `${…}`, which is a placeholder only in a template. */
export function looksLikeTemplate(literal: string): boolean {
  const start = literal.indexOf('${')
  return start >= 0 && literal.indexOf('}', start) > start + 2
}

/** Empties literals in single and double quotes, since their content is not code. */
function withoutLiterals(source: string): string {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < source.length; at += 1) {
    const quote = source.charAt(at)
    if (quote !== '"' && quote !== "'") continue
    const end = endOfLiteral(source, at, quote)
    parts.push(source.slice(from, at), "''")
    from = end + 1
    at = end
  }
  return parts.join('') + source.slice(from)
}

function endOfLiteral(source: string, start: number, quote: string): number {
  for (let at = start + 1; at < source.length; at += 1) {
    const character = source.charAt(at)
    if (character === '\\') at += 1
    else if (character === quote) return at
  }
  return source.length
}
