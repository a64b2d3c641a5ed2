// model: which names say that what they stand for is a secret: of headers, of parameters, and of fields in the log. The
// only such list.

export const REDACTED = '[redacted]'

/** What holds a secret at the end of any word of a name: `x-gitlab-token`, `clientsecret`. */
const ENDINGS = [
  'authorization',
  'cookie',
  'cookies',
  'password',
  'passwd',
  'passphrase',
  'secret',
  'secrets',
  'token',
  'tokens',
  'signature',
  'signatures',
  'credential',
  'credentials',
  'apikey',
  'accesskey',
  'secretkey',
  'privatekey',
  'signingkey',
  'authkey',
  'subscriptionkey',
  'sessionid',
  'sessid',
]
const WORDS: ReadonlySet<string> = new Set([
  'pwd',
  'sig',
  'hmac',
  'jwt',
  'bearer',
  'otp',
  'totp',
  'dpop',
  'assertion',
  'passcode',
  'cookie2',
  'apikeys',
  'creds',
])
/** A secret at the end of a name only: `x-auth`, but not `x-auth-request-email`. */
const LAST: ReadonlySet<string> = new Set(['auth'])
/** Words that are a secret after another word: `x-api-key`, `session_id`. */
const PAIRS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    'key',
    new Set([
      'api',
      'access',
      'account',
      'admin',
      'app',
      'auth',
      'client',
      'consumer',
      'encryption',
      'function',
      'functions',
      'host',
      'license',
      'master',
      'private',
      'rapidapi',
      'secret',
      'service',
      'session',
      'shared',
      'signing',
      'subscription',
      'webhook',
    ]),
  ],
  ['keys', new Set(['api', 'access', 'private', 'secret', 'signing'])],
  ['id', new Set(['session'])],
  ['code', new Set(['auth'])],
])
/**
 * What tells something about a secret, or of another kind of token, and not the secret: `token_type`,
 * `x-signature-timestamp`.
 */
const ABOUT: ReadonlySet<string> = new Set([
  'age',
  'alg',
  'algo',
  'algorithm',
  'at',
  'count',
  'date',
  'endpoint',
  'error',
  'expired',
  'expires',
  'expiry',
  'in',
  'length',
  'limit',
  'limits',
  'method',
  'mode',
  'name',
  'policy',
  'present',
  'required',
  'size',
  'status',
  'time',
  'timestamp',
  'total',
  'ttl',
  'type',
  'url',
  'usage',
  'used',
  'valid',
  'version',
])
/** The same, in front: `max_tokens`. */
const QUANTITIES: ReadonlySet<string> = new Set(['max', 'min', 'total'])
/** Letters of a name that are looked at: no name of a secret is longer, and a stranger chooses some of them. */
const MAX_NAME_CHARACTERS = 200

/**
 * Whether a header, a parameter or a field of that name holds a secret: `Authorization`, `x-api-key`,
 * `stripe-signature`, `access_token`, `clientSecret`. The case of letters and the way words are joined play no part.
 */
export function isSecretName(name: string): boolean {
  const known = verdicts.get(name)
  if (known !== undefined) return known
  const secret = judge(name)
  if (verdicts.size >= MAX_REMEMBERED_NAMES) verdicts.clear()
  if (name.length <= MAX_NAME_CHARACTERS) verdicts.set(name, secret)
  return secret
}

/** Names come again and again: those of a request's headers, of a log's fields. */
const MAX_REMEMBERED_NAMES = 2000
const verdicts = new Map<string, boolean>()

function judge(name: string): boolean {
  const words = wordsOf(name.slice(0, MAX_NAME_CHARACTERS))
  const [first = '', last = ''] = [words[0], words.at(-1)]
  if (words.length > 1 && (ABOUT.has(last) || QUANTITIES.has(first))) return false
  if (LAST.has(last)) return true
  return words.some(
    (word, index) =>
      WORDS.has(word) ||
      ENDINGS.some((ending) => word.endsWith(ending)) ||
      PAIRS.get(word)?.has(words[index - 1] ?? '') === true,
  )
}

/** In lower case: what anything but letters and digits parts, or a capital letter after a small one. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '')

/** The pairs of a query or a form, with the values of secret names replaced. Nothing else of it changes. */
export function redactQuery(query: string): string {
  return query
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=')
      const isSecret = equals > 0 && equals < pair.length - 1 && isSecretName(decoded(pair.slice(0, equals)))
      return isSecret ? pair.slice(0, equals + 1) + REDACTED : pair
    })
    .join('&')
}

/** What `a=b` in a query stands for; as it is where its escapes are broken. */
export function decoded(text: string): string {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
