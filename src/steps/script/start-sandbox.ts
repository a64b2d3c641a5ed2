// steps: starts a process for scripts.
import { PooledProcess, type ProcessEvents } from '../processes/pooled-process.ts'
import type { FromProcess, ToProcess } from './sandbox-process.ts'

/**
 * Flags of Node: the stack in kilobytes, of which QuickJS needs more than the default, and the JavaScript heap in
 * megabytes.
 */
const LIMITS = ['--stack-size=4000', '--max-old-space-size=128']

/**
 * Starts a process without environment variables, except `TZ` for dates. It cannot write to the server's output.
 * @throws Error if the system refuses at once; later errors are reported by `onEnd`
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
