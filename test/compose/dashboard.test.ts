// The dashboard of compose's profile `metrics` asks for metrics and labels that a server has, and Grafana can load it.
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ServerMetrics } from '../../src/observe/metrics.ts'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: readonly {
    readonly refId: string
    readonly expr: string
    readonly datasource: { readonly uid: string }
  }[]
}

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly time: object
  readonly panels: readonly Panel[]
}

const ROOT = resolve(import.meta.dirname, '../..')
const textOf = (file: string) => readFile(join(ROOT, file), 'utf8')
const dashboard: Dashboard = JSON.parse(await textOf('test/compose/dashboard.json'))
const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))

/** A server's metrics after something of each kind has happened: names of samples, with their labels. */
async function samples(): Promise<Map<string, Set<string>>> {
  const service = { package: 'p', fluxName: 'F' }
  const endpoint = { ...service, urlPath: '/x', timeout: null, verify: null }
  const countContexts = () => Promise.resolve([{ service, status: 'WAITING' as const, count: 1 }])
  const metrics = new ServerMetrics({ store: 'embedded', version: '1.0.0', countContexts })
  metrics.moves(service, { length: 1 })
  metrics.step(service, 's', 'ok')
  metrics.delivery(endpoint, 'accepted')
  metrics.request('/r', 'GET', 200, 1)
  const { text } = await metrics.exposition()
  const found = new Map<string, Set<string>>()
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? [^ ]+$/gm)) {
    const known = found.get(name) ?? new Set<string>()
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label)
    found.set(name, known)
  }
  return found
}

test('every metric and label of a query is one of a server', async () => {
  const known = await samples()
  expect(queries.length).toBeGreaterThan(20)
  for (const query of queries) {
    const names = query.match(/\b(?:actorflux|nodejs|process)_\w+/g) ?? []
    expect(names.length, query).toBeGreaterThan(0)
    expect(
      names.filter((name) => !known.has(name)),
      query,
    ).toEqual([])
    const labels = [
      ...[...query.matchAll(/ by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(',').map((name) => name.trim())),
      ...[...query.matchAll(/(\w+)=~?"/g)].map(([, name = '']) => name),
    ]
    for (const name of names)
      expect(
        labels.filter((label) => known.get(name)?.has(label) !== true),
        query,
      ).toEqual([])
  }
})

test('every metric of actorflux is in a query', async () => {
  const names = [...(await samples()).keys()].filter((name) => name.startsWith('actorflux_'))
  const metrics = new Set(names.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')))
  expect(metrics.size).toBe(13)
  expect([...metrics].filter((name) => !queries.some((query) => query.includes(name)))).toEqual([])
})

test('the dashboard has what Grafana needs', async () => {
  const { uid, title, schemaVersion, time, panels } = dashboard
  expect({ uid, title, time }).toEqual({ uid: 'actorflux', title: 'actorflux', time: { from: 'now-1h', to: 'now' } })
  expect(schemaVersion).toBeGreaterThanOrEqual(36)
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const taken = new Set<string>()
  for (const { title: name, type, gridPos, targets } of panels) {
    expect(['timeseries', 'stat'], name).toContain(type)
    expect(gridPos.x + gridPos.w, name).toBeLessThanOrEqual(24)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(taken.has(`${x} ${y}`), name).toBe(false)
        taken.add(`${x} ${y}`)
      }
    expect(new Set(targets.map(({ refId }) => refId)).size, name).toBe(targets.length)
  }
  const sources = await textOf('test/compose/grafana-datasources.yml')
  const [, source] = /^ {4}uid: (\w+)$/m.exec(sources) ?? []
  const asked = panels.flatMap(({ targets }) => targets.map(({ datasource }) => datasource.uid))
  expect([...new Set(asked)]).toEqual([source])
})

test('compose mounts files that are there', async () => {
  const compose = await textOf('docker-compose.yml')
  const mounted = [...compose.matchAll(/- \.\/(test\/compose\/[\w.-]+):/g)].map(([, file = '']) => file)
  expect(mounted).toHaveLength(4)
  for (const file of mounted) expect((await textOf(file)).length, file).toBeGreaterThan(50)
  expect(compose.match(/profiles: \[metrics\]/g)).toHaveLength(2)
})
