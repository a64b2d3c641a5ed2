// A real server whose disk fills up: it refuses what would write, lives on, and has all that it acknowledged.
import { execFileSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { cleanUp, placeFor, startServer } from '../support/server.ts'
import { canMount, mountSmall } from '../support/small-disk.ts'

const MIB = 1024 * 1024

afterEach(cleanUp)

const SERVICES = {
  'full/Keeper.flux': {
    input: [{ name: 'data', type: 'string' }],
    states: [{ name: 'first', waiting: true, transitions: [{ to: 'done', event: 'go' }] }, { name: 'done' }],
  },
}

describe.skipIf(!canMount())('a full disk (skipped where the user may not mount a small one)', () => {
  test('is answered with 503 until there is room; nothing acknowledged is lost', async () => {
    const disk = await mountSmall(24 * MIB)
    onTestFinished(disk.remove)
    const { actors } = await placeFor(SERVICES)
    const env = { ACTORFLUX_MIN_FREE: '4mb', ACTORFLUX_TOKENS: join(disk.folder, 'tokens.json') }
    const options = { program: inject('program'), actors, data: join(disk.folder, 'data'), env }
    const server = await startServer(options)
    onTestFinished(async () => {
      await server.kill('SIGKILL')
    })
    const acknowledged: number[] = []
    const post = async () => {
      const data = 'x'.repeat(1000 + ((acknowledged.length * 7919) % 90_000))
      const response = await fetch(`${server.url}/flux-api/full/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ fluxName: 'Keeper', input: { data } }),
      })
      const answer = (await response.json()) as { contextId?: number; detail?: string }
      if (response.status === 200) acknowledged.push(answer.contextId ?? 0)
      return { status: response.status, retryAfter: response.headers.get('retry-after'), detail: answer.detail }
    }
    const fill = async () => {
      for (let count = 0; count < 2000; count++) {
        const answer = await post()
        if (answer.status !== 200) return answer
      }
      return null
    }
    const FULL = {
      status: 503,
      retryAfter: '1',
      detail: 'the disk of the data folder is full: nothing can be written until there is room',
    }
    expect(await fill()).toEqual(FULL)
    expect(acknowledged.length).toBeGreaterThan(50)
    const ballast = join(disk.folder, 'ballast')
    await writeFile(ballast, Buffer.alloc(64 * MIB)).catch(() => {})
    for (let count = 0; count < 50; count++) expect(await post()).toEqual(FULL)
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    expect((await fetch(`${server.url}/flux-api/context?contextId=${acknowledged[0]}`)).status).toBe(200)

    await rm(ballast)
    execFileSync('mount', ['-o', `remount,size=${48 * MIB}`, disk.folder])
    await vi.waitFor(async () => expect((await fetch(`${server.url}/readyz`)).status).toBe(200), 5000)
    const before = acknowledged.length
    expect(await post()).toMatchObject({ status: 200 })
    expect(acknowledged).toHaveLength(before + 1)
    // lmdb tells of each write that fails.
    expect(server.output()).not.toMatch(/Write error|No space left|Input\/output/)
    expect(server.output().match(/the disk of the data folder is full/g)).toHaveLength(1)

    await server.kill('SIGKILL')
    const next = await startServer(options)
    for (const id of acknowledged)
      expect((await fetch(`${next.url}/flux-api/context?contextId=${id}`)).status).toBe(200)
    await next.kill('SIGTERM')
  }, 60_000)
})
