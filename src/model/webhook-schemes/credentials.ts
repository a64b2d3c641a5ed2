// model: secrets as they are in a header: user and password of HTTP (RFC 7617), a bearer token (RFC 6750), or a token in
// a header of the sender's choice.
// https://www.rfc-editor.org/rfc/rfc7617
// https://www.rfc-editor.org/rfc/rfc6750
import { bytesAsText, decodeDigest, headerOf, isOneOf, proof, rawBytes } from './proofs.ts'
import { anySecret, signingSecret, type WebhookScheme } from './scheme.ts'

/** A secret is `user:password`. */
export const basicScheme: WebhookScheme = {
  hasTime: () => false,

  verify: proof(({ secrets }, request) => {
    const credentials = credentialsOf(headerOf(request, 'Authorization'), 'basic')
    const given = credentials === null ? null : decodeDigest(credentials, 'base64')
    if (!given) return 'the header "Authorization" is malformed'
    return isOneOf(given, secrets) ? null : 'user or password is wrong'
  }),

  sign: ({ secrets }) => [['Authorization', `Basic ${Buffer.from(signingSecret(secrets)).toString('base64')}`]],
  proofHeader: () => 'authorization',
  challenge: 'Basic realm="webhook", charset="UTF-8"',
  secretFault: (secret) => (secret.includes(':') ? null : 'must be "user:password"'),
}

export const tokenScheme: WebhookScheme = {
  hasTime: () => false,

  verify: proof(({ secrets, header }, request) => {
    const value = headerOf(request, header ?? 'Authorization')
    const token = header === undefined ? credentialsOf(value, 'bearer') : value
    if (token === null) return 'the header "Authorization" has no bearer token'
    return isOneOf(rawBytes(token), secrets) ? null : 'the token is wrong'
  }),

  sign({ secrets, header }) {
    const token = bytesAsText(signingSecret(secrets))
    return [header === undefined ? ['Authorization', `Bearer ${token}`] : [header, token]]
  },

  proofHeader: ({ header }) => header?.toLowerCase() ?? 'authorization',
  secretFault: anySecret,
}

/**
 * What follows in `Authorization` the name of the authentication scheme, which is not case-sensitive; null if it is another one.
 * @param scheme in lower case
 */
const credentialsOf = (value: string, scheme: string) =>
  value.toLowerCase().startsWith(`${scheme} `) ? value.slice(scheme.length).replace(/^ +/, '') : null
