// Names whose values are secrets: each word that makes one, wherever it stands, and what only looks like one.
import { expect, test } from 'vitest'
import { isSecretName } from '../../src/model/secret-names.ts'

const words = (text: string) => text.split(' ')

test.each(
  words(
    'authorization cookie cookies password passwd passphrase secret secrets token tokens signature signatures credential credentials apikey accesskey secretkey privatekey signingkey authkey subscriptionkey sessionid sessid',
  ),
)('%s at the end of any word', (ending) => {
  for (const name of [ending, `x-${ending}`, `my${ending}`, `${ending.toUpperCase()}-x`])
    expect(isSecretName(name)).toBe(true)
  for (const name of [`max_${ending}`, `${ending}_type`]) expect(isSecretName(name), name).toBe(false)
})

test.each(words('pwd sig hmac jwt bearer otp totp dpop samlresponse assertion passcode cookie2 apikeys creds'))(
  '%s as a word',
  (word) => {
    for (const name of [word, `x-${word}`, `${word}-x`]) expect(isSecretName(name), name).toBe(true)
    expect(isSecretName(`${word}x`)).toBe(false)
  },
)

test.each(words('auth pass pin sas session'))('%s as the last word alone', (word) => {
  expect([word, `x-${word}`, `${word}-request-email`].map(isSecretName)).toEqual([true, true, false])
})

test.each([
  [
    'key',
    'api access account admin app auth client consumer encryption function functions host license master private rapidapi secret service session shared signing subscription webhook',
  ],
  ['keys', 'api access private secret signing'],
  ['id', 'session'],
  ['cert', 'client'],
  ['code', 'auth'],
])('%s after certain words', (word, before) => {
  for (const one of words(before))
    for (const name of [`x-${one}-${word}`, `${one}${word[0]?.toUpperCase()}${word.slice(1)}`, `${one}_${word}_x`])
      expect(isSecretName(name), name).toBe(true)
  for (const name of [word, `x-${word}`, `order_${word}`]) expect(isSecretName(name), name).toBe(false)
})

test('names that describe a secret are none, nor are others', () => {
  for (const name of words(
    'token_type x-signature-timestamp max_tokens total_tokens password_expires MessageSid author',
  ))
    expect(isSecretName(name), name).toBe(false)
  for (const name of words('sid connect.sid DPoP SAMLResponse clientSecret X-API-KEY'))
    expect(isSecretName(name), name).toBe(true)
})
