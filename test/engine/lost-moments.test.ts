// Servers on a Redis that comes back without its last moments, or does late what nobody waits for any more: what is to
// be done is done.
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { createRuntime, type FluxRuntime } from '../../src/main.ts'
import { type RedisStore } from '../../src/store/redis/store.ts'
import { remember } from '../store/redis-past.ts'
import { startRedis, type RedisServer } from '../support/redis.ts'
import { writeFiles, type Files } from '../support/engine.ts'
import { silent as log } from '../support/silent.ts'
import { atEndOfTest } from '../support/at-end.ts'
import { openRedis } from '../support/redis-store.ts'
import { newFolder } from '../support/at-end.ts'

const FILES: Files = {
  'p/code.ts': `import { appendFile, access } from 'node:fs/promises'
export async function work({ folder }, flux) {
  await appendFile(folder + '/began', flux.stepKey + '\\n')
  while (await access(folder + '/gate').then(() => false, () => true)) await new Promise((resolve) => setTimeout(resolve, 10))
}`,
  'p/Work.flux': {
    input: [{ name: 'folder' }],
    states: [
      {
        name: 'work',
        action: {
          type: 'invokeCode',
          className: 'code',
          methodName: 'work',
          inputs: [{ from: ['folder'], to: ['folder'] }],
        },
        transitions: [{ to: 'end' }],
      },
      { name: 'end' },
    ],
  },
}

let redis: RedisServer
let folder: string
let namespace: string
beforeEach(async () => {
  namespace = randomUUID()
  redis = await startRedis()
  atEndOfTest(() => redis.close())
  folder = await newFolder()
})

async function openServer(files = FILES): Promise<FluxRuntime> {
  const actors = join(folder, `actors-${randomUUID()}`)
  await writeFiles(actors, files)
  const server = await createRuntime({ actors: [actors], redisUrl: redis.url, namespace, log })
  atEndOfTest(() => server.close({ grace: 0 }))
  return server
}

async function openStore(): Promise<RedisStore> {
  const store = await openRedis({ url: redis.url, namespace, deadAfterMs: 10_000 })
  atEndOfTest(() => store.close())
  return store
}

const openGate = () => writeFile(join(folder, 'gate'), '')
const began = async () => (await readFile(join(folder, 'began'), 'utf8').catch(() => '')).split('\n').filter(Boolean)
const start = async (server: FluxRuntime) =>
  (await server.execute({ package: 'p', fluxName: 'Work', input: { folder } })).contextId
const statusOf = (server: FluxRuntime, contextId: number) => async () =>
  (await server.getContext({ contextId }).catch(() => null))?.status

test('a step whose end was lost runs again, with the same key', async () => {
  const server = await openServer()
  const contextId = await start(server)
  await expect.poll(began).toHaveLength(1)
  const goBack = await remember(redis)
  await openGate()
  await expect.poll(statusOf(server, contextId)).toBe('COMPLETED')
  await goBack()
  await expect.poll(statusOf(server, contextId), { timeout: 10_000 }).toBe('COMPLETED')
  const [first, ...more] = await began()
  expect(more).toEqual([first])
})

/** The same service, in files that differ. */
const services = (comment: string) => ({
  'p/Wait.flux': {
    comment,
    states: [{ name: 'wait', waiting: true, transitions: [{ to: 'end', event: 'go' }] }, { name: 'end' }],
  },
})

test('a definition that was lost is there again before the next context needs it', async () => {
  const server = await openServer(services('old'))
  const goBack = await remember(redis)
  const lost = await server.execute({ package: 'p', fluxName: 'Wait' })
  await goBack()
  await expect
    .poll(() => server.getContext(lost).catch(({ failure }) => failure.kind), { timeout: 10_000 })
    .toBe('notFound')
  const { contextId } = await server.execute({ package: 'p', fluxName: 'Wait' })
  const other = await openServer(services('new'))
  expect((await other.sendEvent({ contextId, event: 'go' })).transitions).toEqual([{ contextId, state: 'end' }])
})

test('a step that a late commit leased to this server is started, once', async () => {
  const [server, store] = [await openServer(), await openStore()]
  const contextId = await start(server)
  await expect.poll(began).toHaveLength(1)
  const stored = await store.load({ id: contextId })
  if (!stored) throw new Error('the context is there')
  // As a start would that was given up as in doubt.
  const { first: id } = await store.reserveIds({ count: 1, partition: 0 })
  expect(
    await store.commit({
      writes: [
        {
          context: { ...stored, id, version: 1 },
          previous: 0,
          changed: Object.keys(stored.parts),
          log: [],
          notifies: [],
          answersNotification: false,
        },
      ],
    }),
  ).toEqual({ ok: true })
  await expect.poll(began, { timeout: 15_000 }).toEqual([`${contextId}-1`, `${id}-1`])
  await openGate()
  for (const each of [contextId, id]) await expect.poll(statusOf(server, each)).toBe('COMPLETED')
  expect(await began()).toHaveLength(2)
})
