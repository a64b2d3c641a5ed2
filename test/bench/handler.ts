// The yardstick: a handler that reads a body as JSON and does nothing, served as actorflux is served. Run as a process
// of its own.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.post('/', async (c) => {
  await c.req.json()
  return c.json({ message: 'done' })
})
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  console.log(`listening  http://127.0.0.1:${port}`),
)
