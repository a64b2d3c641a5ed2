// What is counted, and what a scrape then gives, without a server.
import { expect, test } from 'vitest'
import type { StatusCount } from '../../src/ports/signals.ts'
import { Series, Tally } from '../../src/observe/accumulators.ts'
import { ServerMetrics } from '../../src/observe/metrics.ts'

const SERVICE = { package: 'p', fluxName: 'Order' }

function metricsOf(countContexts: () => Promise<readonly StatusCount[]> = () => Promise.resolve([])) {
  let now = 1000
  const metrics = new ServerMetrics({ store: 'embedded', version: '1', countContexts, now: () => now })
  const lines = async (name: string) =>
    (await metrics.exposition()).text.split('\n').filter((line) => line.startsWith(`actorflux_${name}`))
  return {
    metrics,
    lines,
    pass: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

test('contexts are counted at most every ten seconds', async () => {
  let counts = 0
  const { lines, pass } = metricsOf(() => {
    counts += 1
    return Promise.resolve([{ service: null, status: 'WAITING', count: counts }])
  })
  const shown = async () => (await lines('contexts{'))[0]
  expect(await shown()).toBe('actorflux_contexts{flux="other",status="WAITING"} 1')
  pass(9000)
  expect(await shown()).toMatch(/ 1$/)
  pass(2000)
  expect(await shown()).toMatch(/ 2$/)
})

test('where contexts can not be counted, the others are shown, and the next scrape counts again', async () => {
  let isAway = true
  const { lines, metrics } = metricsOf(() =>
    isAway
      ? Promise.reject(new Error('away'))
      : Promise.resolve([{ service: SERVICE, status: 'WAITING' as const, count: 3 }]),
  )
  metrics.conflict()
  expect(await lines('commit_conflicts_total')).toEqual(['actorflux_commit_conflicts_total 1'])
  expect(await lines('contexts{')).toEqual([])
  isAway = false
  expect(await lines('contexts{')).toEqual(['actorflux_contexts{flux="p/Order",status="WAITING"} 3'])
})

test('what is there no more is not shown any more', async () => {
  let isThere = true
  const { lines, pass } = metricsOf(() =>
    Promise.resolve([{ service: isThere ? SERVICE : null, status: 'WAITING' as const, count: 3 }]),
  )
  expect(await lines('contexts{')).toHaveLength(1)
  isThere = false
  pass(60_000)
  expect(await lines('contexts{')).toEqual(['actorflux_contexts{flux="other",status="WAITING"} 3'])
})

test('times are seconds, and a value at a bound is within it', async () => {
  const { lines, metrics } = metricsOf()
  metrics.lateness(50)
  metrics.stepBegan()
  metrics.stepBegan()
  metrics.stepEnded(250)
  metrics.commit(5)
  metrics.depth(2)
  metrics.request('/x', 'GET', null, 100)
  metrics.request(null, 'BREW', 404, 100)
  metrics.request(null, 'BREW', 200, 100)
  metrics.event('moved', 3)
  expect(await lines('wakeup_lateness_seconds_sum')).toEqual(['actorflux_wakeup_lateness_seconds_sum 0.05'])
  expect(await lines('wakeup_lateness_seconds_bucket{le="0.025"}')).toEqual([expect.stringMatching(/ 0$/)])
  expect(await lines('wakeup_lateness_seconds_bucket{le="0.05"}')).toEqual([expect.stringMatching(/ 1$/)])
  expect(await lines('wakeup_lateness_seconds_bucket{le="+Inf"}')).toEqual([expect.stringMatching(/ 1$/)])
  expect(await lines('step_duration_seconds_sum')).toEqual(['actorflux_step_duration_seconds_sum 0.25'])
  expect(await lines('steps_running')).toEqual(['actorflux_steps_running 1'])
  expect(await lines('commit_duration_seconds_sum')).toEqual([expect.stringMatching(/ 0\.005$/)])
  expect(await lines('mailbox_depth_sum')).toEqual(['actorflux_mailbox_depth_sum 2'])
  expect(await lines('events_total{outcome="moved"}')).toEqual([expect.stringMatching(/ 3$/)])
  expect(await lines('http_request_duration_seconds_count')).toEqual([
    'actorflux_http_request_duration_seconds_count{route="/x",method="GET",status="aborted"} 1',
    'actorflux_http_request_duration_seconds_count{route="other",method="other",status="404"} 1',
    'actorflux_http_request_duration_seconds_count{route="other",method="other",status="200"} 1',
  ])
})

test('a scrape does not count what an earlier one has shown', async () => {
  const { lines, metrics } = metricsOf()
  metrics.moves(SERVICE, { length: 2 })
  await lines('moves_total')
  metrics.moves(SERVICE, { length: 1 })
  expect(await lines('moves_total')).toEqual(['actorflux_moves_total{flux="p/Order"} 3'])
})

test('beyond a bound, labels of which there may be any number are one, and closed lists stay', () => {
  const series = new Series(() => new Tally(), 2, 3)
  for (const flux of ['a', 'b', 'c', 'd', 'e'])
    for (const outcome of ['ok']) series.of(flux, 'state', outcome).value += 1
  series.of('f', 'g', 'failed').value += 1
  series.of('f', 'g', 'failed').value += 1
  // Where one ends and the next begins counts.
  expect(new Set([...series.all()].map(({ cell }) => cell)).size).toBe([...series.all()].length)
  expect([...series.all()].map(({ values, cell }) => [...values, cell.value].join(' '))).toEqual([
    'a state ok 1',
    'b state ok 1',
    'c state ok 1',
    'other other ok 2',
    'other other failed 2',
  ])
  const apart = new Series(() => new Tally(), 2)
  expect(apart.of('ab', 'c')).not.toBe(apart.of('a', 'bc'))
})
