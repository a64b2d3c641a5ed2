// model: the scheme of GitLab: the secret token itself in a header, or a signing token, with which GitLab signs by
// Standard Webhooks. A hook may have both, and then either proves the sender.
// https://docs.gitlab.com/user/project/integrations/webhooks/
import { isOneOf } from './digests.ts'
import { rawBytes, readSingleHeader } from './request-parts.ts'
import { signingSecret, type VerifyRule, type WebhookScheme } from './scheme.ts'
import { SHARED_SECRET_PREFIX, standardScheme } from './standard.ts'

const HEADER = 'X-Gitlab-Token'

export const gitlabScheme: WebhookScheme = {
  hasTime: () => true,

  verify(rule, request, env) {
    const tokens = rule.secrets.filter((secret) => !isSigningToken(secret))
    const header = readSingleHeader(request, HEADER)
    if (header.fault !== null && !header.isAbsent) return header.fault
    const isToken = header.fault === null && isOneOf(rawBytes(header.value), tokens)
    // Without signing tokens, there is nothing that the other headers could prove.
    const signing = signingTokens(rule)
    const unsigned = signing.secrets.length === 0 ? null : standardScheme.verify(signing, request, env)
    if (isToken || (signing.secrets.length > 0 && unsigned === null)) return null
    if (tokens.length === 0 && unsigned !== null) return unsigned
    const wrong = header.fault ?? 'the token is wrong'
    return unsigned === null ? wrong : `${wrong}, and ${unsigned}`
  },

  sign(rule, request, env) {
    const secret = signingSecret(rule.secrets)
    return isSigningToken(secret)
      ? standardScheme.sign(signingTokens(rule), request, env)
      : [[HEADER, Buffer.from(secret).toString('latin1')]]
  },

  proofHeader: () => HEADER.toLowerCase(),

  secretFault: (secret) => (isSigningToken(secret) ? standardScheme.secretFault(secret) : null),
}

const isSigningToken = (secret: string): boolean => secret.startsWith(SHARED_SECRET_PREFIX)

const signingTokens = (rule: VerifyRule): VerifyRule => ({ ...rule, secrets: rule.secrets.filter(isSigningToken) })
