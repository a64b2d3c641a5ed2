// model: HTTP's authentication by user and password (RFC 7617). A secret is `user:password`.
// https://www.rfc-editor.org/rfc/rfc7617
import { credentialsOf } from './credentials.ts'
import { decodeDigest, isOneOf } from './digests.ts'
import { readSingleHeader } from './request-parts.ts'
import { signingSecret, type WebhookScheme } from './scheme.ts'

export const basicScheme: WebhookScheme = {
  hasTime: () => false,

  verify({ secrets }, request) {
    const header = readSingleHeader(request, 'Authorization')
    if (header.fault !== null) return header.fault
    const credentials = credentialsOf(header.value, 'basic')
    const given = credentials === null ? null : decodeDigest(credentials, 'base64')
    if (!given) return 'the header "Authorization" is malformed'
    return isOneOf(given, secrets) ? null : 'user or password is wrong'
  },

  sign: ({ secrets }) => [['Authorization', `Basic ${Buffer.from(signingSecret(secrets)).toString('base64')}`]],
  proofHeader: () => 'authorization',
  challenge: 'Basic realm="webhook", charset="UTF-8"',
  secretFault: (secret) => (secret.includes(':') ? null : 'must be "user:password"'),
}
