// model: recognizes names of headers, parameters and log fields whose values are secrets. This is the only such list.

export const REDACTED = '[redacted]'

/** Endings of words that indicate a secret, anywhere in a name: `x-gitlab-token`, `clientsecret`. */
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
  'samlresponse',
  'assertion',
  'passcode',
  'cookie2',
  'apikeys',
  'creds',
])
/** Words that indicate a secret only at the end of a name: `x-auth`, but not `x-auth-request-email`. */
const LAST_WORDS: ReadonlySet<string> = new Set(['auth', 'pass', 'pin', 'sas', 'session'])
/** Whole names: `sid`, but not `MessageSid`. */
const NAMES: ReadonlySet<string> = new Set(['sid', 'connect.sid'])
/** Words that indicate a secret only after certain other words: `x-api-key`, `session_id`. */
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
  ['cert', new Set(['client'])],
  ['code', new Set(['auth'])],
])
/**
 * Last words of names that describe a secret, or another kind of token, but do not contain it: `token_type`,
 * `x-signature-timestamp`.
 */
const LAST_ABOUT: ReadonlySet<string> = new Set([
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
/** The same for the first word: `max_tokens`. */
const FIRST_ABOUT: ReadonlySet<string> = new Set(['max', 'min', 'total'])
/** Characters of a name that are examined. No name of a secret is longer, and clients choose some of the names. */
const MAX_NAME_CHARACTERS = 200

/**
 * Whether a header, a parameter or a field of that name holds a secret: `Authorization`, `x-api-key`,
 * `stripe-signature`, `access_token`, `clientSecret`. Case does not matter, nor how words are joined.
 */
export function isSecretName(name: string): boolean {
  const known = isSecretByName.get(name)
  if (known !== undefined) return known
  const secret = classify(name)
  if (isSecretByName.size >= MAX_REMEMBERED_NAMES) isSecretByName.clear()
  if (name.length <= MAX_NAME_CHARACTERS) isSecretByName.set(name, secret)
  return secret
}

/** Limit of the cache. The same names, of headers and log fields, are checked again and again. */
const MAX_REMEMBERED_NAMES = 2000
const isSecretByName = new Map<string, boolean>()

function classify(name: string) {
  const words = wordsOf(name.slice(0, MAX_NAME_CHARACTERS))
  const [first = '', last = ''] = [words[0], words.at(-1)]
  if (words.length > 1 && (LAST_ABOUT.has(last) || FIRST_ABOUT.has(first))) return false
  // Capitals may stand within a word: `DPoP`, `SAMLResponse`.
  if (LAST_WORDS.has(last) || NAMES.has(name.toLowerCase()) || WORDS.has(words.join(''))) return true
  return words.some(
    (word, index) =>
      WORDS.has(word) ||
      ENDINGS.some((ending) => word.endsWith(ending)) ||
      PAIRS.get(word)?.has(words[index - 1] ?? '') === true,
  )
}

/**
 * The words of a name, in lower case. They are separated by characters other than letters and digits, or by a capital
 * letter after a small one.
 */
const wordsOf = (name: string) =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== '')

/** Replaces the values of secret names in a query or a form. Everything else is unchanged. */
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

/** Decodes a name or value of a query. A text with malformed escapes is returned as it is. */
export function decoded(text: string): string {
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
