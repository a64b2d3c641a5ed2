// main: how the server is, for the page of the inspector.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Engine } from '../engine/engine.ts'
import type { ServerHealth } from '../inspector/host.ts'

/** Milliseconds between two measurements of the event loop; it is late by what it takes longer. */
const RESOLUTION_MS = 20
const NANOSECONDS_PER_MS = 1e6

/** The lag is that since the page was made last. */
export function healthOf(engine: Engine, storage: string): { health(): Promise<ServerHealth>; close(): void } {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  return {
    async health() {
      const lagMs = Math.max(0, delay.percentile(99) / NANOSECONDS_PER_MS - RESOLUTION_MS)
      delay.reset()
      return {
        ...(await engine.health()),
        store: storage,
        uptimeMs: process.uptime() * 1000,
        lagMs,
        memoryBytes: process.memoryUsage.rss(),
      }
    },
    close: () => delay.disable(),
  }
}
