// Errors as data: what is thrown may throw when it is read.
import { expect, test } from 'vitest'
import { errorOf } from '../../../src/engine/interpreter/exception.ts'

const get = () => {
  throw new Error('not readable')
}

test('an error is told by what can be read of it', () => {
  const error = new TypeError('too far')
  Object.defineProperties(error, { detail: { enumerable: true, get }, cause: { get } })
  expect(errorOf(error, 'TypeError: too far\n    at f (lib.ts:1:1)')).toMatchObject({
    message: 'too far',
    type: 'TypeError',
    className: 'TypeError',
    realException: { name: 'TypeError', message: 'too far' },
    stack: 'TypeError: too far\n    at f (lib.ts:1:1)',
  })
})
