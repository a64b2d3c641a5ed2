// steps: starts a process for scripts.
import { PooledProcess, type ProcessEvents } from '../processes/pooled-process.ts'
import type { FromProcess, ToProcess } from './sandbox-process.ts'

/**
 * Flags of Node: kilobytes for the stack, of which QuickJS needs more than Node gives, and megabytes for what it holds
 * beside QuickJS.
 */
const LIMITS = ['--stack-size=4000', '--max-old-space-size=128']

/**
 * The process has no environment, except the time zone of dates, and cannot write to the server's output.
 * @throws Error when the system refuses, unless it does so later
 */
export function startSandbox(events: ProcessEvents<FromProcess>): PooledProcess<ToProcess, FromProcess> {
  const { TZ } = process.env
  const options = {
    module: new URL('./sandbox-process', import.meta.url),
    flags: LIMITS,
    env: { ...(TZ !== undefined && { TZ }) },
    cwd: import.meta.dirname,
    output: false,
  }
  return new PooledProcess(options, events)
}
