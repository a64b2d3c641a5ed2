// GitLab: tokens, signing tokens, and both.
import { describe, expect, test } from 'vitest'
import { gitlabScheme } from '../../../src/model/webhook-schemes/standard.ts'
import type { ReceivedWebhook } from '../../../src/model/webhook-schemes/scheme.ts'
import { at, forgeries, GITLAB_SIGNED, received, signed, withSecrets } from './requests.ts'

const TOKEN = 'a token of GitLab, é'
const token = (value: string) => received({ headers: { 'X-Gitlab-Token': Buffer.from(value).toString('latin1') } })
const verify = (request: ReceivedWebhook, ...secrets: string[]) =>
  gitlabScheme.verify(withSecrets(...secrets), request, GITLAB_SIGNED.env)

describe('GitLab', () => {
  test('takes the token as it is', () => {
    expect(verify(token(TOKEN), 'other', TOKEN)).toBeNull()
    expect(signed(gitlabScheme, withSecrets(TOKEN), received({}), at(0))).toEqual(token(TOKEN))
    for (const forged of forgeries(token(TOKEN), ['x-gitlab-token'])) expect(verify(forged, TOKEN)).not.toBeNull()
    for (const other of ['', `${TOKEN}x`, TOKEN.slice(1)]) expect(verify(token(TOKEN), other)).not.toBeNull()
  })

  test('never takes a signing token as a token', () => {
    for (const secret of ['whsec_', 'whsec_!', GITLAB_SIGNED.secret])
      expect(verify(token(secret), secret)).not.toBeNull()
  })

  test('signs with signing tokens alone: a token is no key, and a public key is a token', () => {
    expect(verify(GITLAB_SIGNED.request, GITLAB_SIGNED.secret.slice('whsec_'.length))).not.toBeNull()
    expect(verify(token('whpk_AAAA'), 'whpk_AAAA')).toBeNull()
  })

  test('either proof is enough, where both kinds of secrets are', () => {
    const both = [TOKEN, GITLAB_SIGNED.secret]
    const { headers, ...rest } = GITLAB_SIGNED.request
    expect(verify(token(TOKEN), ...both)).toBeNull()
    expect(verify(GITLAB_SIGNED.request, ...both)).toBeNull()
    expect(verify({ ...rest, headers: [...headers, ['X-Gitlab-Token', 'wrong']] }, ...both)).toBeNull()
    expect(verify({ ...rest, headers: [], body: rest.body }, ...both)).toMatch('and the header "webhook-id" is missing')
    const twice = [...headers, ['X-Gitlab-Token', 'a'], ['X-Gitlab-Token', 'b']] as const
    expect(verify({ ...rest, headers: twice }, ...both)).toMatch('twice')
  })

  test('names the header to redact', () => {
    expect(gitlabScheme.proofHeader?.({})).toBe('x-gitlab-token')
  })

  test('tells malformed signing tokens', () => {
    for (const secret of [TOKEN, GITLAB_SIGNED.secret]) expect(gitlabScheme.secretFault(secret)).toBeNull()
    for (const secret of ['whsec_', 'whsec_!']) expect(gitlabScheme.secretFault(secret)).toMatch('base64')
  })
})
