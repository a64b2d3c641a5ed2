// cli: runs the same command in a child process, and starts it again when its watchdog has ended it.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { EXIT, type World } from './command.ts'

/** Environment variable of the supervised process: the id of its supervisor. */
const SUPERVISOR = 'AF_SUPERVISOR_PID'

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
  let child: ChildProcess | null = null
  // A terminal sends SIGINT and SIGHUP to both processes, so these are not forwarded there.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (signal === 'SIGTERM' || !process.stdin.isTTY) child?.kill(signal)
    })
  for (;;) {
    child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      env: { ...world.env, [SUPERVISOR]: String(process.pid) },
    })
    const [code, signal]: (number | string | null)[] = await once(child, 'exit')
    // The watchdog kills a process that is blocked within a system call, because it cannot exit with a code.
    if (code !== EXIT.again && signal !== 'SIGKILL') return typeof code === 'number' ? code : EXIT.failed
    world.err('actorflux: the server is started again')
  }
}
