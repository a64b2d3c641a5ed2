// The time of a check tells nothing of a secret: digests are compared in constant time, with all secrets, whichever fits.
import { timingSafeEqual } from 'node:crypto'
import { beforeEach, expect, test, vi } from 'vitest'
import { WEBHOOK_SCHEME_NAMES, type WebhookSchemeName } from '../../../src/model/webhook-schemes/scheme.ts'
import { WEBHOOK_SCHEMES } from '../../../src/model/webhook-schemes/schemes.ts'
import { at, received, signed, withSecrets } from './requests.ts'

vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>()
  return { ...crypto, timingSafeEqual: vi.fn(crypto.timingSafeEqual) }
})
const compared = vi.mocked(timingSafeEqual)
beforeEach(() => void compared.mockClear())

const NOW = at(1_700_000_000)
const keyOf = (byte: number) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`

const secretsOf = (name: WebhookSchemeName): readonly [string, string, string] =>
  name === 'standard' || name === 'gitlab' ? [keyOf(1), keyOf(2), keyOf(3)] : ['user:a', 'user:b', 'user:c']

test.each(WEBHOOK_SCHEME_NAMES)('%s', (name) => {
  const scheme = WEBHOOK_SCHEMES[name]
  const [secret, other, third] = secretsOf(name)
  const rule = (...secrets: string[]) => ({ ...withSecrets(...secrets), ...(name === 'hmac' && { header: 'x-sig' }) })
  const request = signed(scheme, rule(secret), received({}), NOW)
  for (const [secrets, fits] of [
    [[secret, other], true],
    [[other, secret], true],
    [[other, third], false],
  ] as const) {
    compared.mockClear()
    expect(scheme.verify(rule(...secrets), request, NOW) === null).toBe(fits)
    expect(compared.mock.calls.length).toBeGreaterThanOrEqual(2)
  }
})
