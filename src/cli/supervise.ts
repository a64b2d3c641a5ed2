// cli: runs the same command in a child process, and starts it again when its watchdog has ended it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { EXIT, type World } from './command.ts'

/** Environment variable of the supervised process: the id of its supervisor. */
const SUPERVISOR = 'AF_SUPERVISOR_PID'
/**
 * Signals that are forwarded. A terminal sends SIGINT and SIGHUP to both processes, so these are not forwarded there.
 */
const SIGNALS = process.stdin.isTTY ? (['SIGTERM'] as const) : (['SIGINT', 'SIGTERM', 'SIGHUP'] as const)

const ignore = () => {}

/** Whether this process is the supervised one. If so, it ends with its supervisor. */
export function isSupervised(): boolean {
  if (process.env[SUPERVISOR] !== String(process.ppid)) return false
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  return true
}

/**
 * Supervises until the child ends for a reason other than its watchdog; resolves with its exit code. Forwards signals.
 */
export async function supervise(world: World): Promise<number> {
  for (;;) {
    const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...world.env, [SUPERVISOR]: String(process.pid) },
    })
    const passOn = (signal: NodeJS.Signals) => void child.kill(signal)
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, ignore)
    for (const signal of SIGNALS) process.on(signal, passOn)
    const [code, signal]: (number | string | null)[] = await once(child, 'exit')
    for (const known of ['SIGINT', 'SIGHUP'] as const) process.off(known, ignore)
    for (const known of SIGNALS) process.off(known, passOn)
    // The watchdog kills a process that is blocked within a system call, because it cannot exit with a code.
    if (code !== EXIT.again && signal !== 'SIGKILL') return typeof code === 'number' ? code : EXIT.failed
    world.err('actorflux: the server is started again')
  }
}
