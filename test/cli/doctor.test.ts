import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLmdbStore } from '../../src/store/lmdb/store.ts'
import { SimulatedClock } from '../../src/testing/simulated-clock.ts'
import { commandText } from './world.ts'
import { silent as log } from '../support/silent.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'actorflux-doctor-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const call = (args: string[], env: Record<string, string> = {}) => commandText(['doctor', ...args], env)

test('says how it is used', async () => {
  expect(await call(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('--data'), err: '' })
  expect(await call(['--heal'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('(see actorflux doctor --help)'),
  })
})

test('says where there is no data', async () => {
  expect(await call(['--data', join(folder, 'none')])).toEqual({
    code: 1,
    out: '',
    err: `actorflux: there is no data in ${join(folder, 'none', 'default.mdb')}`,
  })
})

test('looks at the data of the settings, or of the option, and says that a server has it open', async () => {
  const [one, two] = [join(folder, 'one'), join(folder, 'two')]
  await (await openLmdbStore({ folder: one, namespace: 'mine', log, clock: new SimulatedClock() })).close()
  const store = await openLmdbStore({ folder: two, namespace: 'mine', log, clock: new SimulatedClock() })
  const env = { ACTORFLUX_DATA: one, ACTORFLUX_NAMESPACE: 'mine' }
  expect(await call([], env)).toEqual({
    code: 0,
    out: `the data in ${join(one, 'mine.mdb')} is whole: 0 contexts`,
    err: '',
  })
  expect(await call(['--data', two], env)).toMatchObject({
    code: 1,
    err: expect.stringContaining('is in use by another server'),
  })
  await store.close()
  expect(await call(['--data', two], env)).toMatchObject({ code: 0 })
})
