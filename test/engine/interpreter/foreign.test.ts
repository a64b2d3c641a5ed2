// A definition of another format: a server of the version that wrote it carries its contexts on, and no other.
import { WorkBudget } from '../../../src/definitions/work-budget.ts'
import { expect, test } from 'vitest'
import { SYSTEM } from '../../../src/model/caller.ts'
import { decide } from '../../../src/engine/interpreter/decide.ts'
import type { Input } from '../../../src/engine/interpreter/decision.ts'
import { compiled, env, event, Hand, TERMINATE } from '../../support/turns.ts'

const error = { message: 'no', type: 'Error', className: 'Error', realException: null }
const flux = compiled({ states: [{ name: 'act', action: { type: 'invokeCode', className: 'A', methodName: 'b' } }] })

const told = (input: Input) =>
  decide({ ...flux, isForeign: true }, new Hand().start(flux).context.record, input, {
    ...env(),
    budget: new WorkBudget(),
    past: { historyOf: () => [] },
  })

test.each<Input>([
  event('go'),
  { type: 'WAKE' },
  { type: 'DONE', epoch: 1, attempt: 1, result: {} },
  { type: 'FAIL', epoch: 1, attempt: 1, error },
  { type: 'TAKE_OVER', owner: 'me' },
])('$type is left to a server that knows it', (input) => {
  expect(told(input)).toMatchObject({ kind: 'refused', failure: { kind: 'unavailable', retryAfter: 1 } })
})

test.each<Input>([
  TERMINATE,
  { type: 'RELEASE' },
  { type: 'TAG', add: ['t'], remove: [], caller: SYSTEM },
  { type: 'OUTGROWN', error },
])('$type is decided by any server', (input) => {
  expect(told(input)).toMatchObject({ kind: 'next' })
})
