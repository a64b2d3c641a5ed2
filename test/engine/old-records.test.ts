// Records as version 0.1 wrote them: no time of a step's begin, no last error, and a script's names as its arguments.
import { expect, test } from 'vitest'
import { compileFlux } from '../../src/definitions/compile/service.ts'
import { Report } from '../../src/definitions/report.ts'
import type { JsonObject } from '../../src/model/json/value.ts'
import { decodeRecord } from '../../src/engine/record/decode.ts'
import { takeOver } from '../../src/engine/steps/leases.ts'
import { scriptNames } from '../../src/engine/interpreter/scope.ts'
import { contextView } from '../../src/engine/record/views.ts'
import { viewEnv } from '../support/turns.ts'

const source = { input: [{ name: 'word' }], states: [{ name: 's', action: { type: 'script', script: 'return 1' } }] }
const flux = compileFlux({ package: 'p', fluxName: 'Old', source, models: new Map() }, new Report('Old.flux'))
const base = {
  package: 'p',
  fluxName: 'Old',
  definition: 'h',
  startState: 0,
  startedAt: 1,
  trigger: null,
  trackerId: 't',
  parent: null,
}
const head = {
  status: 'RUNNING',
  state: 0,
  updatedAt: 1,
  endedAt: null,
  due: null,
  tags: [],
  error: null,
  exception: null,
  fluxEvent: null,
  child: null,
  lease: { owner: 'gone', takeovers: 0 },
  moves: 1,
  visited: [0],
  snapshot: {
    status: 'active',
    value: { s0: 'acting' },
    historyValue: {},
    context: { moves: 0, epoch: 1, attempt: 1, due: null, pick: null },
    children: {},
  },
}
const recordOf = (args: JsonObject) =>
  decodeRecord({
    id: 7,
    version: 1,
    parts: {
      base: JSON.stringify(base),
      head: JSON.stringify(head),
      input: '{"word":"now"}',
      tail: '[[null,null,0,1,{},0]]',
      args: JSON.stringify(args),
    },
  })

test('a step of then is shown, taken over, and given what it was given', () => {
  if (!flux) throw new Error('not compiled')
  const record = recordOf({ word: 'then', $request: null })
  expect(contextView(record, flux, viewEnv([])).step).toMatchObject({
    kind: 'script',
    attempt: 1,
    startedAt: null,
    timeoutAt: null,
    lastError: null,
    server: 'gone',
  })
  expect(scriptNames(flux, record)).toEqual({ word: 'then', $request: null })
  expect(scriptNames(flux, recordOf({}))).toMatchObject({ word: 'now', $request: null, $fluxContextId: 7 })
  const given = {
    now: 5,
    random: () => 0,
    uuid: () => 'u',
    owner: 'me',
    history: null,
    tagLimits: { count: 1, bytes: 1 },
  }
  expect(takeOver(flux, record, { type: 'TAKE_OVER', owner: 'gone' }, given)).toMatchObject({
    kind: 'next',
    record: { lease: { owner: 'me', takeovers: 1 } },
    step: { id: 7, attempt: 1 },
  })
})
