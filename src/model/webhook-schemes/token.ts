// model: a secret as it is, in a header of the sender's choice, or as `Authorization: Bearer` (RFC 6750).
// https://www.rfc-editor.org/rfc/rfc6750
import { credentialsOf } from './credentials.ts'
import { isOneOf } from './digests.ts'
import { rawBytes, readSingleHeader } from './request-parts.ts'
import { anySecret, signingSecret, type WebhookScheme } from './scheme.ts'

export const tokenScheme: WebhookScheme = {
  hasTime: () => false,

  verify({ secrets, header }, request) {
    const read = readSingleHeader(request, header ?? 'Authorization')
    if (read.fault !== null) return read.fault
    const token = header === undefined ? credentialsOf(read.value, 'bearer') : read.value
    if (token === null) return 'the header "Authorization" has no bearer token'
    return isOneOf(rawBytes(token), secrets) ? null : 'the token is wrong'
  },

  sign({ secrets, header }) {
    const token = Buffer.from(signingSecret(secrets)).toString('latin1')
    return [header === undefined ? ['Authorization', `Bearer ${token}`] : [header, token]]
  },

  proofHeader: ({ header }) => header?.toLowerCase() ?? 'authorization',
  secretFault: anySecret,
}
