// definitions: recognises what services written for the product's own expression language (Groovy) hold that this one lacks, and says what to write instead.
// Asked only when there is a fault; every pattern takes time in proportion to the text.

/** Hints of one fault. */
const MOST_HINTS = 3

const TIMES = 'now() + milliseconds, such as now() + 5 * 60000'
const VARIABLES = 'the value where it is used: there are no variables; a line of its own sets an output'
const LOOPS = 'list.map(item => …), filter, find, some, every, reduce or flatMap with an arrow function'

/** What is looked for, in a text whose literals are empty, and what to write. */
const HINTS: readonly (readonly [pattern: RegExp, write: string])[] = [
  [/\bnew\s+Random\b|\bMath\.random\b/, 'random(n) for a whole number below n, random() for a fraction'],
  [/\bUUID\b/, 'uuid()'],
  [/\bTimeCategory\b|\d\.(?:second|minute|hour|day|week|month|year)s?\b|\.from\.now\b/, TIMES],
  [/\bSystem\.(?:currentTimeMillis|nanoTime)\b|\b(?:Instant|LocalDate|LocalDateTime|ZonedDateTime|Calendar)\b|\bnew\s+Date\b|\bDate\.now\b/, 'now(), or date(text) for the time that a text names; times are epoch milliseconds'],
  [/\binvoke(?:Gloop|Service)\b/i, 'no call here: an action of type invokeFlux runs a service, one of type invokeCode a function'],
  [/\bif\s*\(|\belse\b/, 'condition ? value : other'],
  [/\?:/, 'a || b, or a ?? b, which keeps false, 0 and empty text'],
  [/\b(?:JsonSlurper|JsonOutput|JSON)\b/, 'parseJson(text) and json(value)'],
  [/\b(?:Integer|Long|Short|Byte|Double|Float|BigDecimal|BigInteger)\b|\.to(?:Integer|Long|Short|Double|Float|BigDecimal|BigInteger)\b|\.(?:int|long|double)Value\b/, 'number(x)'],
  [/\.toBoolean\b|\bBoolean\./, 'boolean(x)'],
  [/\bString\./, 'string(x)'],
  [/\bas\s+[A-Z]\w|\bas\s+(?:int|long|double|boolean)\b/, 'string(x), number(x), boolean(x) or date(x)'],
  [/\bMath\./, 'min, max, abs, round, floor and ceil without "Math."'],
  [/\bdef\s|\b(?:String|int|long|double|boolean|Map|List|var|let|const)\s+[a-zA-Z_]\w*\s*=/, VARIABLES],
  [/\bprintln\b|\bprint\s|\bconsole\./, 'no output here: an action of type invokeCode with the class Logger logs'],
  [/\.(?:collect|collectMany|collectEntries|each|eachWithIndex|findAll|any|inject|sum|groupBy)\s*[({]|\.(?:find|every|sort)\s*\{|->|\{\s*it\b/, LOOPS],
  [/\[\s*(?:[\w$]+|'')\s*:|\[\s*:\s*\]/, '{ name: value } for a map'],
  [/==~|=~|\.(?:matches|replaceFirst)\s*\(/, 'includes, startsWith, endsWith, split or replaceAll with plain texts: there are no regular expressions'],
  [/\.size\s*\(|\.length\s*\(/, 'x.length, or size(x)'],
  [/\.isEmpty\s*\(/, 'size(x) == 0'],
  [/\.(?:contains|containsKey)\s*\(|\bin\s+\[/, 'x.includes(y), or keys(x).includes(y)'],
  [/\.equals(?:IgnoreCase)?\s*\(/, 'x == y, or x.toLowerCase() == y.toLowerCase()'],
  [/\.(?:first|last|head|getAt|get)\s*\(/, 'x[0], x.at(-1) or x["name"]'],
  [/\.(?:add|addAll|push|put|putAll|leftShift)\s*\(|<</, '[...list, x] or { ...object, name: x }'],
  [/\.(?:tokenize|padLeft|padRight|capitalize|format|unique|minus|plus)\s*\(/, 'split, padStart, padEnd, templates in backticks and other methods that JavaScript has'],
  [/<=>/, 'x - y, or x.localeCompare(y)'],
  [/\*\./, 'list.map(item => item.name)'],
  [/\breturn\b/, 'the value alone, without return'],
  [/\b(?:for|while|switch|try)\s*[({]|\bthrow\b/, 'no statements here: an action of type script takes them'],
  [/\+\+|--|[-+*/]=|[^=!<>]=[^=>~]/, VARIABLES],
  [/\d\.\.<?\d/, 'a list of the numbers: there are no ranges'],
]

/** `; write … instead`, or nothing where none of it is known. */
export function foreignHint(source: string): string {
  const text = withoutLiterals(source)
  const found = HINTS.filter(([pattern]) => pattern.test(text)).map(([, write]) => write)
  const hints = [...new Set(found)].slice(0, MOST_HINTS)
  return hints.length === 0 ? '' : `; expressions here are JavaScript's, not Groovy's: write ${hints.join('; write ')}`
}

/** What to use for an action of another server's; null: unknown. */
export function actionHint(type: string): string | null {
  if (/gloop|service/i.test(type)) return 'use "invokeFlux" for a service, or "invokeCode" for a function'
  if (/workflow/i.test(type)) return 'use "invokeFlux"'
  if (/groovy|java|code|function/i.test(type) && !/^invokecod/i.test(type)) return 'use "invokeCode" for a function of a module, or "script" for JavaScript in the file'
  return null
}

/** Whether a text in double or single quotes has a placeholder in it, which only a template has. */
export function looksLikeTemplate(literal: string): boolean {
  const start = literal.indexOf('${')
  return start >= 0 && literal.indexOf('}', start) > start + 2
}

/** Literals in single and double quotes become empty ones: what they say is no code. */
function withoutLiterals(source: string): string {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < source.length; at += 1) {
    const quote = source.charAt(at)
    if (quote !== '"' && quote !== '\'') continue
    const end = endOfLiteral(source, at, quote)
    parts.push(source.slice(from, at), '\'\'')
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
