// A server that is told to start without the services that have faults.
import { afterEach, describe, expect, inject, test } from 'vitest'
import { cleanUp, launch, placeFor, startServer } from '../support/server.ts'
import { Client } from './client.ts'

const GOOD = { states: [{ name: 'end' }] }
const FILES = {
  'crash/Good.flux': GOOD,
  'crash/sub/Bad.flux': { states: [{ name: 'a', transitions: [{ to: 'nowhere' }] }] },
  'q/Broken.flux': '{ "states": [ }',
}

afterEach(cleanUp)

describe('services with faults', () => {
  test('keep the server from starting', async () => {
    const { code, output } = await launch({ program: inject('program'), ...(await placeFor(FILES)) }).ended
    expect(code).toBe(1)
    expect(output).toMatch(
      /Bad\.flux:1:\d+ #\/states\/0\/transitions\/0\/to: there is no state "nowhere"; there is a\n/,
    )
    expect(output).toMatch(/Broken\.flux:1:15 #: not valid JSON/)
  })

  test('are left out with ACTORFLUX_SKIP_FAULTY, which the log and /readyz tell, without paths', async () => {
    const server = await startServer({
      program: inject('program'),
      ...(await placeFor(FILES)),
      env: { ACTORFLUX_SKIP_FAULTY: 'true' },
    })
    const response = await fetch(`${server.url}/readyz`)
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: 'ready', skipped: ['crash/sub.Bad', 'q/Broken'] },
    ])
    expect(server.output()).toMatch(
      /"skipped":\["crash\/sub\.Bad","q\/Broken"\],"msg":"services with faults are skipped"/,
    )
    const client = new Client(server)
    expect(await client.context(await client.start('Good'))).toMatchObject({ status: 'COMPLETED' })
    await expect(client.start('sub.Bad')).rejects.toThrow()
  })

  test('a folder that is missing is no service to leave out', async () => {
    const place = await placeFor(FILES)
    const { code } = await launch({
      program: inject('program'),
      ...place,
      actors: [...place.actors, `${place.folder}/none`],
      env: { ACTORFLUX_SKIP_FAULTY: 'true' },
    }).ended
    expect(code).toBe(1)
  })

  test('without any, /readyz says no more than before', async () => {
    const server = await startServer({
      program: inject('program'),
      ...(await placeFor({ 'crash/Good.flux': GOOD })),
      env: { ACTORFLUX_SKIP_FAULTY: 'true' },
    })
    expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'ready' })
  })
})
