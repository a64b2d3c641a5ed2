// `Http.request` over TLS, against a certificate for localhost and 127.0.0.1 that is signed by itself, for a hundred
// years. It and its key serve nothing else.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { httpRequest } from '../../src/steps/builtin/http/request.ts'
import { listening } from '../support/listening.ts'

const HERE = import.meta.dirname
const CERTIFICATE = join(HERE, 'localhost.crt')
const JITI = join(createRequire(import.meta.url).resolve('jiti/package.json'), '../lib/jiti-cli.mjs')

const [cert, key] = await Promise.all([readFile(CERTIFICATE), readFile(join(HERE, 'localhost.key'))])
const server = createServer({ cert, key }, (_, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('[1]')
})
let port: number

beforeAll(async () => {
  port = await listening(server)
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

test.each(['localhost', '127.0.0.1'])('an answer comes from whom Node is told to trust: %s', async (host) => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [JITI, join(HERE, 'https-child.ts'), `https://${host}:${port}/`],
    { env: { ...process.env, NODE_EXTRA_CA_CERTS: CERTIFICATE } },
  )
  expect(JSON.parse(stdout)).toEqual({ status: 200, body: [1] })
})

test('nobody else is asked', async () => {
  const asked = httpRequest({ allowPrivate: true })({ url: `https://localhost:${port}/?secret` }, new AbortController())
  await expect(asked).rejects.toThrow(
    `can't get an answer from "localhost:${port}": its certificate is signed by no authority that this server trusts`,
  )
})
